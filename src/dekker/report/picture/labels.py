"""Labels of edges: each goes where it covers least. A part of the layout, and as such in `layout.js` as well."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from dekker.report.picture.view import Edge

if TYPE_CHECKING:
    from dekker.report.picture.layout import Box, Header, Layout, Point

LABEL_CHARACTER, LABEL_HEIGHT = 6.4, 14.0
SAMPLES = 16
FIRST_LABEL = 0.26
OVER_COLUMN = 8.0
MOST_COMPARED = 80
"""Edges; of more, labels only keep away from nodes and from one another."""


def label_of(edge: Edge) -> str:
    """The text at an edge."""
    return f"{edge.label}, not kept" if edge.loose else edge.label


def place_labels(layout: Layout) -> None:
    """Each edge's label goes where it covers least of nodes, of other labels, and of other edges."""
    samples = [list(_samples(curve.points)) for curve in layout.curves]
    compared = samples if len(samples) <= MOST_COMPARED else []
    placed: list[tuple[float, float, float]] = []
    for number, curve in enumerate(layout.curves):
        half = (len(label_of(curve.edge)) * LABEL_CHARACTER + 4) / 2
        best, least = curve.label, float("inf")
        for preference, point in enumerate(_candidates(samples[number])):
            cost = preference * 0.4 + OVER_COLUMN * any(_over(point, header) for header in layout.headers)
            cost += 40 * sum(_overlap(point, half, *other) for other in placed)
            cost += 25 * sum(_on_box(point, half, box) for box in layout.boxes)
            for other, line in enumerate(compared):
                if other != number:
                    cost += sum(_covers(point, half, at) for at in line)
            if cost < least:
                best, least = point, cost
        placed.append((*best, half))
        layout.curves[number] = replace(curve, label=best)


def _samples(points: tuple[Point, ...]) -> Iterator[Point]:
    for start in range(0, len(points) - 1, 3):
        (ax, ay), (bx, by), (cx, cy), (dx, dy) = points[start : start + 4]
        for step in range(SAMPLES + 1):
            t = step / SAMPLES
            u = 1 - t
            p, q, r, s = u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t
            yield p * ax + q * bx + r * cx + s * dx, p * ay + q * by + r * cy + s * dy


def _candidates(samples: list[Point]) -> list[Point]:
    """From a place near the source on, where edges that cross are still apart."""
    first = int(len(samples) * FIRST_LABEL)
    order = [first]
    for away in range(1, len(samples)):
        order += [first + away, first - away]
    return [samples[number] for number in order if 1 < number < len(samples) - 2]


def _over(point: Point, header: Header) -> bool:
    return header.x <= point[0] <= header.x + header.width


def _overlap(point: Point, half: float, x: float, y: float, other: float) -> bool:
    return abs(point[0] - x) < half + other and abs(point[1] - y) < LABEL_HEIGHT


def _on_box(point: Point, half: float, box: Box) -> bool:
    beside = point[0] + half < box.x or point[0] - half > box.x + box.width
    apart = point[1] + LABEL_HEIGHT / 2 < box.y or point[1] - LABEL_HEIGHT / 2 > box.bottom
    return not beside and not apart


def _covers(point: Point, half: float, at: Point) -> bool:
    return abs(point[0] - at[0]) < half and abs(point[1] - at[1]) < LABEL_HEIGHT / 2
