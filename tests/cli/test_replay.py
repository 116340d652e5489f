"""Fail, save, replay, compare: `--witness`, `--explain` and `dekker replay` as a person calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.calls import Outcome, dekker
from tests.cli.test_litmus import EXAMPLES, SB
from tests.corpus.expectations import OWN_CORPUS

from dekker.models import model_names

SB_SHOWN = r"""Execution of dekker-x86 under tso: satisfies (0:EAX=0 /\ 1:EAX=0)

  P0                                   P1
  a: W flag0=1    5| MOV [flag0],$1    c: W flag1=1    5| MOV [flag1],$1
  b: R flag1=0    6| MOV EAX,[flag1]   d: R flag0=0    6| MOV EAX,[flag0]

  rf  init(flag0) -> d, init(flag1) -> b
  co  init(flag0) -> a, init(flag1) -> c
  fr  b -> c, d -> a

  Final: 0:EAX=0; 1:EAX=0;
"""


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    file = tmp_path / "w.json"
    assert dekker("litmus", SB, "--witness", str(file)).status == 0
    return file


def test_saved_and_replayed(saved: Path) -> None:
    outcome = dekker("replay", str(saved))
    assert outcome.status == 0
    assert outcome.out == f"{SB_SHOWN}\n{saved} holds: tso allows this execution\n"
    assert dekker("replay", "-q", str(saved)).out == f"{saved} holds: tso allows this execution\n"


def test_explain_shows_the_execution_if_there_is_one() -> None:
    outcome = dekker("litmus", SB, "--explain")
    assert outcome.status == 0
    assert outcome.out.endswith(f"{SB_SHOWN}\n")


def test_another_model_forbids_it(saved: Path) -> None:
    outcome = dekker("replay", str(saved), "--model", "sc")
    assert outcome.status == 1
    assert "sc forbids this execution\nforbidden by axiom `sc`, a cycle:\n" in outcome.out
    assert "a (W flag0=1) -po-> b (R flag1=0) -fr-> c (W flag1=1) -po-> d (R flag0=0) -fr-> a" in outcome.out
    outcome = dekker("replay", str(saved), "--model", "pso")
    assert (outcome.status, outcome.out.splitlines()[-1]) == (0, "pso allows this execution")
    assert dekker("replay", str(saved), "--model", "frob").status == 2


def test_a_lie_is_named(saved: Path) -> None:
    saved.write_text(saved.read_text().replace('"final": [["0:EAX", "0"]', '"final": [["0:EAX", "1"]'))
    outcome = dekker("replay", str(saved))
    assert outcome.status == 1
    assert outcome.out.startswith(f"{saved} does not hold:\n- final: the witness says")


def test_the_program_in_the_witness_counts(saved: Path) -> None:
    content = json.loads(saved.read_text())
    content["program"]["text"] = content["program"]["text"].replace("MOV [flag0],$1", "MOV [flag0],$2")
    saved.write_text(json.dumps(content))
    outcome = dekker("replay", str(saved))
    assert outcome.status == 1
    assert "does a write of 4 bytes at flag0 (value 2)" in outcome.out


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"format": "dekker-witness", "version": 1}', "\x00"])
def test_files_that_are_no_witness(content: str, tmp_path: Path) -> None:
    file = tmp_path / "w.json"
    file.write_text(content)
    outcome = dekker("replay", str(file))
    assert outcome.status == 2
    assert outcome.out == ""
    assert f"'{file}'" in outcome.err
    assert dekker("replay", str(tmp_path / "nowhere.json")).status == 2


@settings(max_examples=150)
@given(start=st.integers(0, 4000), length=st.integers(0, 10), new=st.binary(max_size=3))
def test_damaged_files(tmp_path_factory: pytest.TempPathFactory, start: int, length: int, new: bytes) -> None:
    original = tmp_path_factory.getbasetemp() / "original.json"
    if not original.exists():
        dekker("litmus", SB, "--witness", str(original))
    content = original.read_bytes()
    damaged = tmp_path_factory.getbasetemp() / "damaged.json"
    damaged.write_bytes(content[:start] + new + content[start + length :])
    assert dekker("replay", str(damaged)).status in (0, 1, 2)


def test_a_folder_of_witnesses(tmp_path: Path) -> None:
    outcome = dekker("litmus", str(EXAMPLES), SB, "-q", "--witness", str(tmp_path / "found"), "--json", "-")
    records = [json.loads(line) for line in outcome.out.splitlines()]
    written = {record["witness"] for record in records if "witness" in record}
    assert written == {str(file) for file in (tmp_path / "found").iterdir()}
    assert str(tmp_path / "found" / "dekker-x86-2.json") in written
    for record in records:
        decided = record["observation"] == "Always" if record["condition"].startswith("forall") else False
        assert ("witness" in record) == (record["observation"] != "Never" or decided)
    for file in written:
        assert dekker("replay", file).status == 0


def test_no_witness_is_said(tmp_path: Path) -> None:
    file = tmp_path / "w.json"
    outcome = dekker("litmus", SB, "--model", "sc", "--witness", str(file))
    assert outcome.status == 1
    assert "dekker-x86: no execution decides the condition, so there is no witness" in outcome.err
    assert not file.exists()


def test_a_witness_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert dekker("litmus", SB, "--witness", str(tmp_path / "file" / "w.json")).status == 2


EXPLAINED = {
    "message-power-addr": "forbidden by axiom `observation`, a cycle:\n"
    "  e (R message=0) -fre-> a (W message=1) -prop: lwsync-> c (W flag=1) -rfe-> d (R flag=1)\n"
    "    -ppo: addr-> e\n",
    "dekker-x86-fenced": "-mfence-> ",
}


@pytest.mark.parametrize("name", EXPLAINED)
def test_forbidden_outcomes_are_explained(name: str) -> None:
    outcome = dekker("litmus", str(EXAMPLES / f"{name}.litmus"), "--explain")
    assert EXPLAINED[name] in outcome.out
    assert "1 candidate execution satisfies" in outcome.out


def test_values_that_cannot_be(tmp_path: Path) -> None:
    text = Path(SB).read_text(encoding="utf-8")
    test = tmp_path / "t.litmus"
    test.write_text(text.replace("1:EAX=0)", "1:EAX=7)"))
    outcome = dekker("litmus", str(test), "--explain")
    assert "No candidate execution satisfies (0:EAX=0 /\\ 1:EAX=7), whatever the model" in " ".join(outcome.out.split())


def test_thin_air_is_named(tmp_path: Path) -> None:
    test = tmp_path / "t.litmus"
    test.write_text(
        "PPC LB+datas\n{ 0:r2=x; 0:r4=y; 1:r2=y; 1:r4=x; }\n P0 | P1 ;\n lwz r1,0(r2) | lwz r1,0(r2) ;\n"
        " stw r1,0(r4) | stw r1,0(r4) ;\nexists (0:r1=1)\n"
    )
    assert "out of thin air" in " ".join(dekker("litmus", str(test), "--explain").out.split())


def test_the_names_of_the_users_model_are_used(tmp_path: Path) -> None:
    model = tmp_path / "mine.cat"
    model.write_text('"mine"\nlet kept-order = po\nacyclic kept-order | com as my-axiom\n')
    outcome = dekker("litmus", SB, "--model", str(model), "--explain")
    assert "forbidden by axiom `my-axiom`, a cycle:" in outcome.out
    witness = tmp_path / "w.json"
    model.write_text('"weak"\nacyclic po-loc | com as per-location\n')
    assert dekker("litmus", SB, "--model", str(model), "--witness", str(witness)).status == 0
    model.unlink()
    assert "mine allows this execution" in dekker("replay", str(witness)).out


def test_forall_is_about_its_violations(tmp_path: Path) -> None:
    test = tmp_path / "t.litmus"
    text = Path(SB).read_text(encoding="utf-8")
    test.write_text(text.replace("exists (0:EAX=0 /\\ 1:EAX=0)", "forall (0:EAX=1 \\/ 1:EAX=1)"))
    broken = dekker("litmus", str(test), "--explain")
    assert broken.status == 1
    assert r"under tso: violates (0:EAX=1 \/ 1:EAX=1)" in broken.out
    kept = dekker("litmus", str(test), "--explain", "--model", "sc")
    assert kept.status == 0
    assert "forbidden by axiom `sc`" in kept.out


def test_undefined_behaviour_has_a_witness(tmp_path: Path) -> None:
    race = str(OWN_CORPUS / "handwritten" / "C" / "race.litmus")
    outcome = dekker("litmus", race, "--explain", "--witness", str(tmp_path / "race.json"))
    assert outcome.status == 1
    assert "Flag: data-race" in outcome.out
    replayed = dekker("replay", str(tmp_path / "race.json"))
    assert (replayed.status, "Flag: data-race" in replayed.out) == (0, True)


def test_an_access_outside_of_all_objects(tmp_path: Path) -> None:
    test, file = tmp_path / "t.litmus", tmp_path / "w.json"
    test.write_text("PPC wild\n{ 0:r2=x; }\n P0 ;\n li r3,4000 ;\n lwzx r1,r2,r3 ;\nexists (0:r1=0)\n")
    outcome = dekker("litmus", str(test), "--explain", "--witness", str(file))
    assert outcome.status == 1
    assert "under power: wild pointer: " in outcome.out
    assert dekker("replay", str(file)).status == 0


SPIN = """PPC spin
{ 0:r2=x; 0:r4=y; 1:r2=y; 1:r4=x; }
 P0           | P1           ;
 li r1,1      | L:           ;
 stw r1,0(r2) | lwz r1,0(r2) ;
 lwsync       | cmpwi r1,1   ;
 stw r1,0(r4) | bne L        ;
              | lwz r3,0(r4) ;
