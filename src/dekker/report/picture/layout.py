"""Where everything goes: one column for each thread, nodes one below the other, edges that keep out of the way.

Edges between threads leave a node at its side and arrive at the side of the other, curved; where a column is in
between they go through a gap between its nodes. Edges inside of a thread are arcs beside its column, the shorter ones
inside. Labels stand on their edge where they cover least.

`html/assets/layout.js` does the same, number by number, for the page, where a reader folds and filters. The browser
tests compare the two.
"""

from __future__ import annotations

from dataclasses import field
from itertools import pairwise

from dekker.records import dataclass
from dekker.report.picture.labels import LABEL_CHARACTER, label_of, place_labels
from dekker.report.picture.view import CO, FR, PO, RF, Edge, Fold, RunView, shown

Point = tuple[float, float]

MARGIN, TITLE = 20.0, 46.0
CHARACTER, SMALL_CHARACTER = 7.9, 6.65
PADDING = 12.0
NARROWEST, WIDEST, WIDEST_IN_TIME = 96.0, 236.0, 380.0
TALL, FLAT, FOLDED = 42.0, 26.0, 16.0
GAP = 28.0
GUTTER, LANE, FIRST_LANE = 44.0, 22.0, 30.0
CROSSED, PER_EDGE = 40.0, 5.0
WIDEST_GUTTER = 190.0
BUNDLE = 7.0
AROUND_LABEL = 60.0


@dataclass(frozen=True, slots=True)
class Box:
    """A node or a fold as it is drawn."""

    item: int | Fold
    thread: int
    x: float
    y: float
    width: float
    height: float

    @property
    def bottom(self) -> float:
        return self.y + self.height


@dataclass(frozen=True, slots=True)
class Curve:
    """`points` are those of cubic curves one after the other: 1 + 3 for each. `label` is the middle of the text."""

    edge: Edge
    points: tuple[Point, ...]
    label: Point


@dataclass(frozen=True, slots=True)
class Order:
    """Neighbours in program order, and the edge if that has something to tell."""

    above: Box
    below: Box
    edge: Edge | None


@dataclass(frozen=True, slots=True)
class Header:
    """Of a column; `y` is where its nodes begin."""

    x: float
    y: float
    width: float


@dataclass
class Layout:
    width: float = 0.0
    height: float = 0.0
    headers: list[Header] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    order: list[Order] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)


@dataclass
class _End:
    """Where an edge meets a node: `side` is -1 left or 1 right."""

    edge: int
    source: bool
    side: int
    key: float


def arrange(view: RunView, everything: bool = False) -> Layout:
    layout = Layout()
    items = shown(view, everything)
    drawn = {item for column in items for item in column if isinstance(item, int)}
    edges = [edge for edge in view.edges if edge.source in drawn and edge.target in drawn]
    thread_of = [node.thread for node in view.nodes]
    position = {item: (c, r) for c, column in enumerate(items) for r, item in enumerate(column)}
    straight = {
        (edge.source, edge.target): edge for edge in edges if edge.kind == PO and _are_neighbours(edge, position)
    }
    edges = [edge for edge in edges if edge not in straight.values()]
    lanes = _lanes(edges, thread_of, position)
    _place_boxes(layout, view, items, edges, lanes)
    for above, below in pairwise(layout.boxes):
        if above.thread == below.thread:
            pair = (above.item, below.item)
            layout.order.append(Order(above, below, straight.get(pair)))  # type: ignore[arg-type]
    box_of = {box.item: box for box in layout.boxes if isinstance(box.item, int)}
    _route(layout, edges, lanes, box_of)
    place_labels(layout)
    return layout


def _are_neighbours(edge: Edge, position: dict[int | Fold, tuple[int, int]]) -> bool:
    (c, r), (d, s) = position[edge.source], position[edge.target]
    return c == d and s == r + 1


# --- arcs beside a column

Lanes = dict[int, tuple[int, int]]
"""For edges inside of a thread their side and how far out they go."""


def _lanes(edges: list[Edge], thread_of: list[int], position: dict[int | Fold, tuple[int, int]]) -> Lanes:
    found: Lanes = {}
    taken: dict[tuple[int, int], list[list[tuple[int, int]]]] = {}
    inside = [n for n, edge in enumerate(edges) if thread_of[edge.source] == thread_of[edge.target]]

    def rows(number: int) -> tuple[int, int]:
        a, b = position[edges[number].source][1], position[edges[number].target][1]
        return (a, b) if a < b else (b, a)

    inside.sort(key=lambda n: (rows(n)[1] - rows(n)[0], rows(n)[0], n))
    for number in inside:
        edge, (top, bottom) = edges[number], rows(number)
        side = 1 if edge.kind in (RF, CO, FR) else -1
        used = taken.setdefault((thread_of[edge.source], side), [])
        lane = 0
        while lane < len(used) and any(a < bottom and top < b for a, b in used[lane]):
            lane += 1
        if lane == len(used):
            used.append([])
        used[lane].append((top, bottom))
        found[number] = (side, lane)
    return found


