// Where everything goes. The same as picture/layout.py, number by number: the tests compare the two.
"use strict";

const SIZES = {
  margin: 20, title: 46, character: 7.9, small: 6.65, padding: 12, narrowest: 96, widest: 236, widestInTime: 380,
  tall: 42, flat: 26, folded: 16, gap: 28, gutter: 44, crossed: 40, lane: 22, firstLane: 30, perEdge: 5, widestGutter: 190,
  labelCharacter: 6.4, labelHeight: 14, bundle: 7, aroundLabel: 60, samples: 16, firstLabel: 0.26, overColumn: 8, mostCompared: 80,
};

const lengthOf = (text) => [...text].length;
const isFold = (item) => typeof item === "object";

// --- what is drawn

function foldText(reasons) {
  const counts = ["local", "library"]
    .map((reason) => [reasons.filter((found) => found === reason).length, reason])
    .filter(([count]) => count > 0);
  const parts = counts.map(([count, reason]) => `${count} ${reason}`).join(", ");
  if (!parts) return `${reasons.length} more`;
  const counted = counts.reduce((sum, [count]) => sum + count, 0);
  return counted === reasons.length ? parts : `${reasons.length} more: ${parts}`;
}

// `opened` holds the first nodes of folds that a reader has opened.
function shownItems(run, { everything = false, opened = new Set() } = {}) {
  return run.columns.map((_, thread) => {
    const items = [];
    let folded = null;
    run.nodes.forEach((node, number) => {
      if (node.thread !== thread) return;
      if (node.fold && !everything) {
        if (!folded) items.push((folded = { thread, nodes: [] }));
        folded.nodes.push(number);
      } else {
        folded = null;
        items.push(number);
      }
    });
    return items.flatMap((item) => {
      if (!isFold(item)) return [item];
      if (opened.has(item.nodes[0])) return item.nodes;
      item.text = foldText(item.nodes.map((number) => run.nodes[number].fold));
      return [item];
    });
  });
}

// --- the whole

function arrange(run, options) {
  const items = shownItems(run, options);
  const layout = { width: 0, height: 0, headers: [], boxes: [], order: [], curves: [] };
  const position = new Map();
  items.forEach((column, c) => column.forEach((item, r) => { if (!isFold(item)) position.set(item, [c, r]); }));
  const drawn = run.edges.filter((edge) => position.has(edge.source) && position.has(edge.target));
  const straight = new Map();
  for (const edge of drawn) {
    const [c, r] = position.get(edge.source), [d, s] = position.get(edge.target);
    if (edge.kind === "po" && c === d && s === r + 1) straight.set(`${edge.source} ${edge.target}`, edge);
  }
  const straightEdges = new Set(straight.values());
  const edges = drawn.filter((edge) => !straightEdges.has(edge));
  const lanes = lanesOf(run, edges, position);
  placeBoxes(layout, run, items, edges, lanes);
  for (let n = 0; n + 1 < layout.boxes.length; n++) {
    const above = layout.boxes[n], below = layout.boxes[n + 1];
    if (above.thread === below.thread) {
      layout.order.push({ above, below, edge: straight.get(`${above.item} ${below.item}`) || null });
    }
  }
  const boxOf = new Map(layout.boxes.map((box) => [box.item, box]));
  route(layout, edges, lanes, boxOf);
  placeLabels(layout);
  return layout;
}

// --- arcs beside a column

