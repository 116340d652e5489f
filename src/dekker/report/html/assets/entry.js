// One answer: what was asked, what was found, and the run that shows it.

class EntryView {
  constructor(page, entry) {
    this.timeline = null;
    const lights = new Lights();
    const sources = entry.sources.map((number) => page.sources[number]);
    const fences = (entry.fences || []).map((fence, number) => ({ ...fence, number }));
    const run = entry.run || null;
    const left = [], right = [];
    let picture = null;
    if (run) {
      picture = new Picture(run, lights);
      left.push(card(run.heading, "execution", picture.element));
    }
    const source = new SourceView(sources, run ? run.nodes : [], fences);
    this.source = source;
    this.picture = picture;
    if (run) source.connect("run", run, lights);
    if (run && run.moments.length) {
      this.timeline = new Timeline(run, picture, source);
      left.push(card("Step by step", "stepping-card", this.timeline.element));
    }
    if (fences.length) left.push(...fences.map((fence) => fenceCard(fence, source)));
    if (sources.length) right.push(card("Source", "source-card", source.element));
    const wide = picture && picture.layout.width > 1250;
    this.element = h("div", { class: "entry" },
      h("p", { class: "verdict-line" }, h("span", { class: `badge large ${entry.tone}` }, entry.verdict), h("span", { class: "sentence" }, entry.sentence)),
      factsList(entry.facts),
      entry.notes.length ? h("ul", { class: "notes" }, entry.notes.map((note) => h("li", {}, note))) : null,
      entry.findings.map((finding) => h("section", { class: "finding", "aria-label": finding.title },
        h("h2", {}, finding.title), finding.lines.length ? h("pre", {}, finding.lines.join("\n")) : null)),
      h("div", { class: `split${wide ? " wide" : ""}${left.length && right.length ? "" : " single"}` },
        h("div", { class: "left" }, left), h("div", { class: "right" }, right)),
      entry.outcomes.length ? outcomesCard(entry) : null,
      run ? card("The run as a table", "run-table", runTable(run, lights)) : null,
      entry.text ? card(entry.textTitle || "Explanation", "explanation", h("pre", {}, entry.text)) : null);
  }

  // What matters most, in boxes that scroll; works only when the element is in the page.
  reveal() {
    this.source.reveal();
    if (!this.picture) return;
    const told = this.picture.run.nodes.findIndex((node) => node.told);
    const first = [...cycleOf(this.picture.run), ...(told < 0 ? [] : [told])][0];
    if (first !== undefined) this.picture.reveal(first);
  }
}

function factsList(facts) {
  return h("dl", { class: "facts" }, facts.map(([label, value]) => h("div", {}, h("dt", {}, label), h("dd", {}, value))));
}

function outcomesCard(entry) {
  return card("Outcomes", "outcomes", h("div", { class: "scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Final state"), h("th", { scope: "col", class: "right" }, "Executions"))),
    h("tbody", {}, entry.outcomes.map(([state, count]) => h("tr", {}, h("td", {}, h("code", {}, state)), h("td", { class: "right" }, count)))))));
}

// The alternative to the picture: the same in words.
function runTable(run, lights) {
  const name = (number) => run.nodes[number].name || run.nodes[number].text;
  const onCycle = cycleOf(run);
  const rows = run.nodes.map((node, number) => {
    const ties = run.edges.filter((edge) => edge.source === number).map((edge) => `${labelOf(edge)} → ${name(edge.target)}`);
    const from = run.edges.filter((edge) => edge.target === number && edge.kind === "rf").map((edge) => `reads from ${name(edge.source)}`);
    const row = h("tr", { "data-row": number, class: onCycle.has(number) ? "cycle" : null },
      h("td", {}, run.columns[node.thread].name), h("td", {}, h("code", {}, headOf(node))),
      h("td", { class: "right" }, node.line || ""), h("td", {}, h("code", {}, node.source)),
      h("td", {}, [...from, ...(node.initial ? ["reads an initial value"] : []), ...ties].join("; ")),
      h("td", {}, { local: "only this thread sees it", library: "in a library", stretch: "" }[node.fold] || [onCycle.has(number) && "on the cycle", node.told && "part of what went wrong"].filter(Boolean).join("; ")));
    row.addEventListener("pointerenter", () => lights.show({ node: number }));
    row.addEventListener("pointerleave", () => lights.show(null));
    return row;
  });
  const open = run.nodes.length <= 40;
  return h("details", { open }, h("summary", {}, plural(run.nodes.length, "row")), h("div", { class: "scroll" }, h("table", {},
    h("caption", { class: "hidden" }, run.title),
    h("thead", {}, h("tr", {}, ["Thread", "Event", "Line", "Source", "Tied to", "Note"].map((head) => h("th", { scope: "col", class: head === "Line" ? "right" : null }, head)))),
    h("tbody", {}, rows))));
}

// A fence: where it goes, and the cycles that it breaks, one picture at a time.
function fenceCard(fence, source) {
  const shown = h("div", { class: "cycle-picture" });
  const show = (number) => {
    const lights = new Lights(), { run } = fence.cycles[number];
    shown.replaceChildren(new Picture(run, lights).element);
    source.connect(`fence ${fence.number}`, run, lights);
  };
  const choice = h("select", { "data-cycle": true, onchange: () => show(Number(choice.value)) },
    fence.cycles.map((cycle, number) => h("option", { value: number }, `${number + 1}. ${cycle.title}`)));
  if (fence.cycles.length) show(0);
  return card(`${fence.text}`, "fence-card", h("p", {}, fence.place, `; costs ${fence.cost}`),
    fence.without ? h("p", {}, h("b", {}, "Without it: "), fence.without) : null,
    fence.cycles.length ? h("p", {}, h("label", {}, `Breaks ${plural(fence.cycles.length + fence.more, "cycle")}: `, choice),
      fence.more ? ` and ${fence.more} more that are not drawn` : "") : null,
    shown);
}
