"""Bad input of every kind ends with a clear error and status 2, never with a traceback."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.calls import dekker
from tests.cli.test_litmus import SB
from tests.corpus.expectations import OWN_CORPUS

from dekker.models import load_model, model_names

TEXT = Path(SB).read_text(encoding="utf-8")

BAD_TESTS = {
    "empty": b"",
    "blank": b"\n\n  \n",
    "junk": bytes(range(256)),
    "architecture": b"VAX t\n{ }\n P0 ;\n NOP ;\nexists (x=1)\n",
    "truncated": TEXT[: TEXT.index("P1")].encode(),
    "instruction": TEXT.replace("MOV EAX,[flag1]", "FROB EAX,[flag1]").encode(),
    "operand": TEXT.replace("MOV EAX,[flag1]", "MOV EAX,[[flag1]").encode(),
    "condition": TEXT.replace("/\\", "/|").encode(),
    "unclosed": TEXT.replace("1:EAX=0)", "1:EAX=0").encode(),
    "thread": TEXT.replace("1:EAX=0)", "7:EAX=0)").encode(),
    "label": TEXT.replace("MOV EAX,[flag1]", "JMP Nowhere").encode(),
}
BAD_MODELS = {
    "empty file": "",
    "unknown name": "acyclic po | frob as m",
    "syntax": "acyclic po | as m",
    "type": "acyclic W as m",
    "missing include": 'include "nowhere.cat"',
    "unclosed comment": "(* acyclic po",
}


@pytest.mark.parametrize("kind", BAD_TESTS)
def test_bad_test(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.litmus"
    file.write_bytes(BAD_TESTS[kind])
    outcome = dekker("litmus", str(file))
    assert outcome.status == 2
    assert f"{file}:" in outcome.err
    assert "error:" in outcome.err
    assert outcome.out == ""


@pytest.mark.parametrize("kind", BAD_MODELS)
def test_bad_model(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.cat"
    file.write_text(BAD_MODELS[kind], encoding="utf-8")
    outcome = dekker("litmus", SB, "--model", str(file))
    assert outcome.status == 2
    assert str(file) in outcome.err
    assert "error:" in outcome.err


def test_missing_files_and_folders(tmp_path: Path) -> None:
    for arguments in (
        ("litmus", str(tmp_path / "none.litmus")),
        ("litmus", f"@{tmp_path / 'none'}"),
        ("litmus", str(tmp_path)),
        ("litmus", SB, "--model", "none"),
        ("litmus", SB, "--model", str(tmp_path / "none.cat")),
        ("litmus", SB, "--model", str(tmp_path)),
        ("litmus", SB, "--json", str(tmp_path / "no" / "such" / "folder")),
        ("litmus", "\0"),
        ("show", str(tmp_path)),
        ("show", str(tmp_path / "none.litmus")),
    ):
        outcome = dekker(*arguments)
        assert outcome.status == 2, arguments
        assert "error" in outcome.err.lower(), arguments


def test_an_unknown_model_lists_the_known_ones() -> None:
    outcome = dekker("litmus", SB, "--model", "powr")
    for name in model_names():
        assert name in outcome.err


TEST_TEXTS = [file.read_text(encoding="utf-8") for file in sorted((OWN_CORPUS / "handwritten").rglob("*.litmus"))]
MODEL_TEXTS = [load_model(name).source.text for name in model_names()]


@st.composite
def mutations(draw: st.DrawFn, texts: list[str]) -> bytes:
    """A text with a few cuts, repetitions and strange bytes in it; or plain junk."""
    content = bytearray(draw(st.sampled_from(texts)).encode())
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.sampled_from((0, 1, 1, 5, 40, 400))))
        replacement = draw(
            st.one_of(
                st.just(b""),
                st.just(bytes(content[start:end]) * 2),
                st.binary(max_size=4),
                st.sampled_from(
                    (b"(", b")", b";", b"|", b"{", b"}", b"=", b"\n", b":", b",", b"[", b"]", b"-1", b"\xff")
                ),
            )
        )
        content[start:end] = replacement
    return bytes(content)


@settings(max_examples=300)
@given(st.one_of(mutations(TEST_TEXTS), st.binary(max_size=200)))
def test_mutated_tests_never_crash(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mutated.litmus"
        file.write_bytes(content)
        assert dekker("litmus", str(file), "--timeout", "0.5").status in (0, 1, 2, 3)
        assert dekker("show", str(file)).status in (0, 2)


@settings(max_examples=200)
@given(st.one_of(mutations(MODEL_TEXTS), st.binary(max_size=200)))
def test_mutated_models_never_crash(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mutated.cat"
        file.write_bytes(content)
        assert dekker("litmus", SB, "--model", str(file), "--timeout", "0.5").status in (0, 1, 2, 3)
