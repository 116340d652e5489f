"""Examples 5, 6 and 7 and Fig. 14 of the paper: by the printed rules, step by step as in the text, and by capture."""

from __future__ import annotations

from tests.reference.lang_outcomes import by_candidates, by_engine, by_printed_rules
from tests.reference.printed_rules import SearchState, addable, addable_early, candidates, passed, search
from tests.unit.engines.modular.lang_texts import OneThread, block, check, file_of

from dekker.frontends.lang.syntax import Assign, Block, Num, Read, Statement, Variable
from dekker.result import Verdict

DEKKER = """
var flag[0..1] = 0;
process P { r0 := 1; write: flag[0] := r0; read: r1 := flag[1] }
process Q { r0 := 1; write: flag[1] := r0; read: r1 := flag[0] }
"""


def removed(code: Block, registers: dict[str, int], place: int) -> tuple[Statement, Block]:
    """The candidate with this number, and the code that is left."""
    candidate, rest = candidates(code, registers)[place]
    assert isinstance(rest, Block)
    return candidate, rest


class TestExample5:
    def test_printed(self) -> None:
        file = file_of(DEKKER)
        code = file.processes[0].body
        assignment, write, read = code.statements
        start = {"r0": 0, "r1": 0}
        assert [item for item, _ in candidates(code, start)] == [assignment, read]
        _, after_assignment = removed(code, start, 0)
        assert after_assignment.statements == (write, read)
        assert [item for item, _ in candidates(after_assignment, {"r0": 1, "r1": 0})] == [write, read]
        _, after_read = removed(after_assignment, {"r0": 1, "r1": 0}, 1)
        assert after_read.statements == (write,)
        _, after_write = removed(after_read, {"r0": 1, "r1": 0}, 0)
        assert after_write.statements == ()

    def test_captured(self) -> None:
        """The assignment is no step of its own: it is executed when it is passed."""
        thread = OneThread(DEKKER + "forbidden final P:r0 = 2 && P:r1 = 2;")
        assert (thread.passed(), thread.candidates()) == (
            ("flag[0]=1",),
            ("TakeEffect flag[0]=1", "ReadMemory flag[1]"),
        )
        thread.take("ReadMemory flag[1]")
        assert (thread.register("r0"), thread.register("r1")) == (1, 0)
        assert thread.candidates() == ("TakeEffect flag[0]=1",)
        thread.take("TakeEffect flag[0]=1")
        assert thread.candidates() == ()
        assert thread.machine.has_ended(thread.thread)
        assert thread.memory_value("flag[0]") == 1

    def test_the_forbidden_state_is_reached(self) -> None:
        text = DEKKER + "forbidden final P:r1 = 0 && Q:r1 = 0;"
        assert check(text).verdict is Verdict.UNSAFE
        assert check(text, "sc").verdict is Verdict.SAFE


OWN_WRITES = """
var x = 0; var y = 0;
process P0 { r4 := 1; write: x := r4; read: r0 := x; read: r1 := y }
process P1 { r5 := 1; write: y := r5; read: r2 := y; read: r3 := x }
"""


USED_BY_WRITE: frozenset[str | tuple[str, int]] = frozenset(("r4", ("x", 0)))


