from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from dekker import models
from dekker.cat.model import Model
from dekker.models import kept, load_model, model_names
from dekker.models.kept import dependencies, from_plain, keep_model, read_model, to_plain

LOADED = """\
import sys
import dekker.models as models
for name in models.model_names():
    models._compiled(models.FOLDER / f"{name}.cat")
print(*(module.__file__ for name, module in sys.modules.items() if name.startswith("dekker")), sep="\\n")
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def same(one: Model, other: Model) -> bool:
    """Also what equality leaves out."""
    return all(_said(getattr(one, item.name)) == _said(getattr(other, item.name)) for item in fields(Model))


def _said(value: object) -> str:
    return repr(sorted(value)) if isinstance(value, frozenset) else repr(value)


@pytest.mark.parametrize("name", model_names())
def test_what_is_kept_is_the_model(name: str) -> None:
    model = models._compiled(models.FOLDER / f"{name}.cat")
    assert read_model(name) is None
    keep_model(model)
    found = read_model(name)
    assert found is not None
    assert same(found, model)
    assert found.source.text == model.source.text
    assert [item.source.text for item in found.includes] == [item.source.text for item in model.includes]
    assert (found.program, hash(found.program)) == (model.program, hash(model.program))


def test_models_say_more_than_one_thing() -> None:
    """Or else the comparison above would compare nothing."""
    texts = {json.dumps(to_plain(load_model(name))) for name in model_names()}
    assert len(texts) == len(model_names())
    assert not same(load_model("sc"), load_model("tso"))
    assert same(load_model("sc"), from_plain(to_plain(load_model("sc"))))


def test_all_that_a_model_depends_on_is_part_of_the_fingerprint() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    loaded = {Path(line).resolve() for line in done.stdout.split("\n") if line.endswith(".py")}
    assert len(loaded) > 10
    known = set(dependencies())
    assert loaded <= known
    for name in model_names():
        model = load_model(name)
        texts = (model.source, *(item.source for item in model.includes))
        assert {Path(text.name).resolve() for text in texts} <= known
    assert any(file.name == "stdlib.cat" for file in known)


def test_a_changed_file_makes_another_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "FOLDERS", (tmp_path,))
    file, seen = tmp_path / "sc.cat", set()
    for text in ("acyclic po", "acyclic rf", "acyclic po | rf"):
        file.write_text(text)
        seen.add(kept._fingerprint.__wrapped__())
    file.rename(tmp_path / "tso.cat")
    seen.add(kept._fingerprint.__wrapped__())
    assert len(seen) == 4


def test_a_model_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    compile_model = models._compiled

    def noted(path: Path) -> Model:
        compiled.append(path.stem)
        return compile_model(path)

    monkeypatch.setattr(models, "_compiled", noted)
    first, second = (models._built_in.__wrapped__("power") for _ in range(2))
    assert compiled == ["power"]
    assert same(first, second)
    assert models.is_built_in(second)