exists (1:r3=0)
"""


@pytest.mark.parametrize("engine", ["axiomatic", "rsmc", "all"])
@pytest.mark.parametrize("options", [(), ("--unroll-waits",)], ids=("waits", "rounds"))
def test_loops_that_wait(engine: str, options: tuple[str, ...], tmp_path: Path) -> None:
    """However the engine saw the loop, the witness is about the program as it was written."""
    test, file = tmp_path / "spin.litmus", tmp_path / "w.json"
    test.write_text(SPIN)
    assert dekker("litmus", str(test), "--witness", str(file), "--engine", engine, *options).status == 0
    assert dekker("replay", str(file)).status == 0
    test.write_text(SPIN.replace("bne L        ;", "bne L        ;\n              | isync        ;"))
    outcome = dekker("litmus", str(test), "--explain", "--engine", engine, *options)
    assert "forbidden by axiom `observation`" in outcome.out


def test_every_test_of_the_corpus_has_a_witness_or_an_explanation(tmp_path: Path) -> None:
    """Fail, save, replay, the same."""
    files = sorted(OWN_CORPUS.rglob("*.litmus"))[::6]
    for number, file in enumerate(files):
        target = tmp_path / f"{number}.json"
        outcome = dekker("litmus", str(file), "--explain", "--witness", str(target))
        assert _is_explained(outcome, target), file
        if target.exists():
            assert dekker("replay", "-q", str(target)).status == 0
            for model in model_names():
                replayed = dekker("replay", str(target), "--model", model)
                assert replayed.status in (0, 1, 2), (file, model)
                assert (replayed.status == 1) == ("forbidden by axiom" in replayed.out)


def _is_explained(outcome: Outcome, witness: Path) -> bool:
    return "forbidden by axiom" in outcome.out or "No candidate execution" in outcome.out or witness.exists()


EXCHANGE_IN_A_CALLEE = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
atomic_int x = START;
int r;
static int f(int d) { int e = 0; if (atomic_compare_exchange_KIND(&x, &e, 1)) return 4; return 7; }
static void *t(void *a) { r = f(0); return 0; }
int main(void) { pthread_t p; pthread_create(&p, 0, t, 0); pthread_join(p, 0); assert(r != 7); }
"""