function lanesOf(run, edges, position) {
  const found = new Map(), taken = new Map();
  const rows = (number) => {
    const a = position.get(edges[number].source)[1], b = position.get(edges[number].target)[1];
    return a < b ? [a, b] : [b, a];
  };
  const inside = edges.map((_, n) => n)
    .filter((n) => run.nodes[edges[n].source].thread === run.nodes[edges[n].target].thread);
  inside.sort((m, n) => {
    const [a, b] = rows(m), [c, d] = rows(n);
    return (b - a) - (d - c) || a - c || m - n;
  });
  for (const number of inside) {
    const edge = edges[number], [top, bottom] = rows(number);
    const side = ["rf", "co", "fr"].includes(edge.kind) ? 1 : -1;
    const key = `${run.nodes[edge.source].thread} ${side}`;
    if (!taken.has(key)) taken.set(key, []);
    const used = taken.get(key);
    let lane = 0;
    while (lane < used.length && used[lane].some(([a, b]) => a < bottom && top < b)) lane++;
    if (lane === used.length) used.push([]);
    used[lane].push([top, bottom]);
    found.set(number, [side, lane]);
  }
  return found;
}

// --- nodes

const headOf = (node) => (node.name ? `${node.name}: ${node.text}` : node.text);
const footOf = (node) => (node.line ? `${node.line}| ${node.source}` : node.source);
const heightOf = (run, item) => (isFold(item) ? SIZES.folded : run.nodes[item].source ? SIZES.tall : SIZES.flat);

function placeBoxes(layout, run, items, edges, lanes) {
  const rows = run.timed ? rowsInTime(run, items) : null;
  const tops = run.timed ? items.map(() => SIZES.margin + SIZES.title) : topsOf(run, items);
  let x = SIZES.margin;
  layout.height = SIZES.margin + SIZES.title;
  items.forEach((column, thread) => {
    const width = columnWidth(run, thread, column);
    x += lanesWidth(run, edges, lanes, thread, -1);
    layout.headers.push({ x, y: tops[thread], width });
    let y = tops[thread];
    for (const item of column) {
      const height = heightOf(run, item);
      if (rows) y = rows.get(item);
      layout.boxes.push({ item, thread, x, y, width, height, bottom: y + height });
      y += height + SIZES.gap;
    }
    x += width + lanesWidth(run, edges, lanes, thread, 1);
    if (thread + 1 < items.length) {
      const crossing = edges.filter((edge) => {
        const a = run.nodes[edge.source].thread, b = run.nodes[edge.target].thread;
        return Math.min(a, b) <= thread && thread < Math.max(a, b);
      }).length;
      x += Math.min(SIZES.gutter + (crossing ? SIZES.crossed : 0) + SIZES.perEdge * crossing, SIZES.widestGutter);
    }
  });
  layout.width = x + SIZES.margin;
  layout.height = Math.max(layout.height, ...layout.boxes.map((box) => box.bottom + SIZES.margin));
}

function topsOf(run, items) {
  const cycle = cycleOf(run);
  const before = items.map((column) => {
    let height = 0;
    for (const item of column) {
      if (!isFold(item) && cycle.has(item)) return height;
      height += heightOf(run, item) + SIZES.gap;
    }
    return null;
  });
  const most = Math.max(0, ...before.filter((found) => found !== null));
  return before.map((found) => SIZES.margin + SIZES.title + (found === null ? 0 : most - found));
}

function cycleOf(run) {
  return new Set(run.edges.filter((edge) => edge.cycle).flatMap((edge) => [edge.source, edge.target]));
}

function rowsInTime(run, items) {
  const found = new Map();
  const moment = (item) => run.nodes[isFold(item) ? item.nodes[0] : item].moment;
  let y = SIZES.margin + SIZES.title;
  for (const item of items.flat().sort((a, b) => moment(a) - moment(b))) {
    found.set(item, y);
    y += heightOf(run, item) + SIZES.gap / 2;
  }
  return found;
}

function columnWidth(run, thread, column) {
  const title = run.columns[thread];
  let widest = Math.max(
    lengthOf(title.name) * SIZES.character,
    Math.max(...title.detail.split("\n").map(lengthOf)) * SIZES.small,
  );
  for (const item of column) {
    if (isFold(item)) widest = Math.max(widest, lengthOf(item.text) * SIZES.small);
    else {
      const node = run.nodes[item];
      widest = Math.max(widest, lengthOf(headOf(node)) * SIZES.character, lengthOf(footOf(node)) * SIZES.small);
    }
  }
  return Math.max(SIZES.narrowest, Math.min(run.timed ? SIZES.widestInTime : SIZES.widest, widest + 2 * SIZES.padding));
}

