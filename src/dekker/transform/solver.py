"""Cheapest choices: 0/1 programs, solved by HiGHS. The only importer of highspy."""

from __future__ import annotations

from collections.abc import Collection, Sequence

SECONDS = 20.0
_ROUNDING = 1e-12


def cheapest_cover(
    costs: Sequence[float],
    demands: Collection[Collection[int]],
    exclusive: Collection[Collection[int]] = (),
    ties: Sequence[float] | None = None,
) -> frozenset[int]:
    """Items, by number, of least total cost with at least one of each demand, which must not be empty, and at most one
    of each exclusive set. If time is short the best cover that was found, or else all items of demands. Of covers that
    cost the same, one with the least total of `ties`."""
    wanted = sorted({tuple(sorted(set(demand))) for demand in demands})
    forced = frozenset(demand[0] for demand in wanted if len(demand) == 1)
    left = [demand for demand in wanted if forced.isdisjoint(demand)]
    if not left:
        return forced
    if len(left) == 1 and not exclusive and ties is None:
        return forced | {min(left[0], key=lambda item: costs[item])}
    if ties is None:
        return _solved(costs, wanted, exclusive)
    cheapest = _solved(costs, wanted, exclusive, exact=True)
    least = sum(costs[item] for item in cheapest)
    nicest = _solved(ties, wanted, exclusive, most=(costs, least))
    return nicest if sum(costs[item] for item in nicest) <= least * (1 + _ROUNDING) else cheapest


def cheapest_choice(costs: Sequence[float], demands: Collection[Collection[frozenset[int]]]) -> frozenset[int]:
    """Items, by number, of least total cost that contain one of the sets of each demand."""
    wanted = {frozenset(_smallest(demand)) for demand in demands}
    forced = frozenset(item for demand in wanted if len(demand) == 1 for item in next(iter(demand)))
    left = [sorted(demand, key=sorted) for demand in wanted if not any(ways <= forced for ways in demand)]
    if not left:
        return forced
    ways = sorted({way for demand in left for way in demand}, key=sorted)
    number = {way: len(costs) + index for index, way in enumerate(ways)}
    rows = [[number[way] for way in demand] for demand in sorted(left, key=lambda it: [sorted(way) for way in it])]
    needs = [(number[way], item) for way in ways for item in sorted(way - forced)]
    prices = [0.0 if item in forced else cost for item, cost in enumerate(costs)] + [0.0] * len(ways)
    chosen = _solved(prices, rows, (), needs)
    items = frozenset(item for way in ways if number[way] in chosen for item in way)
    return forced | items


def _smallest(ways: Collection[frozenset[int]]) -> list[frozenset[int]]:
    """Without those that contain others."""
    return [way for way in ways if not any(other < way for other in ways)]


def _solved(
    costs: Sequence[float],
    wanted: Sequence[Sequence[int]],
    exclusive: Collection[Collection[int]],
    needs: Collection[tuple[int, int]] = (),
    most: tuple[Sequence[float], float] | None = None,
    exact: bool = False,
) -> frozenset[int]:
    """`needs` are pairs of items: the first is only chosen with the second. `most`: other costs, and the most that they
    may be together. Unless it has to be exact, one in ten thousand may be given away."""
    import highspy  # noqa: PLC0415 — with numpy it takes longer to load than most programs to solve
    import numpy  # noqa: PLC0415

    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("time_limit", SECONDS)
    solver.setOptionValue("threads", 1)
    if exact:
        solver.setOptionValue("mip_rel_gap", 0.0)
    count = len(costs)
    indices = numpy.arange(count, dtype=numpy.int32)
    solver.addVars(count, numpy.zeros(count), numpy.ones(count))
    solver.changeColsCost(count, indices, numpy.asarray(costs, dtype=numpy.double))
    solver.changeColsIntegrality(count, indices, numpy.array([highspy.HighsVarType.kInteger] * count))
    for demand in wanted:
        columns = numpy.asarray(demand, dtype=numpy.int32)
        solver.addRow(1.0, highspy.kHighsInf, len(demand), columns, numpy.ones(len(demand)))
    for items in exclusive:
        columns = numpy.asarray(sorted(items), dtype=numpy.int32)
        solver.addRow(-highspy.kHighsInf, 1.0, len(items), columns, numpy.ones(len(items)))
    for item, needed in needs:
        columns = numpy.asarray((needed, item), dtype=numpy.int32)
        solver.addRow(0.0, highspy.kHighsInf, 2, columns, numpy.asarray((1.0, -1.0)))
    if most is not None:
        others, limit = numpy.asarray(most[0], dtype=numpy.double), most[1] or 1.0
        solver.addRow(-highspy.kHighsInf, 1 + _ROUNDING, count, indices, others / limit)
    solver.run()
    chosen = frozenset(index for index, value in enumerate(solver.getSolution().col_value) if value > 0.5)
    covers = all(any(item in chosen for item in demand) for demand in wanted)
    return chosen if covers else frozenset(item for demand in wanted for item in demand)
