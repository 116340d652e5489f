"""One execution as a picture: SVG and DOT."""

from __future__ import annotations

from collections.abc import Sequence

from dekker.cat.reasons import Reason
from dekker.report.counterexample import OutOfOrder
from dekker.report.picture.causes import forbidding, out_of_order, shortest
from dekker.report.picture.dot import dot_text
from dekker.report.picture.of_witness import run_view
from dekker.report.picture.svg import svg_text
from dekker.report.picture.view import RunView
from dekker.witness import Witness

__all__ = ["dot_of", "dot_text", "picture_of", "svg_of", "svg_text"]


def picture_of(witness: Witness, order: OutOfOrder | None = None, reasons: Sequence[Reason] = ()) -> RunView:
    """What is drawn of a witness. Highlighted is the cycle for which a model forbids it (`reasons`), or the one because
    of which it is no interleaving: that in `order`, which also says what is not kept, else a shortest one."""
    cause = forbidding(reasons) or out_of_order(order, witness.model.name) or shortest(witness)
    return run_view(witness, cause)


def svg_of(witness: Witness, order: OutOfOrder | None = None, reasons: Sequence[Reason] = ()) -> str:
    return svg_text(picture_of(witness, order, reasons))


def dot_of(witness: Witness, order: OutOfOrder | None = None, reasons: Sequence[Reason] = ()) -> str:
    return dot_text(picture_of(witness, order, reasons))
