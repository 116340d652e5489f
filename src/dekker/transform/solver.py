"""Cheapest choices: 0/1 programs, solved by HiGHS. The only importer of highspy."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import highspy
import numpy

SECONDS = 20.0


def cheapest_cover(costs: Sequence[float], demands: Collection[Collection[int]]) -> frozenset[int]:
    """Items, by number, of least total cost with at least one of each demand. A demand must not be empty. If time is
    short the best cover that was found, or else all items."""
    wanted = sorted({tuple(sorted(set(demand))) for demand in demands})
    if not wanted:
        return frozenset()
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
    solver.run()
    chosen = frozenset(index for index, value in enumerate(solver.getSolution().col_value) if value > 0.5)
    covers = all(any(item in chosen for item in demand) for demand in wanted)
    return chosen if covers else frozenset(item for demand in wanted for item in demand)
