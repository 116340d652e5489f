from __future__ import annotations

from itertools import product

import pytest

from dekker.errors import InputError
from dekker.generate import DIALECTS, enumerate_cycles, generate, parse_cycle
from dekker.generate.cycles import canonical, resolve
from dekker.generate.edges import spell


def spelt(architecture: str, text: str) -> str:
    vocabulary = DIALECTS[architecture].vocabulary
    return " ".join(spell(edge, vocabulary) for edge in resolve(parse_cycle(text), vocabulary))


def test_words_of_a_cycle() -> None:
    assert parse_cycle('"PodWW, [Rfe,DpAddrdR]\n Fre"') == ("PodWW", "Rfe", "DpAddrdR", "Fre")


def test_open_directions_come_from_the_neighbours() -> None:
    assert spelt("PPC", "Pod** Rfe Syncd** Fre") == "PodWW Rfe SyncdRR Fre"


def test_open_annotations_come_from_the_neighbours() -> None:
    assert spelt("AArch64", "PodWWPL Rfe PodRRAP Fre") == "PodWWPL RfeLA PodRRAP Fre"


@pytest.mark.parametrize(
    ("architecture", "cycle", "message"),
    [
        ("PPC", "", "the cycle is empty"),
        (
            "PPC",
            "PodWW Rfe PodWW Coe",
            "edges 'Rfe' and 'PodWW' do not compose: Rfe ends in a read, PodWW starts with a write",
        ),
        ("PPC", "PodWW Rfe PodRR Rfe", "edges 'PodRR' and 'Rfe' do not compose"),
        ("PPC", "PodRW Rfi PodRR", "edges 'PodRR' and 'PodRW' do not compose|has one thread only"),
        ("PPC", "PodWR Fre PosWW PodWW", "the cycle has one thread only"),
        ("PPC", "PodRW Rfi", "changes location once"),
        ("PPC", "PodWW Rfe PosRR Fre", "changes location once"),
        ("PPC", "Rfe Fre", "communications alone"),
        ("PPC", "Pod** Pos** Rfe PodRR Fre", "nothing says whether the access between 'Pod\\*\\*' and 'Pos\\*\\*'"),
        ("PPC", "PodWW RfLeave PodRR Fre", "Leave and Back edges do not match"),
        ("AArch64", "PodWWPL RfePA PodRRAP Fre", "kind 'L', RfePA starts with one of kind 'P'"),
        ("AArch64", "PodWRPQ LxSx Coe PodWW Coe", "'LxSx' cannot read as 'Q' and write as 'P'"),
        ("C", "PodWRRlxSc Amo.Swp Coe PodWW Coe", "'Amo.Swp' cannot read as 'Sc' and write as 'Rlx'"),
    ],
)
def test_what_is_wrong_with_a_cycle(architecture: str, cycle: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        generate(architecture, cycle)


def test_the_cycle_closes() -> None:
    with pytest.raises(InputError, match="'Coe' and 'PodRR'") as error:
        generate("PPC", "PodRR Fre PodWW Coe")
    assert "the last edge of a cycle is followed by the first" in str(error.value)


def test_an_unknown_architecture_lists_the_known() -> None:
    with pytest.raises(InputError, match="unknown architecture 'MIPS'") as error:
        generate("MIPS", "PodWW Rfe PodRR Fre")
    assert "AArch64" in str(error.value)


def test_enumeration_gives_every_valid_cycle_once() -> None:
    pool = ["Rfe", "Fre", "Coe", "Rfi", "PodRR", "PodWW", "PodRW", "PosRW", "FrLeave", "RfBack"]
    vocabulary = DIALECTS["PPC"].vocabulary
    expected = set()
    for size in range(1, 5):
        for words in product(pool, repeat=size):
            try:
                resolve(words, vocabulary)
            except InputError:
                continue
            expected.add(canonical(words))
    found = list(enumerate_cycles("PPC", pool, 4, redundant=True))
    assert len(found) == len(expected)
    assert {canonical(words) for words in found} == expected


def test_enumeration_of_a_range_of_sizes() -> None:
    assert [len(c) for c in enumerate_cycles("X86", ["PodWR", "Fre"], range(4, 9))] == [4, 6, 8]


def test_two_spellings_of_a_cycle_count_once() -> None:
    found = list(enumerate_cycles("AArch64", ["PodWR", "PodWRPP", "Fre"], 4))
    assert found == [("PodWR", "Fre", "PodWR", "Fre")]


def test_neighbours_that_amount_to_one_edge_are_redundant() -> None:
    pool = ["PodWW", "PodRR", "Rfe", "Fre", "Coe"]
    usual = set(enumerate_cycles("PPC", pool, 6))
    every = set(enumerate_cycles("PPC", pool, 6, redundant=True))
    assert usual < every
    assert all("Coe Coe" not in " ".join(words) for words in usual)
    assert any("PodRR PodRR" in " ".join(words) for words in every)
