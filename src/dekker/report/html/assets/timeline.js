// The run moment by moment.

const HINTS = {
  effects: "One order in which the accesses can have taken effect. An access that later ones of its thread overtake is pending meanwhile, as a store in a buffer is.",
  schedule: "Moment by moment, as the engine found it, with what is in the store buffers.",
  path: "What the threads do, one after the other.",
};

class Timeline {
  constructor(run, picture, source) {
    this.run = run;
    this.picture = picture;
    this.source = source;
    this.at = -1;
    const button = (label, title, act, name) => h("button", { type: "button", title, "aria-label": title, onclick: act, "data-step": name }, label);
    this.slider = h("input", { type: "range", min: 0, max: run.moments.length, value: 0, "aria-label": "Moment of the run",
      oninput: () => this.go(Number(this.slider.value) - 1) });
    this.said = h("p", { class: "said", "aria-live": "polite" });
    this.memory = h("table", { class: "values" });
    this.waiting = h("div", { class: "waiting" });
    this.list = h("ol", { class: "moments" }, run.moments.map((moment, number) => h("li", {},
      h("button", { type: "button", "data-moment": number, onclick: () => this.go(number) },
        h("span", { class: "who" }, run.columns[moment.thread].name), h("span", {}, this.textOf(moment)),
        moment.overtakes.length ? h("span", { class: "overtakes" }, `overtakes ${this.names(moment.overtakes)}`) : null))));
    this.element = h("div", { class: "timeline" },
      h("p", { class: "hint" }, HINTS[run.told], " Keys: ← → Home End."),
      h("div", { class: "steps", role: "toolbar", "aria-label": "Steps of the run" },
        button("|◀", "To the start", () => this.go(-1), "start"), button("◀", "One step back", () => this.go(this.at - 1), "back"),
        button("▶", "One step on", () => this.go(this.at + 1), "on"),
        button("▶|", "To the end", () => this.go(run.moments.length - 1), "end"), this.slider),
      this.said,
      h("div", { class: `moment-parts${run.told === "path" ? " alone" : ""}` }, this.list, run.told === "path" ? null : h("div", { class: "state" },
        h("h3", {}, "Memory"), this.memory, h("h3", {}, run.told === "schedule" ? "Store buffers" : "Pending"), this.waiting)));
    this.go(-1);
  }

  names(numbers) { return numbers.map((n) => this.run.nodes[n].name || this.run.nodes[n].text).join(", "); }

  textOf(moment) { return moment.text || moment.nodes.map((n) => headOf(this.run.nodes[n])).join(", "); }

  go(number) {
    const run = this.run;
    this.at = Math.max(-1, Math.min(number, run.moments.length - 1));
    const moment = run.moments[this.at] || null;
    this.slider.value = this.at + 1;
    this.slider.setAttribute("aria-valuetext", `${this.at + 1} of ${run.moments.length}`);
    const done = new Set(run.moments.slice(0, this.at + 1).flatMap((past) => past.nodes));
    const pending = new Set(run.moments.slice(0, this.at + 1).flatMap((past) => past.overtakes).filter((n) => !done.has(n)));
    this.showTexts(moment, pending);
    this.showMemory();
    for (const element of this.list.querySelectorAll("button")) {
      const here = Number(element.dataset.moment) === this.at;
      if (here) { element.setAttribute("aria-current", "step"); this.scrollTo(element); } else element.removeAttribute("aria-current");
    }
    this.picture.showMoment(this.at < 0 ? null : { now: new Set(moment.nodes), done, pending });
    const node = moment && moment.nodes.length ? run.nodes[moment.nodes[0]] : null;
    this.source.showMoment(moment ? (moment.line ? moment : node) : null);
  }

  scrollTo(element) {
    const top = element.offsetTop - this.list.offsetTop;
    if (top < this.list.scrollTop || top + element.offsetHeight > this.list.scrollTop + this.list.clientHeight) {
      this.list.scrollTop = Math.max(0, top - this.list.clientHeight / 2);
    }
  }

  showTexts(moment, pending) {
    const run = this.run;
    const passes = moment && moment.overtakes.length ? `, before ${this.names(moment.overtakes)} of the same thread` : "";
    this.said.textContent = moment
      ? `${this.at + 1} of ${run.moments.length}. ${run.columns[moment.thread].name}: ${this.textOf(moment)}${passes}`
      : `Before the first of ${plural(run.moments.length, "step")}`;
    const buffers = run.told === "schedule"
      ? (moment ? moment.buffers : [])
      : run.columns.map((_, thread) => [thread, [...pending].filter((n) => run.nodes[n].thread === thread).map((n) => headOf(run.nodes[n]))])
        .filter(([, entries]) => entries.length);
    this.waiting.replaceChildren(...(buffers.length
      ? buffers.map(([thread, entries]) => h("p", {}, h("b", {}, `${run.columns[thread].name}: `), entries.map((entry) => h("code", { class: "entry" }, entry))))
      : [h("p", { class: "none" }, "nothing")]));
  }

  showMemory() {
    const values = new Map(this.run.initially.filter(([name]) => name !== "…")), changed = new Set();
    this.run.moments.slice(0, this.at + 1).forEach((moment, number) => {
      for (const [name, value] of moment.writes) { values.set(name, value); if (number === this.at) changed.add(name); }
    });
    this.memory.replaceChildren(h("caption", { class: "hidden" }, "Memory after this step"),
      h("tbody", {}, [...values].map(([name, value]) => h("tr", { class: changed.has(name) ? "changed" : null },
        h("th", { scope: "row" }, name), h("td", {}, value)))));
  }

  key(event) {
    const moves = { ArrowRight: this.at + 1, ArrowLeft: this.at - 1, Home: -1, End: this.run.moments.length - 1 };
    if (!(event.key in moves)) return;
    event.preventDefault();
    this.go(moves[event.key]);
  }
}