@pytest.mark.parametrize(("kind", "start"), [("strong", 5), ("weak", 0), ("weak", 5)])
@pytest.mark.parametrize(
    ("engine", "model"), [("rsmc", "sc"), ("rsmc", "power"), ("states", "tso"), ("axiomatic", "cpp20")]
)
def test_a_write_of_the_caller_is_no_half_of_an_exchange(
    tmp_path: Path, engine: str, model: str, kind: str, start: int
) -> None:
    """The write to `r` is as far from the start of its function as the exchange is from that of the other."""
    if (engine, kind, start) == ("states", "weak", 0):
        model = "sc"  # a locked instruction does not fail by chance
    file, witness = tmp_path / "program.c", tmp_path / "witness.json"
    file.write_text(EXCHANGE_IN_A_CALLEE.replace("KIND", kind).replace("START", str(start)))
    ran = dekker("check", str(file), "--engine", engine, "--model", model, "--witness", str(witness))
    assert ran.status == 1, ran.err
    assert dekker("replay", str(witness)).status == 0


def test_witnesses_call_functions_of_cpp_by_other_names(tmp_path: Path) -> None:
    text = EXCHANGE_IN_A_CALLEE.replace("START", "0").replace("atomic_int x", "int x").replace("static int f", "int f")
    text = text.replace("atomic_compare_exchange_KIND(&x, &e, 1)", "__sync_bool_compare_and_swap(&x, e, 1)")
    file, witness = tmp_path / "program.cpp", tmp_path / "witness.json"
    file.write_text(text.replace("#include <stdatomic.h>", "").replace("r != 7", "r != 4"))
    ran = dekker("check", str(file), "--witness", str(witness))
    assert ran.status == 1, ran.err
    assert dekker("replay", str(witness)).status == 0
