// The page: one answer, or a table of many that opens each.

const RELATIONS = ["po", "rf", "co", "fr", "addr", "data", "ctrl", "rmw", "fence", "other"];
let MEANINGS = {};

function start() {
  const page = JSON.parse(document.getElementById("data").textContent);
  MEANINGS = page.meanings;
  complete(page);
  const main = document.getElementById("main");
  const many = page.entries.length > 1;
  const table = many ? new EntryTable(page) : null;
  let view = null;
  document.getElementById("title").textContent = page.title;
  document.getElementById("about").replaceChildren(factsList(page.facts),
    page.notes.length ? h("ul", { class: "notes" }, page.notes.map((note) => h("li", {}, note))) : "");
  document.getElementById("foot").textContent = page.generator;

  const open = () => {
    const number = many ? Number((location.hash.match(/^#\/(\d+)$/) || [])[1]) : 0;
    if (!(number in page.entries)) {
      view = null;
      main.replaceChildren(...(table ? [table.element] : []));
      return;
    }
    const entry = page.entries[number];
    view = new EntryView(page, entry);
    main.replaceChildren(...(many ? [navigation(number, entry)] : []), view.element);
    view.reveal();
    if (many) { window.scrollTo(0, 0); document.getElementById("entry-name").focus(); }
  };
  const navigation = (number, entry) => {
    const at = table.found.indexOf(number), before = table.found[at - 1], after = table.found[at + 1];
    const link = (to, text) => (to === undefined ? h("span", { class: "off" }, text) : h("a", { href: `#/${to}` }, text));
    return h("nav", { class: "entry-nav", "aria-label": "Between entries" }, h("a", { href: "#/" }, "↑ All"), link(before, "← Previous"),
      link(after, "Next →"), h("h2", { id: "entry-name", tabindex: -1 }, entry.name));
  };

  window.addEventListener("hashchange", open);
  window.addEventListener("keydown", (event) => {
    const typing = event.target.closest && event.target.closest("input, select, textarea, .source, .frame, .scroll");
    const plain = !event.ctrlKey && !event.altKey && !event.metaKey && !event.shiftKey;
    if (view && view.timeline && plain && !(typing && event.target !== document.body && !event.target.closest("[data-node]"))) view.timeline.key(event);
  });
  window.addEventListener("beforeprint", () => { for (const part of document.querySelectorAll("details")) part.open = true; });
  theme();
  open();
}

// Fields that the file leaves out because they are empty.
function complete(page) {
  const defaults = (run) => {
    run.nodes.forEach((node) => {
      for (const [key, value] of Object.entries({ name: "", source: "", file: "", line: 0, column: 0, fold: "", initial: false, told: false, moment: -1 })) if (!(key in node)) node[key] = value;
      node.locations = node.locations || [];
    });
    run.edges = run.edges.map(([source, target, kind, label, cycle, loose]) => ({ source, target, kind, label: label || kind, cycle: !!cycle, loose: !!loose }));
    run.moments = (run.moments || []).map((moment) => ({ nodes: [], overtakes: [], writes: [], text: "", file: "", line: 0, buffers: [], ...moment }));
    run.initially = run.initially || [];
    run.finally = run.finally || [];
    run.heading = run.heading || "The execution";
  };
  for (const entry of page.entries) {
    for (const key of ["facts", "notes", "findings", "outcomes", "sources"]) entry[key] = entry[key] || [];
    if (entry.run) defaults(entry.run);
    for (const fence of entry.fences || []) for (const cycle of fence.cycles) defaults(cycle.run);
  }
}

function theme() {
  const root = document.documentElement, button = document.getElementById("theme");
  const stored = () => { try { return localStorage.getItem("dekker-theme"); } catch { return null; } };
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const name = () => { button.textContent = isDark() ? "Light" : "Dark"; button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`); };
  if (stored()) root.dataset.theme = stored();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("dekker-theme", root.dataset.theme); } catch { /* the choice lasts as long as the page */ }
    name();
  });
  system.addEventListener("change", name);
  name();
}

start();