# --- nodes


def _place_boxes(layout: Layout, view: RunView, items: list[list[int | Fold]], edges: list[Edge], lanes: Lanes) -> None:
    widths = [_column_width(view, thread, column) for thread, column in enumerate(items)]
    outside = {side: [_lanes_width(view, edges, lanes, t, side) for t in range(len(items))] for side in (-1, 1)}
    rows = _rows_in_time(view, items) if view.timed else None
    tops = [MARGIN + TITLE] * len(items) if view.timed else _tops(view, items)
    x = MARGIN
    layout.height = MARGIN + TITLE
    for thread, column in enumerate(items):
        x += outside[-1][thread]
        layout.headers.append(Header(x, tops[thread], widths[thread]))
        _place_column(layout, view, (column, thread), layout.headers[-1], rows)
        x += widths[thread] + outside[1][thread]
        if thread + 1 < len(items):
            crossing = sum(_crosses(view, edge, thread) for edge in edges)
            x += min(GUTTER + (CROSSED if crossing else 0.0) + PER_EDGE * crossing, WIDEST_GUTTER)
    layout.width = x + MARGIN
    layout.height = max([layout.height, *(box.bottom + MARGIN for box in layout.boxes)])


def _place_column(
    layout: Layout,
    view: RunView,
    column: tuple[list[int | Fold], int],
    header: Header,
    rows: dict[int | Fold, float] | None,
) -> None:
    y = header.y
    for item in column[0]:
        height = _height(view, item)
        if rows is not None:
            y = rows[item]
        box = Box(item, column[1], header.x, y, header.width, height)
        layout.boxes.append(box)
        y += height + GAP


def _tops(view: RunView, items: list[list[int | Fold]]) -> list[float]:
    """Where columns begin: so that what is on the cycle begins at the same height."""
    cycle = view.on_cycle()
    before: list[float | None] = []
    for column in items:
        height = 0.0
        found: float | None = None
        for item in column:
            if isinstance(item, int) and item in cycle:
                found = height
                break
            height += _height(view, item) + GAP
        before.append(found)
    most = max((found for found in before if found is not None), default=0.0)
    return [MARGIN + TITLE + (0.0 if found is None else most - found) for found in before]


def _rows_in_time(view: RunView, items: list[list[int | Fold]]) -> dict[int | Fold, float]:
    """One below the other, whatever the thread."""
    found: dict[int | Fold, float] = {}
    y = MARGIN + TITLE
    listed = [item for column in items for item in column]
    for item in sorted(listed, key=lambda item: view.nodes[item if isinstance(item, int) else item.nodes[0]].moment):
        found[item] = y
        y += _height(view, item) + GAP / 2
    return found


def _height(view: RunView, item: int | Fold) -> float:
    if isinstance(item, Fold):
        return FOLDED
    return TALL if view.nodes[item].source else FLAT


def head_of(view: RunView, number: int) -> str:
    node = view.nodes[number]
    return f"{node.name}: {node.text}" if node.name else node.text


def foot_of(view: RunView, number: int) -> str:
    node = view.nodes[number]
    return f"{node.line}| {node.source}" if node.line else node.source


def _column_width(view: RunView, thread: int, column: list[int | Fold]) -> float:
    title = view.columns[thread]
    widest = max(len(title.name) * CHARACTER, max(map(len, title.detail.split("\n"))) * SMALL_CHARACTER)
    for item in column:
        if isinstance(item, Fold):
            widest = max(widest, len(item.text) * SMALL_CHARACTER)
        else:
            widest = max(widest, len(head_of(view, item)) * CHARACTER, len(foot_of(view, item)) * SMALL_CHARACTER)
    return max(NARROWEST, min(WIDEST_IN_TIME if view.timed else WIDEST, widest + 2 * PADDING))


def _lanes_width(view: RunView, edges: list[Edge], lanes: Lanes, thread: int, side: int) -> float:
    used = [n for n, (at, _) in lanes.items() if at == side and view.nodes[edges[n].source].thread == thread]
    if not used:
        return 0.0
    label = max(len(label_of(edges[n])) for n in used) * LABEL_CHARACTER
    return FIRST_LANE + max(lanes[n][1] for n in used) * LANE + label / 2


def _crosses(view: RunView, edge: Edge, thread: int) -> bool:
    """Whether an edge passes the gutter behind a thread."""
    a, b = view.nodes[edge.source].thread, view.nodes[edge.target].thread
    return min(a, b) <= thread < max(a, b)


