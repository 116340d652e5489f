// Many entries as a table that can be filtered and sorted.

const PAGE_SIZE = 200;

class EntryTable {
  constructor(page) {
    this.page = page;
    this.sorted = { column: -1, down: false };
    this.first = 0;
    this.texts = page.entries.map((entry) => entry.cells.join("\u0000").toLowerCase());
    const verdicts = [...new Set(page.entries.map((entry) => entry.verdict))].sort();
    this.input = h("input", { type: "search", id: "filter", placeholder: "name, model, condition …", oninput: () => this.restart() });
    this.select = h("select", { id: "verdict", onchange: () => this.restart() },
      h("option", { value: "" }, `all (${page.entries.length})`),
      verdicts.map((verdict) => h("option", { value: verdict },
        `${verdict} (${page.entries.filter((entry) => entry.verdict === verdict).length})`)));
    this.count = h("p", { class: "count", role: "status" });
    this.heads = page.columns.map((column, number) => h("th", { scope: "col", class: column.number ? "right" : null },
      h("button", { type: "button", onclick: () => this.sort(number) }, column.label, h("span", { class: "mark", "aria-hidden": "true" }))));
    this.body = h("tbody");
    this.pager = h("nav", { class: "pager", "aria-label": "Pages of the table" });
    this.element = h("div", { class: "entries" },
      h("div", { class: "controls" }, h("label", { for: "filter" }, "Filter ", this.input), h("label", { for: "verdict" }, "Verdict ", this.select), this.count),
      h("div", { class: "scroll" }, h("table", { class: "list" }, h("caption", { class: "hidden" }, page.title), h("thead", {}, h("tr", {}, this.heads)), this.body)),
      this.pager);
    this.show();
  }

  restart() { this.first = 0; this.show(); }

  sort(column) {
    this.sorted = { column, down: this.sorted.column === column && !this.sorted.down };
    this.restart();
  }

  matching() {
    const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean), verdict = this.select.value;
    const found = this.page.entries.map((_, number) => number).filter((number) =>
      (!verdict || this.page.entries[number].verdict === verdict) && words.every((word) => this.texts[number].includes(word)));
    const { column, down } = this.sorted;
    if (column < 0) return found;
    const numeric = this.page.columns[column].number, cell = (number) => this.page.entries[number].cells[column];
    const compare = (a, b) => (numeric ? (parseFloat(cell(a)) || 0) - (parseFloat(cell(b)) || 0) : cell(a).localeCompare(cell(b), undefined, { numeric: true }));
    return found.sort((a, b) => (down ? compare(b, a) : compare(a, b)) || a - b);
  }

  show() {
    const found = this.matching(), shown = found.slice(this.first, this.first + PAGE_SIZE);
    this.count.textContent = `${found.length} of ${this.page.entries.length}`;
    this.heads.forEach((head, number) => {
      const here = number === this.sorted.column;
      if (here) head.setAttribute("aria-sort", this.sorted.down ? "descending" : "ascending"); else head.removeAttribute("aria-sort");
      head.querySelector(".mark").textContent = here ? (this.sorted.down ? " ▼" : " ▲") : "";
    });
    this.body.replaceChildren(...shown.map((number) => this.row(number)));
    const pages = Math.ceil(found.length / PAGE_SIZE);
    this.pager.replaceChildren(...(pages < 2 ? [] : [...Array(pages).keys()].map((page) => h("button", { type: "button",
      "aria-current": page * PAGE_SIZE === this.first ? "page" : null, "aria-label": `Page ${page + 1}`,
      onclick: () => { this.first = page * PAGE_SIZE; this.show(); } }, page + 1))));
    this.found = found;
  }

  row(number) {
    const entry = this.page.entries[number];
    return h("tr", {}, entry.cells.map((cell, column) => h("td", { class: this.page.columns[column].number ? "right" : this.page.columns[column].long ? "long" : null,
      title: this.page.columns[column].long ? cell : null },
      column === 0 ? h("a", { href: `#/${number}` }, cell)
        : this.page.columns[column].verdict ? h("span", { class: `badge ${entry.tone}` }, cell) : cell)));
  }
}