class TestExample6:
    def test_printed_step_by_step(self) -> None:
        code = file_of(OWN_WRITES).processes[0].body
        assignment, write, own_read, other_read = code.statements
        state = SearchState(registers=(("r0", 0), ("r1", 0), ("r4", 0)))

        assert addable(assignment, state)
        state = passed(assignment, state)
        assert (state.used, state.value("r4"), state.flags) == (frozenset(("r4",)), 1, frozenset())

        assert not addable(write, state)
        state = passed(write, state)
        assert (state.used, state.known(("x", 0)), state.flags) == (USED_BY_WRITE, 1, frozenset(("write",)))

        assert not addable(own_read, state)
        assert addable_early(own_read, state)
        state = passed(own_read, state)
        assert (state.value("r0"), state.flags) == (None, frozenset(("write", "read")))
        assert state.used == {"r4", "r0", ("x", 0)}

        assert not addable(other_read, state)
        assert not addable_early(other_read, state)
        state = passed(other_read, state)
        assert (state.value("r1"), state.flags) == (None, frozenset(("write", "read")))
        assert state.used == {"r4", "r0", "r1", ("x", 0), ("y", 0)}

    def test_printed(self) -> None:
        code = file_of(OWN_WRITES).processes[0].body
        start = {"r0": 0, "r1": 0, "r4": 0}
        assert [item for item, _ in candidates(code, start)] == [code.statements[0], Assign("r0", Num(1))]
        assert search(code, start).count == 2

    def test_captured(self) -> None:
        thread = OneThread(OWN_WRITES)
        assert thread.candidates() == ("TakeEffect x=1", "ReadOwn x=1")
        thread.take("ReadOwn x=1")
        assert thread.candidates() == ("TakeEffect x=1", "ReadMemory y")

    def test_ibm370_waits(self) -> None:
        thread = OneThread(OWN_WRITES, "ibm370")
        assert thread.candidates() == ("TakeEffect x=1",)
        text = OWN_WRITES + "forbidden final P0:r1 = 0 && P1:r3 = 0;"
        verdicts = [check(text, model).verdict for model in ("sc", "ibm370", "tso", "pso")]
        assert verdicts == [Verdict.SAFE, Verdict.SAFE, Verdict.UNSAFE, Verdict.UNSAFE]


LOOP = "{ r0 := 3; while(r0) { read: r1 := x; write: y := r1; r0 := r0 - 1 } }"


class TestExample7:
    def test_printed(self) -> None:
        code = block(LOOP)
        found = candidates(code, {"r0": 0, "r1": 0})
        first, loop = code.statements
        (rest,) = [left for item, left in found if item == Read("r1", Variable("x"))]
        expected = block(
            "{ r0 := 3; write: y := r1; r0 := r0 - 1;  while(r0) { read: r1 := x; write: y := r1; r0 := r0 - 1 } }"
        )
        assert rest == expected
        assert first in [item for item, _ in found]
        assert loop == expected.statements[-1]

    def test_captured(self) -> None:
        """The loop is entered, and its second round waits behind the write that the first one passed."""
        thread = OneThread(f"var x = 7; var y = 0; process P {LOOP}")
        assert thread.candidates() == ("ReadMemory x",)
        assert thread.register("r0") == 3
        thread.take("ReadMemory x")
        assert (thread.register("r0"), thread.passed()) == (2, ("y=7",))
        assert thread.candidates() == ("TakeEffect y=7", "ReadMemory x")
        thread.take("ReadMemory x")
        thread.take("ReadMemory x")
        assert (thread.passed(), thread.candidates()) == (("y=7",) * 3, ("TakeEffect y=7",))


LEFT = "{ r0 := 1; write: x := r0; read: r1 := y }"
RIGHT = "{ r0 := 1; write: x := r0; read: r0 := y }"


class TestFig14:
    def test_printed(self) -> None:
        """The right one is the known error of the paper: the read is not found."""
        start = {"r0": 0, "r1": 0}
        assert [item for item, _ in candidates(block(LEFT), start)] == [Assign("r0", Num(1)), Read("r1", Variable("y"))]
        assert [item for item, _ in candidates(block(RIGHT), start)] == [Assign("r0", Num(1))]

    def test_captured(self) -> None:
        for code in (LEFT, RIGHT):
            thread = OneThread(f"var x = 0; var y = 0; process P {code}")
            assert thread.candidates() == ("TakeEffect x=1", "ReadMemory y")
            thread.take("ReadMemory y")
            thread.take("TakeEffect x=1")
            assert (thread.memory_value("x"), thread.machine.has_ended(thread.thread)) == (1, True)

    def test_outcomes(self) -> None:
        file = file_of(
            "var x = 0; var y = 0;"
            "process P { r0 := 1; write: x := r0; read: r0 := y }"
            "process Q { r0 := 1; write: y := r0; read: r0 := x }"
        )
        both_see_nothing = (0, 0, 1, 1)
        assert both_see_nothing in by_candidates(file, "tso")
        assert both_see_nothing not in by_printed_rules(file)
        assert by_candidates(file, "tso") == by_engine(file, "tso")
