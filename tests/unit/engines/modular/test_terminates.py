"""Loops that end, and those that do not (section 5.4.2): the paper learns which is which and revisits the states that
asked; the engine decides it when it is asked."""

from __future__ import annotations

from random import Random

import pytest
from tests.reference import printed_rules
from tests.reference.lang_outcomes import by_candidates, by_engine, by_printed_rules
from tests.reference.printed_rules import SearchState, terminates
from tests.unit.engines.modular.lang_texts import OneThread, file_of

from dekker.engines.modular.capture import NOWHERE
from dekker.frontends.lang.syntax import LangFile, While
from dekker.fuzz.lang import Size, lang_program

Asked = tuple[While, SearchState]


class Learning:
    """Terminates*: what is not known to end is taken for a loop that does not, and remembered as asked."""

    def __init__(self) -> None:
        self.known: set[Asked] = set()
        self.asked: set[Asked] = set()

    def __call__(self, loop: While, state: SearchState) -> bool:
        self.asked.add((loop, state))
        return (loop, state) in self.known

    def learn(self) -> bool:
        """What was asked and is seen to end becomes known; false if there was nothing new."""
        new = {(loop, state) for loop, state in self.asked - self.known if terminates(loop, state)}
        self.known |= new
        return bool(new)


def by_learning(file: LangFile, monkeypatch: pytest.MonkeyPatch) -> list[set[tuple[int, ...]]]:
    """The outcomes of each search, with what the ones before it have learnt."""
    learning = Learning()
    found = []
    with monkeypatch.context() as patch:
        patch.setattr(printed_rules, "terminates", learning)
        while True:
            found.append(by_printed_rules(file))
            if not learning.learn():
                return found


WAITING = """
var x = 0; var y = 0;
process P { i := 1; write: x := i; while(i) { i := i - 1 } read: r := y }
process Q { i := 1; write: y := i; while(i) { i := i - 1 } read: r := x }
"""


def test_a_loop_has_to_be_known_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The write blocks the first round of the loop, so that rule 9 holds until the loop is in Terminates*: only then
    can the read behind the loop overtake the write."""
    file = file_of(WAITING)
    both_see_nothing = (0, 0, 0, 0, 1, 1)
    searches = by_learning(file, monkeypatch)
    assert len(searches) > 1
    assert both_see_nothing not in searches[0]
    assert both_see_nothing in searches[-1]
    assert searches[-1] == by_candidates(file, "tso") == by_engine(file, "tso")


def test_the_engine_knows_at_once() -> None:
    thread = OneThread(WAITING)
    assert thread.candidates() == ("TakeEffect x=1", "ReadMemory y")


def test_learning_ends_with_what_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    files = [lang_program(seed, Size(accesses=2, total=4)) for seed in range(70)]
    with_loops = [file for file in files if "While" in repr(file) and "Choose" not in repr(file)]
    assert len(with_loops) > 10
    for file in with_loops:
        assert by_learning(file, monkeypatch)[-1] == by_printed_rules(file), repr(file)


# --- Terminates is what section 6.3 says


def loop_of(seed: int) -> str:
    """A loop over two registers of few values, which often does not end, and may write or read on the way."""
    random = Random(seed)

    def step() -> str:
        register, other = random.sample(("r", "s"), 2)
        back = random.randint(0, 3)
        return random.choice(
            (
                f"if({register} = 3) {{ {register} := {back} }} else {{ {register} := {register} + 1 }}",
                f"{register} := {register} > 0",
                f"{register} := {other}",
                f"{register} := not({other})",
                f"if({other}) {{ {register} := {random.randint(0, 2)} }}",
                f"write: {random.choice('xy')} := {register}",
                f"if({register} = 2) {{ read: {other} := z }}",
            )
        )

    condition = random.choice(("r", "s", "r < 3", "r + s", "not(r = s)", "1"))
    return f"while({condition}) {{ {'; '.join(step() for _ in range(random.randint(1, 4)))} }}"


def is_decided_to_end(seed: int, first: int, second: int) -> tuple[bool, bool]:
    """By the definition, and by the engine."""
    loop = loop_of(seed)
    text = f"var x = 0; var y = 0; var z = 0; process P with r = {first}, s = {second} {{ {loop} read: last := z }}"
    statement = file_of(text).processes[0].body.statements[0]
    assert isinstance(statement, While)
    ends = terminates(statement, SearchState(registers=(("r", first), ("s", second))))
    thread = OneThread(text)
    local = thread.local
    capture = thread.machine.captures[0]
    return ends, local.position != NOWHERE and (local.position, local.registers) not in capture.endless


def test_loops_are_decided_as_defined() -> None:
    answers = set()
    for seed in range(120):
        for first, second in ((0, 1), (1, 0), (2, 1)):
            ends, decided = is_decided_to_end(seed, first, second)
            assert ends == decided, f"loop_of({seed}) with {first}, {second}: {loop_of(seed)}"
            answers.add(ends)
    assert answers == {True, False}
