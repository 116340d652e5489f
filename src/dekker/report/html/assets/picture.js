// The execution as a picture.

const KINDS = { R: "reads", W: "writes", U: "updates", F: "fence", call: "call", print: "prints", end: "ends" };

const MOST_EDGES = 40; // with more, dependencies are shown when they are asked for
const SMALLEST_SCALE = 0.7; // a wider picture scrolls

// The part of a run that a reader wants to see. Nodes keep their number in the whole as `id`.
function partOf(run, { threads, variable }) {
  const columns = run.columns.map((_, n) => n).filter((n) => threads.has(n));
  const onCycle = cycleOf(run);
  const kept = run.nodes.map((_, n) => n).filter((n) => {
    const node = run.nodes[n];
    return threads.has(node.thread) && (!variable || node.locations.includes(variable) || node.kind === "end");
  });
  const place = new Map(kept.map((n, position) => [n, position]));
  return {
    ...run,
    columns: columns.map((n) => run.columns[n]),
    nodes: kept.map((n) => ({ ...run.nodes[n], id: n, cycle: onCycle.has(n), thread: columns.indexOf(run.nodes[n].thread) })),
    edges: run.edges
      .filter((edge) => place.has(edge.source) && place.has(edge.target))
      .map((edge) => ({ ...edge, source: place.get(edge.source), target: place.get(edge.target) })),
  };
}

