"""Cheapest choices: 0/1 programs, solved by HiGHS. The only importer of highspy."""

from __future__ import annotations

from collections.abc import Collection, Sequence

SECONDS = 20.0


def cheapest_cover(
    costs: Sequence[float], demands: Collection[Collection[int]], exclusive: Collection[Collection[int]] = ()
) -> frozenset[int]:
    """Items, by number, of least total cost with at least one of each demand, which must not be empty, and at most one
    of each exclusive set. If time is short the best cover that was found, or else all items of demands."""
    wanted = sorted({tuple(sorted(set(demand))) for demand in demands})
    forced = frozenset(demand[0] for demand in wanted if len(demand) == 1)
    left = [demand for demand in wanted if forced.isdisjoint(demand)]
    if not left:
        return forced
    if len(left) == 1 and not exclusive:
        return forced | {min(left[0], key=lambda item: costs[item])}
    return _solved(costs, wanted, exclusive)


def _solved(
    costs: Sequence[float], wanted: Sequence[Sequence[int]], exclusive: Collection[Collection[int]]
) -> frozenset[int]:
    import highspy  # noqa: PLC0415 — with numpy it takes longer to load than most programs to solve
    import numpy  # noqa: PLC0415

    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("time_limit", SECONDS)
    solver.setOptionValue("threads", 1)
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
    solver.run()
    chosen = frozenset(index for index, value in enumerate(solver.getSolution().col_value) if value > 0.5)
    covers = all(any(item in chosen for item in demand) for demand in wanted)
    return chosen if covers else frozenset(item for demand in wanted for item in demand)