function lanesWidth(run, edges, lanes, thread, side) {
  const used = [...lanes.keys()]
    .filter((n) => lanes.get(n)[0] === side && run.nodes[edges[n].source].thread === thread);
  if (!used.length) return 0;
  const label = Math.max(...used.map((n) => lengthOf(labelOf(edges[n])))) * SIZES.labelCharacter;
  return SIZES.firstLane + Math.max(...used.map((n) => lanes.get(n)[1])) * SIZES.lane + label / 2;
}

// --- edges

function route(layout, edges, lanes, boxOf) {
  const ports = portsOf(edges, lanes, boxOf), gaps = gapsOf(layout, edges, lanes, boxOf);
  edges.forEach((edge, number) => {
    const start = ports.get(`${number} true`), end = ports.get(`${number} false`);
    let points;
    if (lanes.has(number)) {
      const [side, lane] = lanes.get(number);
      const out = ((SIZES.firstLane + lane * SIZES.lane) * 4 / 3) * side;
      points = [start, [start[0] + out, start[1]], [end[0] + out, end[1]], end];
    } else points = through([start, ...(gaps.get(number) || []), end]);
    layout.curves.push({ edge, points, label: start });
  });
}

function through(stops) {
  const points = [stops[0]];
  for (let n = 0; n + 1 < stops.length; n++) {
    const [x, y] = stops[n], [u, v] = stops[n + 1];
    const bend = (u - x) / 2;
    points.push([x + bend, y], [u - bend, v], [u, v]);
  }
  return points;
}

function portsOf(edges, lanes, boxOf) {
  const ends = new Map();
  const add = (node, side, edge, source, key) => {
    const at = `${node} ${side}`;
    if (!ends.has(at)) ends.set(at, { node, side, list: [] });
    ends.get(at).list.push({ edge, source, key });
  };
  edges.forEach((edge, number) => {
    const a = boxOf.get(edge.source), b = boxOf.get(edge.target);
    const away = (b.y + b.height / 2) - (a.y + a.height / 2);
    if (lanes.has(number)) {
      const side = lanes.get(number)[0];
      add(edge.source, side, number, true, away * 1000);
      add(edge.target, side, number, false, -away * 1000);
    } else {
      const direction = a.thread < b.thread ? 1 : -1;
      const steep = away / Math.max(1, Math.abs(a.x - b.x));
      add(edge.source, direction, number, true, steep);
      add(edge.target, -direction, number, false, -steep);
    }
  });
  const found = new Map();
  for (const { node, side, list } of ends.values()) {
    const box = boxOf.get(node), x = side < 0 ? box.x : box.x + box.width;
    list.sort((m, n) => m.key - n.key || m.edge - n.edge);
    list.forEach((end, position) => {
      found.set(`${end.edge} ${end.source}`, [x, box.y + (box.height * (position + 1)) / (list.length + 1)]);
    });
  }
  return found;
}