# --- edges


def _route(layout: Layout, edges: list[Edge], lanes: Lanes, box_of: dict[int, Box]) -> None:
    ports = _ports(edges, lanes, box_of)
    gaps = _gaps(layout, edges, lanes, box_of)
    for number, edge in enumerate(edges):
        start, end = ports[number, True], ports[number, False]
        if number in lanes:
            side, lane = lanes[number]
            out = (FIRST_LANE + lane * LANE) * 4 / 3 * side
            points: tuple[Point, ...] = (start, (start[0] + out, start[1]), (end[0] + out, end[1]), end)
        else:
            points = _through([start, *gaps.get(number, ()), end])
        layout.curves.append(Curve(edge, points, start))


def _through(stops: list[Point]) -> tuple[Point, ...]:
    """Curves that leave and arrive horizontally."""
    points = [stops[0]]
    for (x, y), (u, v) in pairwise(stops):
        bend = (u - x) / 2
        points += [(x + bend, y), (u - bend, v), (u, v)]
    return tuple(points)


def _ports(edges: list[Edge], lanes: Lanes, box_of: dict[int, Box]) -> dict[tuple[int, bool], Point]:
    """Ends at the same side of a node stand one below the other, ordered by where the edge goes."""
    ends: dict[tuple[int, int], list[_End]] = {}
    for number, edge in enumerate(edges):
        a, b = box_of[edge.source], box_of[edge.target]
        away = (b.y + b.height / 2) - (a.y + a.height / 2)
        if number in lanes:
            side = lanes[number][0]
            sides, keys = (side, side), (away * 1000, -away * 1000)
        else:
            direction = 1 if a.thread < b.thread else -1
            sides = (direction, -direction)
            steep = away / max(1.0, abs(a.x - b.x))
            keys = (steep, -steep)
        ends.setdefault((edge.source, sides[0]), []).append(_End(number, True, sides[0], keys[0]))
        ends.setdefault((edge.target, sides[1]), []).append(_End(number, False, sides[1], keys[1]))
    found: dict[tuple[int, bool], Point] = {}
    for (node, side), listed in ends.items():
        box = box_of[node]
        x = box.x if side < 0 else box.x + box.width
        listed.sort(key=lambda end: (end.key, end.edge))
        for position, end in enumerate(listed, 1):
            found[end.edge, end.source] = (x, box.y + box.height * position / (len(listed) + 1))
    return found


def _gaps(layout: Layout, edges: list[Edge], lanes: Lanes, box_of: dict[int, Box]) -> dict[int, tuple[Point, ...]]:
    """Where edges pass columns that lie between their ends."""
    wanted: dict[tuple[int, float], list[int]] = {}
    passes: dict[int, list[tuple[int, float]]] = {}
    for number, edge in enumerate(edges):
        a, b = box_of[edge.source], box_of[edge.target]
        if number in lanes:
            continue
        step = 1 if a.thread < b.thread else -1
        for thread in range(a.thread + step, b.thread, step):
            header = layout.headers[thread]
            part = (header.x - a.x) / (b.x - a.x)
            middle = (a.y + a.height / 2) * (1 - part) + (b.y + b.height / 2) * part
            gap = min(_gaps_of(layout, thread), key=lambda gap: (abs(gap[0] - middle) + gap[1], gap[0]))[0]
            wanted.setdefault((thread, gap), []).append(number)
            passes.setdefault(number, []).append((thread, gap))
    found: dict[int, tuple[Point, ...]] = {}
    for number, crossed in passes.items():
        points: list[Point] = []
        for thread, gap in crossed:
            together = wanted[thread, gap]
            y = gap + (together.index(number) - (len(together) - 1) / 2) * BUNDLE
            header = layout.headers[thread]
            near, far = (header.x, y), (header.x + header.width, y)
            forward = box_of[edges[number].source].thread < thread
            points += [near, far] if forward else [far, near]
        found[number] = tuple(points)
    return found


def _gaps_of(layout: Layout, thread: int) -> list[tuple[float, float]]:
    """Where edges may pass a column, and how far a way round is worth it: between nodes there may be a label."""
    own = [box for box in layout.boxes if box.thread == thread]
    if not own:
        return [(MARGIN + TITLE + TALL / 2, 0.0)]
    order = [item for item in layout.order if item.above.thread == thread]
    between = [
        ((item.above.bottom + item.below.y) / 2, AROUND_LABEL if item.edge is not None else 0.0) for item in order
    ]
    return [(own[0].y - GAP / 4, 0.0), *between, (own[-1].bottom + GAP / 2, 0.0)]