const pathOf = (points) => {
  const [first, ...rest] = points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`);
  let text = `M${first}`;
  for (let n = 0; n < rest.length; n += 3) text += `C${rest.slice(n, n + 3).join(" ")}`;
  return text;
};

const arrowOf = (points) => {
  const [x, y] = points[points.length - 1], before = points[points.length - 2][0];
  return `M${x.toFixed(1)} ${y.toFixed(1)}l${before < x ? -7 : 7} -3.5v7z`;
};

function cutText(text, room, character) {
  const letters = [...text], most = Math.floor(room / character);
  return letters.length <= most ? text : `${letters.slice(0, Math.max(1, most - 1)).join("")}…`;
}

// What an edge says, for the ear.
function describeNode(run, number) {
  const node = run.nodes[number];
  const name = (n) => run.nodes[n].name || run.nodes[n].text;
  const ties = [
    ...run.edges.filter((edge) => edge.source === number).map((edge) => `${labelOf(edge)} to ${name(edge.target)}`),
    ...run.edges.filter((edge) => edge.target === number).map((edge) => `${labelOf(edge)} from ${name(edge.source)}`),
  ];
  return [
    `${run.columns[node.thread].name}: ${headOf(node)}`,
    node.initial && "reads an initial value",
    node.line && `line ${node.line}: ${node.source}`,
    cycleOf(run).has(number) && "on the highlighted cycle",
    node.told && "what went wrong has to do with it",
    ...ties,
  ].filter(Boolean).join("; ");
}

class Picture {
  constructor(run, lights, options = {}) {
    this.run = run;
    this.lights = lights;
    this.opened = new Set();
    this.everything = false;
    this.hidden = new Set(run.edges.length > MOST_EDGES ? ["addr", "data", "ctrl"].filter((kind) => !run.edges.some((edge) => edge.kind === kind && edge.cycle)) : []);
    this.threads = new Set(run.columns.keys());
    this.variable = "";
    this.moment = null;
    this.frame = h("div", { class: "frame", tabindex: 0, role: "group", "aria-label": "Picture of the execution; scrolls" });
    this.element = h("div", { class: "picture" }, options.controls === false ? null : this.controls(), this.frame, this.legend());
    lights.listen((what) => this.light(what));
    this.draw();
  }

  // --- what a reader chooses

  controls() {
    const kinds = RELATIONS.filter((kind) => kind === "po" || this.run.edges.some((edge) => edge.kind === kind));
    const relations = h("fieldset", { class: "relations" }, h("legend", {}, "Relations"),
      kinds.map((kind) => h("label", { class: `toggle rel-${kind}`, title: MEANINGS[kind] },
        h("input", { type: "checkbox", checked: !this.hidden.has(kind), "data-relation": kind, onchange: (event) => {
          if (event.target.checked) this.hidden.delete(kind); else this.hidden.add(kind);
          this.showRelations();
        } }), h("span", { class: "swatch", "aria-hidden": "true" }), kind)));
    return h("div", { class: "controls" }, this.run.timed ? null : relations, this.filters());
  }

  filters() {
    const parts = [];
    if (this.run.nodes.some((node) => node.fold)) {
      parts.push(h("label", { class: "toggle" }, h("input", { type: "checkbox", "data-everything": true, onchange: (event) => {
        this.everything = event.target.checked;
        this.opened.clear();
        this.draw();
      } }), "Unfold all"));
    }
    if (this.run.columns.length > 2) {
      parts.push(h("fieldset", { class: "threads" }, h("legend", {}, "Threads"), this.run.columns.map((column, number) =>
        h("label", { class: "toggle" }, h("input", { type: "checkbox", checked: true, "data-thread": number, onchange: (event) => {
          if (event.target.checked) this.threads.add(number); else this.threads.delete(number);
          this.draw();
        } }), column.name))));
    }
    const variables = [...new Set(this.run.nodes.flatMap((node) => node.locations))].sort();
    if (variables.length > 2 && this.run.nodes.length > 8) {
      parts.push(h("label", { class: "choice" }, "Variable ", h("select", { "data-variable": true, onchange: (event) => {
        this.variable = event.target.value;
        this.draw();
      } }, h("option", { value: "" }, "all"), variables.map((name) => h("option", { value: name }, name)))));
    }
    parts.push(h("label", { class: "toggle" }, h("input", { type: "checkbox", "data-actual": true, onchange: (event) => {
      this.frame.classList.toggle("actual", event.target.checked);
    } }), "Full size"));
    return h("div", { class: "filters" }, parts);
  }

  legend() {
    const run = this.run, values = (pairs) => pairs.map(([name, value]) => `${name}=${value}`).join("; ");
    return h("div", { class: "legend" },
      run.initially.length ? h("p", {}, h("b", {}, "Initially "), values(run.initially)) : null,
      run.finally.length ? h("p", {}, h("b", {}, "Finally "), values(run.finally)) : null,
      run.why ? h("p", {}, h("span", { class: "cycle-swatch", "aria-hidden": "true" }), h("b", {}, "Highlighted: "), run.why) : null);
  }

  showRelations() {
    for (const kind of RELATIONS) this.svg.classList.toggle(`hide-${kind}`, this.hidden.has(kind));
  }

  // --- drawing

  draw() {
    const run = this.part = partOf(this.run, this);
    const layout = this.layout = arrange(run, { everything: this.everything, opened: this.opened });
    const width = Math.ceil(layout.width), height = Math.ceil(layout.height);
    this.svg = s("svg", { class: "run", width, height, style: `min-width: ${Math.round(width * SMALLEST_SCALE)}px`, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": this.run.title });
    layout.headers.forEach((header, n) => this.svg.append(this.header(header, run.columns[n])));
    const edges = s("g", { "aria-hidden": "true" });
    for (const curve of layout.curves) if (curve.edge.cycle) edges.append(this.halo(curve));
    if (!run.timed) for (const order of layout.order) edges.append(this.order(order));
    for (const curve of layout.curves) edges.append(this.curve(curve));
    this.svg.append(edges);
    for (const box of layout.boxes) this.svg.append(isFold(box.item) ? this.fold(box) : this.box(box));
    const labels = s("g", { "aria-hidden": "true" });
    for (const curve of layout.curves) labels.append(this.label(curve.edge, ...curve.label, "middle"));
    for (const { above, below, edge } of layout.order) {
      if (edge && edge.cycle) labels.append(this.label(edge, above.x + above.width / 2 + 9, (above.bottom + below.y) / 2, "start"));
    }
    this.svg.append(labels);
    this.frame.replaceChildren(this.svg);
    this.showRelations();
    this.showMoment(this.moment);
  }

  header(header, column) {
    const x = header.x + header.width / 2;
    const detail = column.detail ? column.detail.split("\n") : [];
    return s("g", {}, s("text", { class: "thread", x, y: header.y - SIZES.title + 8 }, column.name),
      detail.map((line, n) => s("text", { class: "detail", x, y: header.y - SIZES.title + 23 + 14 * n },
        cutText(line, header.width + 40, SIZES.small - 0.6))));
  }

  order({ above, below, edge }) {
    const x = above.x + above.width / 2, line = `M${x} ${above.bottom}V${below.y - 4}`;
    const cycle = edge && edge.cycle;
    return s("g", { class: `edge rel-po${cycle ? " cycle" : ""}${edge && edge.loose ? " loose" : ""}` },
      cycle ? s("path", { class: "halo", d: line }) : null,
      s("path", { class: "line", d: line }), s("path", { class: "arrow", d: `M${x} ${below.y}l-3.5 -7h7z` }));
  }

  halo(curve) {
    return s("path", { class: `halo rel-${curve.edge.kind}`, d: pathOf(curve.points) });
  }

  curve({ edge, points }) {
    const ends = { "data-source": this.part.nodes[edge.source].id, "data-target": this.part.nodes[edge.target].id };
    return s("g", { class: `edge rel-${edge.kind}${edge.cycle ? " cycle" : ""}${edge.loose ? " loose" : ""}`, ...ends },
      s("path", { class: "line", d: pathOf(points) }), s("path", { class: "arrow", d: arrowOf(points) }));
  }

  label(edge, x, y, anchor) {
    return s("text", { class: `label rel-${edge.kind}`, "data-source": this.part.nodes[edge.source].id, "data-target": this.part.nodes[edge.target].id, x: x.toFixed(1), y: (y + 4).toFixed(1), "text-anchor": anchor }, labelOf(edge));
  }

  fold(box) {
    const first = box.item.nodes[0];
    const open = () => { this.opened.add(first); this.draw(); this.frame.focus(); };
    return s("g", { class: "fold", tabindex: 0, role: "button", "aria-label": `${box.item.text}; opens`,
      onclick: open, onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(); } },
      "data-nodes": box.item.nodes.map((n) => this.part.nodes[n].id).join(" ") },
    s("rect", { x: box.x + box.width * 0.1, y: box.y, width: box.width * 0.8, height: box.height, rx: 8 }),
    s("text", { x: box.x + box.width / 2, y: box.y + 12 }, `⋯ ${box.item.text}`));
  }

  box(box) {
    const node = this.part.nodes[box.item], x = box.x + box.width / 2, room = box.width - SIZES.padding;
    const foot = footOf(node);
    const group = s("g", { class: `node kind-${node.kind}${node.cycle ? " cycle" : ""}${node.told ? " told" : ""}`, tabindex: 0, role: "img",
      "aria-label": describeNode(this.run, node.id), "data-node": node.id },
    s("rect", { x: box.x, y: box.y, width: box.width, height: box.height, rx: 6 }),
    node.initial ? s("g", { class: "initial rel-rf", "aria-hidden": "true" },
      s("circle", { cx: box.x - 13, cy: box.y - 9, r: 2.5 }),
      s("path", { class: "line", d: `M${box.x - 11} ${box.y - 7}L${box.x - 3} ${box.y}` }),
      s("path", { class: "arrow", d: `M${box.x + 1} ${box.y + 4}l-8 -2 5 -6z` })) : null,
    s("text", { class: "head", x, y: box.y + 17 }, cutText(headOf(node), room, SIZES.character)),
    foot ? s("text", { class: "foot", x, y: box.y + 33 }, cutText(foot, room, SIZES.small)) : null,
    s("title", {}, `${headOf(node)}${foot ? `\n${foot}` : ""}`));
    this.lights.on(group, { node: node.id });
    return group;
  }

  // --- what is lit, and how far the run has come

  light(what) {
    const lit = new Set(what === null ? [] : what.node !== undefined ? [what.node] : what.nodes);
    this.svg.classList.toggle("some-lit", lit.size > 0);
    for (const element of this.svg.querySelectorAll("[data-node]")) {
      element.classList.toggle("lit", lit.has(Number(element.dataset.node)));
    }
    for (const element of this.svg.querySelectorAll("[data-source]")) {
      element.classList.toggle("lit", lit.has(Number(element.dataset.source)) || lit.has(Number(element.dataset.target)));
    }
    if (what && what.nodes && what.nodes.length) this.reveal(what.nodes[0]);
  }

  reveal(number) {
    const element = this.svg.querySelector(`[data-node="${number}"]`);
    if (!element) return;
    const frame = this.frame.getBoundingClientRect(), box = element.getBoundingClientRect();
    if (box.top < frame.top) this.frame.scrollTop -= frame.top - box.top + 20;
    else if (box.bottom > frame.bottom) this.frame.scrollTop += box.bottom - frame.bottom + 20;
    if (box.left < frame.left) this.frame.scrollLeft -= frame.left - box.left + 20;
    else if (box.right > frame.right) this.frame.scrollLeft += box.right - frame.right + 20;
  }

  showMoment(moment) {
    this.moment = moment;
    this.svg.classList.toggle("stepping", moment !== null);
    const has = (set, element) => moment !== null && (element.dataset.node ? [element.dataset.node] : element.dataset.nodes.split(" "))
      .some((number) => set.has(Number(number)));
    for (const element of this.svg.querySelectorAll(".node, .fold")) {
      element.classList.toggle("now", moment !== null && has(moment.now, element));
      element.classList.toggle("done", moment !== null && has(moment.done, element));
      element.classList.toggle("pending", moment !== null && has(moment.pending, element));
    }
    if (moment && moment.now.size) this.reveal([...moment.now][0]);
  }
}
