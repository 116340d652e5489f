"""Pages are data and a script; whatever the data says, it stays data."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from tests.unit.report.test_picture import record_of

from dekker.errors import InputError
from dekker.report.html.litmus_page import LitmusPage
from dekker.report.html.page import SCRIPTS, Page, embedded, html_text
from dekker.report.html.run_data import allowed_run
from dekker.report.picture.view import RELATIONS
from dekker.report.record import Record, record_error
from dekker.task import Limits

BAD = "</script><script>hacked()</script><!-- \u2028\u2029 & ]]>"


class Reader(HTMLParser):
    """What a browser would see."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[str] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")
        self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self.inside and self.inside[-1] == "script":
            self.scripts[-1] += data

    def data(self) -> Any:
        return json.loads(self.scripts[0])


def page_of(*records: Record, total: int | None = None) -> Reader:
    page = LitmusPage(Limits(), explained=True)
    for record in records:
        page.add(record)
    return Reader(html_text(page.page(len(records) if total is None else total)))


def test_no_text_ends_the_data() -> None:
    text = embedded({"a": BAD})
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == {"a": BAD}


def test_names_stay_text() -> None:
    record = record_of("dekker-x86")
    reader = page_of(replace(record, name=BAD, file=BAD, condition=f"exists {BAD}", source=BAD, notes=(BAD,)))
    assert [tag for tag, _ in reader.tags].count("script") == 2
    assert "hacked" not in reader.scripts[1]
    entry = reader.data()["entries"][0]
    assert entry["name"] == BAD
    assert reader.data()["title"] == BAD


def test_the_policy_allows_this_script_alone() -> None:
    reader = page_of(record_of("dekker-x86"))
    (policy,) = (a["content"] for tag, a in reader.tags if tag == "meta" and "http-equiv" in a)
    digest = base64.b64encode(hashlib.sha256(reader.scripts[1].encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def test_nothing_is_loaded() -> None:
    text = html_text(Page("nothing", ""))
    assert not re.search(r"\b(src|srcset|action)=|@import|url\(|fetch\(|XMLHttpRequest|import\(", text)
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}


def test_the_script_parses_no_html() -> None:
    reader = page_of(record_of("dekker-x86"))
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(", reader.scripts[1])
    assert len(SCRIPTS) == 8


def test_relations_of_the_script_are_those_of_pictures() -> None:
    script = page_of(record_of("dekker-x86")).scripts[1]
    listed = re.search(r"const RELATIONS = (\[.*?\]);", script)
    assert listed is not None
    assert json.loads(listed[1]) == list(RELATIONS)


def test_runs_are_small() -> None:
    record = record_of("dekker-x86")
    assert record.witness is not None
    assert len(embedded(allowed_run(record.witness, record.order))) < 2000


def test_an_entry_says_what_ran_and_what_was_found() -> None:
    entry = page_of(record_of("dekker-x86")).data()["entries"][0]
    facts = dict(entry["facts"])
    assert (facts["Model"], facts["Engine"], facts["Limits"]) == ("tso", "rsmc", "none")
    assert facts["Loops"] == "up to 2 rounds (--unroll)"
    assert entry["verdict"] == "Ok"
    assert entry["outcomes"][0] == ["0:EAX=0; 1:EAX=0;", 1]
    edges = entry["run"]["edges"]
    assert [1, 2, "fr", "fr", 1, 0] in edges
    assert [0, 1, "po", "po", 1, 1] in edges


def test_forbidden_outcomes_have_a_picture_and_no_timeline() -> None:
    entry = page_of(record_of("message-power-addr")).data()["entries"][0]
    assert entry["run"]["why"] == "forbidden by axiom observation"
    assert "moments" not in entry["run"]
    assert "forbidden by axiom" in entry["text"]


def test_errors_are_entries() -> None:
    data = page_of(record_of("dekker-x86"), record_error("x.litmus", InputError("no such thing"))).data()
    assert [entry["verdict"] for entry in data["entries"]] == ["Ok", "Error"]
    assert "no such thing" in data["entries"][1]["text"]


def test_what_was_not_run_is_said() -> None:
    assert "2 tests were not run" in page_of(record_of("dekker-x86"), total=3).data()["notes"]


def test_pictures_beyond_the_bound_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dekker.report.html.litmus_page.MOST_CHARACTERS", 3000)
    record = record_of("dekker-x86")
    data = page_of(*[record] * 5).data()
    pictures = ["run" in entry for entry in data["entries"]]
    assert pictures == sorted(pictures, reverse=True)
    left_out = pictures.count(False)
    assert 0 < left_out < 5
    assert f"{left_out} tests have no picture here" in data["notes"][0]


def test_equal_sources_stand_there_once() -> None:
    record = record_of("dekker-x86")
    assert len(page_of(record, record).data()["sources"]) == 1
