"""`dekker explain`: sentences about runs, each of which is asked of the model."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.calls import dekker

import dekker as api
from dekker.execution import Execution
from dekker.ir.fences import FENCES
from dekker.models import load_model
from dekker.replay import judge, replay
from dekker.replay.remedies import remedies
from dekker.replay.reordering import reordering, with_fences
from dekker.run.witnesses import witnessed_program

EXAMPLES = Path(__file__).parents[2] / "examples"
SB = str(EXAMPLES / "litmus" / "dekker-x86.litmus")
PETERSON = str(EXAMPLES / "c" / "table1" / "peterson.c")

IRIW = """PPC IRIW+addrs
{ 0:r2=x; 1:r2=y; 2:r2=x; 2:r4=y; 3:r2=y; 3:r4=x; 0:r1=1; 1:r1=1; }
 P0           | P1           | P2            | P3            ;
 stw r1,0(r2) | stw r1,0(r2) | lwz r1,0(r2)  | lwz r1,0(r2)  ;
              |              | xor r3,r1,r1  | xor r3,r1,r1  ;
              |              | lwzx r5,r3,r4 | lwzx r5,r3,r4 ;
exists (2:r1=1 /\\ 2:r5=0 /\\ 3:r1=1 /\\ 3:r5=0)
"""
IMPOSSIBLE_VALUE = """X86 impossible
{ x=0; }
 P0           ;
 MOV EAX,[x]  ;
