// Elements from plain data. Text only ever becomes text: nothing here, or anywhere, parses HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of (children || []).flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

const h = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
const s = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

function card(title, className, ...children) {
  const id = `h-${className}-${card.number = (card.number || 0) + 1}`;
  return h("section", { class: `card ${className}`, "aria-labelledby": id }, h("h2", { id }, title), ...children);
}

// What is pointed at or focused in one part of the page is lit in all others.
class Lights {
  constructor() { this.listeners = []; this.current = null; }
  listen(listener) { this.listeners.push(listener); }
  show(what) {
    this.current = what;
    for (const listener of this.listeners) listener(what);
  }
  on(element, what) {
    const show = () => this.show(what), hide = () => { if (this.current === what) this.show(null); };
    element.addEventListener("pointerenter", show);
    element.addEventListener("pointerleave", hide);
    element.addEventListener("focus", show);
    element.addEventListener("blur", hide);
  }
}