function gapsOf(layout, edges, lanes, boxOf) {
  const wanted = new Map(), passes = new Map();
  edges.forEach((edge, number) => {
    const a = boxOf.get(edge.source), b = boxOf.get(edge.target);
    if (lanes.has(number)) return;
    const step = a.thread < b.thread ? 1 : -1;
    for (let thread = a.thread + step; thread !== b.thread; thread += step) {
      const part = (layout.headers[thread].x - a.x) / (b.x - a.x);
      const middle = (a.y + a.height / 2) * (1 - part) + (b.y + b.height / 2) * part;
      const gap = gapsOfColumn(layout, thread)
        .reduce((best, gap) => (Math.abs(gap[0] - middle) + gap[1] < Math.abs(best[0] - middle) + best[1] ? gap : best))[0];
      const key = `${thread} ${gap}`;
      if (!wanted.has(key)) wanted.set(key, []);
      wanted.get(key).push(number);
      if (!passes.has(number)) passes.set(number, []);
      passes.get(number).push([thread, gap]);
    }
  });
  const found = new Map();
  for (const [number, crossed] of passes) {
    const points = [];
    for (const [thread, gap] of crossed) {
      const together = wanted.get(`${thread} ${gap}`);
      const y = gap + (together.indexOf(number) - (together.length - 1) / 2) * SIZES.bundle;
      const header = layout.headers[thread];
      const near = [header.x, y], far = [header.x + header.width, y];
      points.push(...(boxOf.get(edges[number].source).thread < thread ? [near, far] : [far, near]));
    }
    found.set(number, points);
  }
  return found;
}

function gapsOfColumn(layout, thread) {
  const own = layout.boxes.filter((box) => box.thread === thread);
  if (!own.length) return [[SIZES.margin + SIZES.title + SIZES.tall / 2, 0]];
  const between = layout.order.filter(({ above }) => above.thread === thread)
    .map(({ above, below, edge }) => [(above.bottom + below.y) / 2, edge ? SIZES.aroundLabel : 0]);
  return [[own[0].y - SIZES.gap / 4, 0], ...between, [own[own.length - 1].bottom + SIZES.gap / 2, 0]];
}

// --- labels

const labelOf = (edge) => (edge.loose ? `${edge.label}, not kept` : edge.label);

function placeLabels(layout) {
  const samples = layout.curves.map((curve) => samplesOf(curve.points));
  const compared = samples.length <= SIZES.mostCompared ? samples : [];
  const placed = [];
  layout.curves.forEach((curve, number) => {
    const half = (lengthOf(labelOf(curve.edge)) * SIZES.labelCharacter + 4) / 2, high = SIZES.labelHeight;
    let best = curve.label, least = Infinity;
    candidatesOf(samples[number]).forEach((point, preference) => {
      const [x, y] = point;
      let cost = preference * 0.4;
      if (layout.headers.some((header) => header.x <= x && x <= header.x + header.width)) cost += SIZES.overColumn;
      for (const [u, v, other] of placed) if (Math.abs(x - u) < half + other && Math.abs(y - v) < high) cost += 40;
      for (const box of layout.boxes) {
        const beside = x + half < box.x || x - half > box.x + box.width;
        if (!beside && !(y + high / 2 < box.y || y - high / 2 > box.bottom)) cost += 25;
      }
      compared.forEach((line, other) => {
        if (other === number) return;
        for (const [u, v] of line) if (Math.abs(x - u) < half && Math.abs(y - v) < high / 2) cost += 1;
      });
      if (cost < least) { best = point; least = cost; }
    });
    placed.push([...best, half]);
    curve.label = best;
  });
}

function samplesOf(points) {
  const found = [];
  for (let start = 0; start + 3 < points.length; start += 3) {
    const [[ax, ay], [bx, by], [cx, cy], [dx, dy]] = points.slice(start, start + 4);
    for (let step = 0; step <= SIZES.samples; step++) {
      const t = step / SIZES.samples, u = 1 - t;
      const p = u * u * u, q = 3 * u * u * t, r = 3 * u * t * t, s = t * t * t;
      found.push([p * ax + q * bx + r * cx + s * dx, p * ay + q * by + r * cy + s * dy]);
    }
  }
  return found;
}

function candidatesOf(samples) {
  const first = Math.floor(samples.length * SIZES.firstLabel), order = [first];
  for (let away = 1; away < samples.length; away++) order.push(first + away, first - away);
  return order.filter((n) => n > 1 && n < samples.length - 2).map((n) => samples[n]);
}
