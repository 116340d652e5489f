// The source beside the picture.

const MOST_LINES = 1500, CONTEXT = 30;

class SourceView {
  // `places` are lines that must be there, if a file is too long to be shown as a whole; `fences` are to be put in.
  constructor(sources, places, fences = []) {
    this.lines = new Map();
    this.connections = new Map();
    this.element = h("div", { class: "sources" }, sources.map((source) => this.file(source, places, fences)));
  }

  // Ties the lines to the nodes of a run, in the place of the run that was tied under that name before.
  connect(name, run, lights) {
    this.connections.set(name, { run, lights });
    lights.listen((what) => { if (this.connections.get(name).run === run) this.light(what, run); });
    for (const [place, element] of this.lines) {
      const count = [...this.connections.values()].reduce((sum, tied) => sum + nodesAt(tied.run, place).length, 0);
      element.classList.toggle("used", count > 0);
      if (count) {
        element.setAttribute("tabindex", 0);
        element.setAttribute("aria-label", `line ${element.dataset.line}: ${element.textContent.slice(element.dataset.line.length).trim()}; ${plural(count, "event")}`);
      } else { element.removeAttribute("tabindex"); element.removeAttribute("aria-label"); }
      this.cutUp(element, nodesAt(run, place), run, lights);
    }
  }

  // Where threads stand side by side in a line, each has its own piece of it.
  cutUp(element, nodes, run, lights) {
    const pieces = new Map();
    for (const number of nodes) if (run.nodes[number].column) pieces.set(run.nodes[number].column - 1, [...(pieces.get(run.nodes[number].column - 1) || []), number]);
    if (!pieces.size) return;
    const code = element.querySelector("code"), letters = [...code.textContent], parts = [];
    let done = 0;
    for (const start of [...pieces.keys()].sort((a, b) => a - b)) {
      const own = pieces.get(start), text = run.nodes[own[0]].source, end = start + lengthOf(text);
      if (start < done || letters.slice(start, end).join("") !== text) continue;
      const piece = h("span", { class: "piece", "data-nodes": own.join(" ") }, text);
      piece.addEventListener("pointerenter", () => lights.show({ nodes: own }));
      piece.addEventListener("pointerleave", () => lights.show({ nodes }));
      parts.push(letters.slice(done, start).join(""), piece);
      done = end;
    }
    code.replaceChildren(...parts, letters.slice(done).join(""));
  }

  file(source, places, fences) {
    const texts = source.text.replace(/\n$/, "").split("\n");
    const own = fences.filter((fence) => fence.file === source.file);
    const wanted = [...places, ...own].filter((place) => place.file === source.file).map((place) => place.line);
    const list = h("ol", { class: "source", tabindex: 0, "aria-label": `Source ${source.file}` });
    let skipped = 0;
    const skip = () => {
      if (skipped) list.append(h("li", { class: "skipped" }, `⋯ ${plural(skipped, "line")}`));
      skipped = 0;
    };
    texts.forEach((text, index) => {
      const number = index + 1;
      if (texts.length > MOST_LINES && !wanted.some((line) => Math.abs(line - number) <= CONTEXT)) { skipped++; return; }
      skip();
      const here = own.filter((fence) => fence.line === number);
      const inserted = (after) => here.filter((fence) => fence.after === after).map((fence) => this.fence(fence, text.match(/^\s*/)[0]));
      list.append(...inserted(false), this.line(source.file, number, text), ...inserted(true));
    });
    skip();
    return h("div", { class: "file" }, h("h3", {}, source.file), list);
  }

  fence(fence, indent) {
    return h("li", { class: "inserted", "aria-label": `to insert: ${fence.text}` },
      h("span", { class: "number", "aria-hidden": "true" }, "+"), h("code", {}, indent + fence.text));
  }

  // The first line that matters, of each file; works only when the element is in the page.
  reveal() {
    for (const list of this.element.querySelectorAll(".source")) {
      const first = list.querySelector(".used, .inserted");
      if (first) list.scrollTop = Math.max(0, first.offsetTop - list.offsetTop - 60);
    }
  }

  line(file, number, text) {
    const place = `${number}:${file}`;
    const element = h("li", { "data-line": number }, h("span", { class: "number", "aria-hidden": "true" }, number), h("code", {}, text || " "));
    const show = (on) => {
      for (const { run, lights } of this.connections.values()) {
        const nodes = nodesAt(run, place);
        if (nodes.length) lights.show(on ? { nodes } : null);
      }
    };
    element.addEventListener("pointerenter", () => show(true));
    element.addEventListener("pointerleave", () => show(false));
    element.addEventListener("focus", () => show(true));
    element.addEventListener("blur", () => show(false));
    this.lines.set(place, element);
    return element;
  }

  light(what, run) {
    for (const element of this.lines.values()) element.classList.remove("lit");
    const numbers = !what ? [] : what.node !== undefined ? [what.node] : what.nodes;
    for (const number of numbers) this.show(run.nodes[number], what.node !== undefined, "lit");
    for (const piece of this.element.querySelectorAll(".piece")) {
      piece.classList.toggle("lit", piece.dataset.nodes.split(" ").some((number) => numbers.includes(Number(number))));
    }
  }

  show(place, scroll, className) {
    const element = place && this.lines.get(`${place.line}:${place.file}`);
    if (!element) return;
    element.classList.add(className);
    if (scroll) scrollInside(element);
  }

  showMoment(place) {
    for (const element of this.lines.values()) element.classList.remove("now");
    this.show(place, true, "now");
  }
}

function nodesAt(run, place) {
  if (!run.byPlace) {
    run.byPlace = new Map();
    run.nodes.forEach((node, number) => {
      const key = `${node.line}:${node.file}`;
      if (node.line) run.byPlace.set(key, [...(run.byPlace.get(key) || []), number]);
    });
  }
  return run.byPlace.get(place) || [];
}

// Scrolls the box around an element, never the page.
function scrollInside(element) {
  const box = element.closest(".source");
  const top = element.offsetTop - box.offsetTop;
  if (top < box.scrollTop || top + element.offsetHeight > box.scrollTop + box.clientHeight) {
    box.scrollTop = Math.max(0, top - box.clientHeight / 2);
  }
}