exists (0:EAX=7)
"""


def explained(*arguments: str) -> str:
    outcome = dekker("explain", *arguments)
    assert outcome.status == 0, outcome.err
    return " ".join(outcome.out.split())


def written(folder: Path, text: str, name: str) -> str:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_a_litmus_test() -> None:
    text = explained(SB)
    assert "Under tso, (0:EAX=0 /\\ 1:EAX=0) is possible" in text
    assert "under sc it is impossible (3 complete executions)" in text
    reordered = "the read of flag1 = 0 (line 6) takes effect before the write of flag0 = 1 (line 5)"
    assert f"P0: {reordered}, which comes first in the program" in text
    assert "P0's read of flag1 = 0 (line 6) does not see P1's write of flag1 = 1 (line 5) yet" in text
    assert "What would forbid this run under tso (all of them together)" in text
    assert text.count("`mfence` between") == 2


def test_a_c_program_by_lines() -> None:
    text = explained(PETERSON, "--model", "tso")
    assert "peterson.c:34:3” is possible" in text
    pair = "between the write of turn = 0 (line 18) and the read of wants[0] = 0 (line 20)"
    assert f"thread 2: `mfence` {pair}" in text


def test_the_advice_of_a_c_program_is_good() -> None:
    """With the fence in this place the violation is gone."""
    assert dekker("explain", PETERSON, "--model", "tso", "--", "-DFENCED").out.startswith(
        "Under tso, a violation is impos"
    )


def test_an_rsmc_program() -> None:
    text = explained(str(EXAMPLES / "rsmc" / "load-buffering.rsmc"), "--model", "power")
    assert "the write of x = 1 (line 12) takes effect before the read of y = 2 (line 11)" in text
    assert "instead, an address dependency or a data dependency or a control dependency" in text


def test_dependencies_and_control_fences() -> None:
    text = explained(str(EXAMPLES / "litmus" / "message-power.litmus"))
    assert "`lwsync` between the read of flag = 1 (line 8) and the read of message = 0 (line 9)" in text
    assert "an address dependency or a control dependency with isync behind the branch" in text
    assert "a control dependency from" not in text  # alone it does not order two reads
    assert "isb behind the branch" in explained(str(EXAMPLES / "litmus" / "observers-aarch64.litmus"))


def test_writes_that_are_seen_at_different_times(tmp_path: Path) -> None:
    text = explained(written(tmp_path, IRIW, "iriw.litmus"))
    assert "in this order (an address dependency sees to that), but power does not make" in text
    assert "`sync` between" in text


def test_what_is_impossible() -> None:
    text = explained(str(EXAMPLES / "litmus" / "coherence-arm.litmus"))
    plain = explained(SB, "--model", "sc")
    assert "is impossible (3 complete executions). 1 candidate execution has it; none is allowed." in plain
    assert "So each of them would have to come before itself." in plain
    assert "impossible" in text


def test_a_violation_under_sc(tmp_path: Path) -> None:
    race = "#include <assert.h>\n#include <pthread.h>\nvolatile int x;\nvoid *w(void *u) { x = 1; return 0; }\n"
    race += "int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); assert(x == 0); pthread_join(t, 0); }\n"
    text = explained(written(tmp_path, race, "race.c"), "--model", "tso")
    assert "and so it is under sc" in text
    assert "no access has to take effect out of order for it" in text
    assert "does not keep in order" not in text


def test_a_data_race_is_no_matter_of_order(tmp_path: Path) -> None:
    race = "#include <pthread.h>\nint x;\nvoid *w(void *u) { x = 1; return 0; }\n"
    race += "int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); x = 2; pthread_join(t, 0); }\n"
    text = explained(written(tmp_path, race, "race.c"))
    assert "cpp20 calls this wrong by a flag" in text
    assert "The run itself is one under sc" in text
    assert "under sc it is" not in text


def test_a_safe_program_and_the_model_that_breaks_it() -> None:
    text = explained(PETERSON, "--model", "sc")
    assert "is impossible (4 complete executions); under tso it is possible" in text
    assert "sc forbids this by its axiom `sc`" in text


def test_a_program_that_no_model_breaks(tmp_path: Path) -> None:
    text = explained(written(tmp_path, "int main(void) { return 0; }\n", "empty.c"), "--model", "sc")
    assert "it is not the memory model that keeps the property" in text


def test_values_that_nothing_writes(tmp_path: Path) -> None:
    text = explained(written(tmp_path, IMPOSSIBLE_VALUE, "impossible.litmus"))
    assert "gives these values, whatever the model" in text


def test_two_models() -> None:
    text = explained(SB, "--model", "tso", "--versus", "sc")
    assert "Under tso and not under sc: 1 0:EAX=0; 1:EAX=0;" in text
    assert "All final states of sc are of tso, too." in text
    other_way = explained(SB, "--model", "sc", "--versus", "tso")
    assert "Under tso and not under sc: 1" in other_way
    power = explained(str(EXAMPLES / "litmus" / "message-power.litmus"), "--versus", "tso")
    assert "because of the rule `ppo`" in power


def test_two_models_that_agree_and_violations() -> None:
    fenced = str(EXAMPLES / "litmus" / "dekker-x86-fenced.litmus")
    assert "have the same final states (3)" in explained(fenced, "--versus", "sc")
    text = explained(PETERSON, "--model", "tso", "--versus", "sc")
    assert "Under tso and not under sc: 1 assertion: " in text
    assert text.endswith("sc has no violations.")


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        ((SB, "--model", "no-such-model"), 2, "no-such-model"),
        ((SB, "--model", "tso", "--versus", "tso"), 2, "the same model"),
        (("no-such-file.c",), 2, "no-such-file"),
        ((PETERSON, "--model", "sc", "--max-traces", "1"), 3, ""),
    ],
)
def test_what_cannot_be_explained(arguments: tuple[str, ...], status: int, says: str) -> None:
    outcome = dekker("explain", *arguments)
    assert outcome.status == status
    assert says in outcome.err


def test_the_api_explains() -> None:
    assert "`mfence` between" in api.check(PETERSON, "tso").explain()
    assert "differ here" in api.check(PETERSON, "tso").explain(versus="sc")


def execution_of(test: str, model: str) -> Execution:
    witness = api.litmus(test, model, explain=True).witness
    assert witness is not None
    return replay(witnessed_program(witness), witness.trace()).execution


@pytest.mark.parametrize(
    ("file", "name", "kinds"),
    [
        ("dekker-x86.litmus", "tso", ("mfence",)),
        ("message-power.litmus", "power", ("lwsync", "sync")),
        ("observers-aarch64.litmus", "aarch64", ("dmb.ishld", "dmb.ishst", "dmb.ish")),
        ("load-buffering-riscv.litmus", "riscv", ("fence.r.rw", "fence.rw.w", "fence.rw.rw")),
    ],
)
def test_remedies_forbid_and_none_is_too_many(file: str, name: str, kinds: tuple[str, ...]) -> None:
    model, execution = load_model(name), execution_of(str(EXAMPLES / "litmus" / file), name)
    found = reordering(model, execution)
    assert found is not None
    advice = remedies(model, execution, found.pairs, kinds)
    assert advice

    def allowed(skipped: int | None = None, weaker: bool = False) -> bool:
        changed = execution
        for number, item in enumerate(advice):
            smaller = [kind for kind in kinds if FENCES[kind].orders < FENCES[item.fence].orders]
            kind = item.fence if number != skipped else max(smaller, key=lambda k: len(FENCES[k].orders), default="")
            if number == skipped and not weaker:
                kind = ""
            if kind:
                changed = with_fences(changed, [item.pair], (kind,))
        return judge(model, changed).allowed

    assert not allowed()
    for number in range(len(advice)):
        assert allowed(number)
        assert allowed(number, weaker=True)


BARRIER = """#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#define RELAXED memory_order_relaxed
atomic_int data, flag, v, z;
pthread_t t[3];
void *writer(void *a) {
  atomic_store_explicit(&z, 1, RELAXED);
  atomic_store_explicit(&v, 1, RELAXED);
  atomic_store_explicit(&data, 1, RELAXED);
  atomic_store_explicit(&flag, 1, RELAXED);
  return 0;
}
void *other(void *a) {
  while (!atomic_load_explicit(&v, RELAXED));
  while (!atomic_load_explicit(&z, RELAXED));
  return 0;
}
void *reader(void *a) {
  while (!atomic_load_explicit(&flag, memory_order_acquire));
  assert(atomic_load_explicit(&data, RELAXED));
  return 0;
}
int main(void) {
  pthread_create(&t[0], 0, other, 0);
  pthread_create(&t[1], 0, writer, 0);
  pthread_create(&t[2], 0, reader, 0);
  return 0;
}
"""


@pytest.mark.parametrize("model", ["pso", "power", "aarch64", "rc11"])
def test_a_wait_that_never_ends_does_not_explain_what_goes_wrong_elsewhere(tmp_path: Path, model: str) -> None:
    file = tmp_path / "barrier.c"
    file.write_text(BARRIER, encoding="utf-8")
    out = dekker("check", str(file), "-m", model).out
    assert "writes data (line 10), and then" in out
    assert "writes flag (line 11)" in out
    assert "writes z (line 8), and then" not in out


TWO_MESSAGES = r"""PPC two
{ 0:r2=x; 0:r4=y; 1:r2=x; 1:r4=y; 2:r2=a; 2:r4=b; 3:r2=a; 3:r4=b; }
 P0 | P1 | P2 | P3 ;
 li r1,1 | lwz r1,0(r4) | li r1,1 | lwz r1,0(r4) ;
 stw r1,0(r2) | lwz r3,0(r2) | stw r1,0(r2) | lwz r3,0(r2) ;
 stw r1,0(r4) |  | stw r1,0(r4) |  ;
exists (1:r1=1 /\ 1:r3=0 /\ 3:r1=1 /\ 3:r3=0)
"""


@pytest.mark.parametrize(("beside", "expected"), [({0, 1}, {2, 3}), ({2, 3}, {0, 1}), ({0, 1, 2, 3}, None)])
def test_what_is_beside_the_point_is_avoided(beside: set[int], expected: set[int] | None) -> None:
    witness = api.litmus(TWO_MESSAGES, "power", language="litmus", explain=True).witness
    assert witness is not None
    program = witnessed_program(witness)
    execution = replay(program, witness.trace()).execution
    avoided = frozenset(n for n, event in enumerate(execution.events) if event.thread in beside)
    found = reordering(load_model("power"), execution, avoided)
    assert found is not None
    threads = {execution.events[n].thread for first, _, second in found.cycle for n in (first, second)}
    assert expected is None or threads == expected
