from __future__ import annotations

import pytest

from dekker.errors import InputError
from dekker.generate import ARCHITECTURES, DIALECTS, annotation_names, edge_names
from dekker.generate.edges import parse_edge, spell


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_edge_is_read_back_as_it_is_spelt(architecture: str) -> None:
    vocabulary = DIALECTS[architecture].vocabulary
    for name in edge_names(architecture):
        (edge,) = parse_edge(name, vocabulary)
        assert spell(edge, vocabulary) == name


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_annotated_edges_are_read_back_as_they_are_spelt(architecture: str) -> None:
    vocabulary = DIALECTS[architecture].vocabulary
    annotations = annotation_names(architecture)
    for name, edge in vocabulary.edges.items():
        for first, second in vocabulary.annotation_pairs.values():
            if edge.source not in annotations[first] or edge.target not in annotations[second]:
                continue
            (read,) = parse_edge(name + first + second, vocabulary)
            assert (read.name, read.source_annotation, read.target_annotation) == (name, first, second)


@pytest.mark.parametrize(
    ("architecture", "synonym", "usual"),
    [
        ("PPC", "Wse", "Coe"),
        ("PPC", "Wsi", "Coi"),
        ("PPC", "WsLeave", "CoLeave"),
        ("PPC", "DpCtrlISyncdR", "DpCtrlIsyncdR"),
        ("AArch64", "WsePL", "CoePL"),
        ("AArch64", "RmwAL", "LxSxAL"),
        ("X86", "Amo.Swp", "Rmw"),
    ],
)
def test_synonyms(architecture: str, synonym: str, usual: str) -> None:
    vocabulary = DIALECTS[architecture].vocabulary
    assert parse_edge(synonym, vocabulary) == parse_edge(usual, vocabulary)


def test_a_detour_is_a_leave_and_a_back() -> None:
    vocabulary = DIALECTS["PPC"].vocabulary
    assert [edge.name for edge in parse_edge("DetourWW", vocabulary)] == ["CoLeave", "CoBack"]


def test_an_unknown_edge_lists_close_ones() -> None:
    with pytest.raises(InputError, match="unknown edge 'SyncdWX' for PPC") as error:
        parse_edge("SyncdWX", DIALECTS["PPC"].vocabulary)
    assert "SyncdWW" in str(error.value)


def test_an_edge_like_no_other_gets_an_overview() -> None:
    with pytest.raises(InputError) as error:
        parse_edge("?", DIALECTS["AArch64"].vocabulary)
    assert "DMB.SY" in str(error.value)


def test_an_annotation_must_suit_the_direction() -> None:
    with pytest.raises(InputError, match="'PodWRAA' starts with a write, which cannot be 'A'"):
        parse_edge("PodWRAA", DIALECTS["AArch64"].vocabulary)
