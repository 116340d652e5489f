"""A layout as an SVG file that stands alone, or in a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from textwrap import wrap

from dekker.report.picture.colours import CYCLE_LIGHT, LOOKS
from dekker.report.picture.labels import label_of
from dekker.report.picture.layout import (
    CHARACTER,
    MARGIN,
    PADDING,
    SMALL_CHARACTER,
    TITLE,
    Box,
    Curve,
    Layout,
    Order,
    Point,
    arrange,
    foot_of,
    head_of,
)
from dekker.report.picture.view import PO, RF, Fold, RunView

MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
LINE = 17.0
LEGEND_CHARACTER = 6.8
ARROW = 7.0

# All names begin with dk-, because a notebook puts several pictures and its own styles into one document.
_STYLE = f"""
.dk-title {{ font: 600 14px {SANS}; fill: #1f2328; }}
.dk-thread {{ font: 600 13px {SANS}; fill: #1f2328; }}
.dk-note {{ font: 12px {SANS}; fill: #57606a; }}
.dk-detail {{ font: 11px {SANS}; fill: #57606a; }}
.dk-head {{ font: 600 13px {MONO}; fill: #1f2328; }}
.dk-foot {{ font: 11px {MONO}; fill: #57606a; }}
.dk-fold {{ font: 11px {SANS}; fill: #57606a; }}
.dk-label {{ font: 600 11px {SANS}; stroke: #fff; stroke-width: 4px; stroke-linejoin: round; paint-order: stroke; }}
"""


def svg_text(view: RunView, everything: bool = False) -> str:
    """`everything`: nothing is folded."""
    layout = arrange(view, everything)
    notes = list(_notes(view, layout))
    width = max(layout.width, 360.0)
    title = list(wrap(view.title, max(30, int((width - 2 * MARGIN) / 7.4)))) or [""]
    above = MARGIN / 2 + LINE * len(title)
    height = above + layout.height + LINE * (len(notes) + 1) + MARGIN
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{_attribute(view.title)}">',
        f"<title>{_text(view.title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
        *(
            f'<text class="dk-title" x="{MARGIN}" y="{MARGIN + LINE * n:.1f}">{_text(line)}</text>'
            for n, line in enumerate(title)
        ),
        f'<g transform="translate(0 {above:.1f})">',
        *_drawing(view, layout),
        *_legend(view, layout),
        *(
            f'<text class="dk-note" x="{MARGIN}" y="{layout.height + LINE * (n + 1.6):.1f}">{_text(note)}</text>'
            for n, note in enumerate(notes)
        ),
        "</g>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _drawing(view: RunView, layout: Layout) -> Iterator[str]:
    for header, column in zip(layout.headers, view.columns, strict=True):
        middle = f'x="{header.x + header.width / 2:.1f}" text-anchor="middle"'
        yield f'<text class="dk-thread" {middle} y="{header.y - TITLE + 8:.1f}">{_text(column.name)}</text>'
        for number, line in enumerate(column.detail.split("\n") if column.detail else ()):
            detail, y = cut(line, header.width + 40, SMALL_CHARACTER - 0.6), header.y - TITLE + 23 + 14 * number
            yield f'<text class="dk-detail" {middle} y="{y:.1f}">{_text(detail)}</text>'
    yield from (_halo(curve) for curve in layout.curves if curve.edge.cycle)
    if not view.timed:
        yield from (_order(item) for item in layout.order)
    yield from (_curve(curve) for curve in layout.curves)
    cycle = view.on_cycle()
    for box in layout.boxes:
        yield from _box(view, box, box.item in cycle)
    yield from (_label(curve) for curve in layout.curves)


def _order(order: Order) -> str:
    x, top, bottom = order.above.x + order.above.width / 2, order.above.bottom, order.below.y
    colour, edge = LOOKS[PO].light, order.edge
    line = f'd="M{x:.1f} {top:.1f}V{bottom - 4:.1f}" fill="none"'
    head = f'<path d="M{x:.1f} {bottom:.1f}l-3.5 -7h7z" fill="{colour}"/>'
    if edge is None or not edge.cycle:
        return f'<path {line} stroke="{colour}"/>{head}'
    dash = ' stroke-dasharray="5 4"' if edge.loose else ""
    return (
        f'<path {line} stroke="{CYCLE_LIGHT}" stroke-width="9" opacity="0.6"/>'
        f'<path {line} stroke="{colour}" stroke-width="2.2"{dash}/>{head}'
        f'<text class="dk-label" x="{x + 9:.1f}" y="{(top + bottom) / 2 + 4:.1f}" fill="{colour}">'
        f"{_text(label_of(edge))}</text>"
    )


def _halo(curve: Curve) -> str:
    return (
        f'<path d="{path(curve.points)}" fill="none" stroke="{CYCLE_LIGHT}" stroke-width="9" '
        'stroke-linecap="round" opacity="0.6"/>'
    )


def _curve(curve: Curve) -> str:
    look = LOOKS[curve.edge.kind]
    dash = "5 4" if curve.edge.loose else look.dash
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    width = 2.2 if curve.edge.cycle else 1.5
    return (
        f'<path d="{path(curve.points)}" fill="none" stroke="{look.light}" stroke-width="{width}"{dashed}/>'
        f'<path d="{arrow(curve.points)}" fill="{look.light}"/>'
    )


def _label(curve: Curve) -> str:
    x, y = curve.label
    colour = LOOKS[curve.edge.kind].light
    return (
        f'<text class="dk-label" x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" fill="{colour}">'
        f"{_text(label_of(curve.edge))}</text>"
    )


def _box(view: RunView, box: Box, cycle: bool) -> Iterator[str]:
    middle = box.x + box.width / 2
    if isinstance(box.item, Fold):
        yield (
            f'<rect x="{box.x + box.width * 0.1:.1f}" y="{box.y:.1f}" width="{box.width * 0.8:.1f}" '
            f'height="{box.height}" rx="8" fill="#f6f8fa" stroke="#d0d7de" stroke-dasharray="3 2"/>'
            f'<text class="dk-fold" x="{middle:.1f}" y="{box.y + 12:.1f}" text-anchor="middle">'
            f"⋯ {_text(box.item.text)}</text>"
        )
        return
    node = view.nodes[box.item]
    fill, stroke = {
        "F": ("#dafbe1", "#1a7f37"),
        "end": ("#ffebe9", "#cf222e"),
        "print": ("#f6f8fa", "#d0d7de"),
    }.get(node.kind, ("#ffffff", "#8c959f"))
    border = 2.2 if cycle or node.told else 1
    if cycle:
        fill, stroke = "#fff8c5", "#9a6700"
    if node.told:
        stroke = "#cf222e"
    yield (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height}" rx="6" '
        f'fill="{fill}" stroke="{stroke}" stroke-width="{border}"/>'
    )
    if node.initial:
        colour = LOOKS[RF].light
        yield (
            f'<circle cx="{box.x - 13:.1f}" cy="{box.y - 9:.1f}" r="2.5" fill="none" stroke="{colour}"/>'
            f'<path d="M{box.x - 11:.1f} {box.y - 7:.1f}L{box.x - 3:.1f} {box.y:.1f}" stroke="{colour}"/>'
            f'<path d="M{box.x + 1:.1f} {box.y + 4:.1f}l-8 -2 5 -6z" fill="{colour}"/>'
        )
    room = box.width - PADDING
    foot = foot_of(view, box.item)
    yield (
        f'<text class="dk-head" x="{middle:.1f}" y="{box.y + 17:.1f}" text-anchor="middle">'
        f"{_text(cut(head_of(view, box.item), room, CHARACTER))}</text>"
    )
    if foot:
        yield (
            f'<text class="dk-foot" x="{middle:.1f}" y="{box.y + 33:.1f}" text-anchor="middle">'
            f"{_text(cut(foot, room, SMALL_CHARACTER))}</text>"
        )


def _legend(view: RunView, layout: Layout) -> Iterator[str]:
    """The relations that are drawn, in one row."""
    x, y = MARGIN, layout.height + 4
    used = [kind for kind in LOOKS if kind == PO or any(curve.edge.kind == kind for curve in layout.curves)]
    for kind in used if not view.timed else ():
        look = LOOKS[kind]
        dash = f' stroke-dasharray="{look.dash}"' if look.dash else ""
        yield f'<path d="M{x:.1f} {y - 4:.1f}h22" stroke="{look.light}" stroke-width="2"{dash}/>'
        yield f'<text class="dk-note" x="{x + 27:.1f}" y="{y:.1f}">{kind}</text>'
        x += 27 + len(kind) * LEGEND_CHARACTER + 16


def _notes(view: RunView, layout: Layout) -> Iterator[str]:
    room = max(30, int((max(layout.width, 360.0) - 2 * MARGIN) / 6.2))
    if view.initially:
        yield from wrap(f"Initially {values_text(view.initially)}", room)
    if view.finally_:
        yield from wrap(f"Finally {values_text(view.finally_)}", room)
    if view.why:
        yield from wrap(f"Highlighted: {view.why}", room)


def values_text(values: tuple[tuple[str, str], ...]) -> str:
    return "; ".join(f"{name}={value}" for name, value in values)


def path(points: tuple[Point, ...]) -> str:
    first, *others = (f"{x:.1f} {y:.1f}" for x, y in points)
    return f"M{first}" + "".join(f"C{' '.join(others[n : n + 3])}" for n in range(0, len(others), 3))


def arrow(points: tuple[Point, ...]) -> str:
    """Edges arrive horizontally."""
    (x, y), (before, _) = points[-1], points[-2]
    back = -ARROW if before < x else ARROW
    return f"M{x:.1f} {y:.1f}l{back:.1f} -3.5v7z"


def cut(text: str, room: float, character: float) -> str:
    most = int(room / character)
    return text if len(text) <= most else f"{text[: max(1, most - 1)]}…"


def _text(text: str) -> str:
    """XML has no place for most control characters."""
    return escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text), quote=False)


def _attribute(text: str) -> str:
    return escape(_text(text).replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"), quote=True)
