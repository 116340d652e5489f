"""Reports in a browser, as a person uses them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Open
from tests.cli.calls import dekker
from tests.unit.report.test_picture import chain, record_of

from dekker.report.html.page import Page as Report
from dekker.report.html.page import html_text
from dekker.report.html.run_data import run_plain
from dekker.report.picture import picture_of
from dekker.report.picture.layout import arrange
from dekker.report.picture.view import Fold, RunView

EXAMPLES = Path(__file__).parents[2] / "examples"
SB = EXAMPLES / "litmus" / "dekker-x86.litmus"
IRIW = EXAMPLES / "litmus" / "observers-aarch64.litmus"
PGSQL = EXAMPLES / "c" / "table1" / "pgsql.c"


def litmus_report(folder: Path, *arguments: str) -> Path:
    file = folder / "report.html"
    assert dekker("litmus", *arguments, "-q", "--html", str(file)).status in (0, 1)
    return file


def check_report(folder: Path, *arguments: str) -> Path:
    file = folder / "report.html"
    assert dekker("check", *arguments, "--html", str(file)).status == 1
    return file


def is_shown(page: Page, selector: str) -> bool:
    return page.locator(selector).first.is_visible()


def lit_nodes(page: Page) -> list[str]:
    return sorted(page.locator(".node.lit .head").all_text_contents())


def heads(page: Page) -> list[str]:
    return page.locator(".node .head").all_text_contents()


# --- one execution


def test_relations_are_toggled(open_page: Open, tmp_path: Path) -> None:
    page = open_page(litmus_report(tmp_path, str(SB)))
    assert heads(page) == ["a: W flag0=1", "b: R flag1=0", "c: W flag1=1", "d: R flag0=0"]
    assert page.locator("svg .edge.rel-fr.cycle").count() == 2
    assert page.locator("svg .edge.rel-po.loose").count() == 2
    for relation in ("fr", "po"):
        assert is_shown(page, f"svg .edge.rel-{relation}")
        page.uncheck(f'[data-relation="{relation}"]')
        assert not is_shown(page, f"svg .edge.rel-{relation}")
        assert not is_shown(page, f"svg .label.rel-{relation}")
    page.check('[data-relation="fr"]')
    assert is_shown(page, "svg .edge.rel-fr")
    assert not is_shown(page, "svg .edge.rel-po")


def test_events_and_lines_find_each_other(open_page: Open, tmp_path: Path) -> None:
    page = open_page(litmus_report(tmp_path, str(SB)))
    page.hover(".node >> nth=0")
    assert page.locator(".source li.lit").get_attribute("data-line") == "5"
    page.hover('.source li[data-line="6"] .number')
    assert lit_nodes(page) == ["b: R flag1=0", "d: R flag0=0"]
    assert page.locator(".source li.lit").get_attribute("data-line") == "6"
    page.hover('.source li[data-line="6"] .piece >> nth=1')
    assert lit_nodes(page) == ["d: R flag0=0"]
    assert page.locator(".piece.lit").all_text_contents() == ["MOV EAX,[flag0]"]
    page.mouse.move(0, 0)
    assert lit_nodes(page) == []
    page.focus(".node >> nth=3")
    assert page.locator(".source li.lit").get_attribute("data-line") == "6"
    page.focus('.source li[data-line="5"]')
    assert lit_nodes(page) == ["a: W flag0=1", "c: W flag1=1"]


def test_the_timeline_steps_with_keys_and_buttons(open_page: Open, tmp_path: Path) -> None:
    page = open_page(litmus_report(tmp_path, str(SB)))
    said, waiting = page.locator(".said"), page.locator(".waiting")
    assert said.inner_text() == "Before the first of 4 steps"
    page.keyboard.press("ArrowRight")
    assert said.inner_text() == "1 of 4. P0: b: R flag1=0, before a of the same thread"
    assert "a: W flag0=1" in waiting.inner_text()
    assert page.locator(".node.now .head").text_content() == "b: R flag1=0"
    assert page.locator(".node.pending .head").text_content() == "a: W flag0=1"
    assert page.locator(".source li.now").get_attribute("data-line") == "6"
    page.click('[data-step="on"]')
    assert said.inner_text().startswith("2 of 4. P1: d")
    page.keyboard.press("End")
    assert said.inner_text().startswith("4 of 4.")
    assert waiting.inner_text() == "nothing"
    assert page.locator(".values tbody").inner_text().split() == ["flag0", "1", "flag1", "1"]
    page.keyboard.press("Home")
    assert page.locator(".node.now").count() == 0
    page.click(".moments button >> nth=2")
    assert said.inner_text().startswith("3 of 4.")


def test_four_threads(open_page: Open, tmp_path: Path) -> None:
    page = open_page(litmus_report(tmp_path, str(IRIW)))
    assert page.locator("svg .thread").all_text_contents() == ["P0", "P1", "P2", "P3"]
    assert page.locator("svg .edge.rel-rf.cycle").count() == 2
    page.uncheck('[data-thread="0"]')
    assert page.locator("svg .thread").all_text_contents() == ["P1", "P2", "P3"]
    assert "a: W x=1" not in heads(page)
    page.hover(".node >> nth=0")
    assert page.locator(".source li.lit").get_attribute("data-line") == "11"


def test_postgresql(open_page: Open, tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="the compiler is not installed")
    page = open_page(check_report(tmp_path, str(PGSQL), "--model", "power"))
    assert page.locator(".badge.large").inner_text() == "UNSAFE"
    assert "deadlock" in page.locator(".finding h2").inner_text()
    assert page.locator(".source li.used").count() == 8
    page.hover('.source li[data-line="28"]')
    assert lit_nodes(page) == ["#15: W latch[0]=1", "#8: W latch[1]=1"]
    folds = page.locator("svg .fold").count()
    page.locator("svg .fold").first.press("Enter")
    assert page.locator("svg .fold").count() == folds - 1
    page.check("[data-everything]")
    assert page.locator("svg .fold").count() == 0
    page.select_option("[data-variable]", "token[0]")
    own = [head for head in heads(page) if head != "waits for ever"]
    assert own == ["#5: R token[0]=1", "#6: W token[0]=0", "#14: W token[0]=1"]


def test_store_buffers_are_shown(open_page: Open, tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="the compiler is not installed")
    dekker_c = str(EXAMPLES / "c" / "table1" / "dekker.c")
    page = open_page(check_report(tmp_path, dekker_c, "--model", "tso", "--engine", "states"))
    full = 0
    for _ in range(page.locator(".moments li").count()):
        page.keyboard.press("ArrowRight")
        full += page.locator(".waiting code.entry").count() == 2
    assert full > 0
    assert "wants[0] = 1 reaches memory" in page.locator(".moments").inner_text()
    assert page.locator(".waiting").inner_text() == "nothing"


def test_hundreds_of_events(open_page: Open, tmp_path: Path) -> None:
    page = open_page(report_of(tmp_path, chain(400, cycle=200)))
    assert page.locator("svg .node").count() == 10
    assert page.locator("svg .fold").count() == 2
    page.locator("svg .fold").first.click()
    assert page.locator("svg .node").count() == 10 + 197
    page.check("[data-everything]")
    assert page.locator("svg .node").count() == 401


def report_of(folder: Path, *views: RunView) -> Path:
    entries: list[dict[str, Any]] = [
        {"name": view.title, "verdict": "Ok", "tone": "good", "sentence": "", "cells": [], "run": run_plain(view, ())}
        for view in views
    ]
    file = folder / "views.html"
    file.write_text(html_text(Report("views", "", entries=entries)), encoding="utf-8")
    return file


# --- the layout exists twice


def views() -> list[RunView]:
    found = [chain(5, cycle=2), chain(60, cycle=30), chain(40)]
    for name in ("dekker-x86", "observers-aarch64", "message-power", "load-buffering-riscv"):
        record = record_of(name)
        assert record.witness is not None
        found.append(picture_of(record.witness, record.order))
    explanation = record_of("message-power-addr").explanation
    assert explanation is not None
    assert explanation.closest is not None
    return [*found, picture_of(explanation.closest, reasons=explanation.reasons)]


@pytest.mark.parametrize("everything", [False, True])
def test_the_page_and_the_pictures_have_the_same_layout(open_page: Open, tmp_path: Path, everything: bool) -> None:
    drawn = views()
    page = open_page(report_of(tmp_path, *drawn))
    laid_out = page.evaluate(
        """(everything) => {
            const page = JSON.parse(document.getElementById("data").textContent);
            complete(page);
            return page.entries.map(({ run }) => {
                const layout = arrange(run, { everything });
                return [layout.width, layout.height,
                    layout.boxes.map(({ item, x, y, width, height }) =>
                        [isFold(item) ? item.text : item, x, y, width, height]),
                    layout.curves.map((curve) => [...curve.points.flat(), ...curve.label])];
            });
        }""",
        everything,
    )
    for view, (width, height, boxes, curves) in zip(drawn, laid_out, strict=True):
        layout = arrange(view, everything)
        assert (width, height) == pytest.approx((layout.width, layout.height))
        own = [(b.item.text if isinstance(b.item, Fold) else b.item, b.x, b.y, b.width, b.height) for b in layout.boxes]
        assert [box[0] for box in boxes] == [box[0] for box in own]
        for found, wanted in zip(boxes, own, strict=True):
            assert found[1:] == pytest.approx(wanted[1:])
        for found, curve in zip(curves, layout.curves, strict=True):
            assert found == pytest.approx([n for point in (*curve.points, curve.label) for n in point])


# --- many tests


@pytest.fixture(scope="session")
def thousand(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("thousand")
    tests = folder / "tests"
    tests.mkdir()
    kinds = {"SB": SB, "IRIW": IRIW, "MP": EXAMPLES / "litmus" / "message-power-addr.litmus"}
    for number in range(1000):
        name = ("SB", "MP", "SB", "IRIW", "SB")[number % 5]
        first, _, rest = kinds[name].read_text(encoding="utf-8").partition("\n")
        (tests / f"{number:04}.litmus").write_text(f"{first.split()[0]} {name}-{number:04}\n{rest}", encoding="utf-8")
    return litmus_report(folder, str(tests))


def test_a_thousand_tests(open_page: Open, thousand: Path) -> None:
    assert thousand.stat().st_size < 4_000_000
    page = open_page(thousand)
    rows = page.locator("table.list tbody tr")
    assert rows.count() == 200
    assert page.locator(".count").inner_text() == "1000 of 1000"
    page.fill("#filter", "iriw aarch64")
    assert page.locator(".count").inner_text() == "200 of 1000"
    assert rows.first.locator("a").inner_text() == "IRIW-0003"
    page.click("thead button >> nth=0")
    page.click("thead button >> nth=0")
    assert rows.first.locator("a").inner_text() == "IRIW-0998"
    assert page.locator("thead th").first.get_attribute("aria-sort") == "descending"
    rows.first.locator("a").click()
    expect(page.locator("#entry-name")).to_have_text("IRIW-0998")
    assert page.locator("svg.run .node").count() == 6
    page.keyboard.press("ArrowRight")
    assert page.locator(".said").inner_text().startswith("1 of 6.")
    page.click("text=Next →")
    expect(page.locator("#entry-name")).to_have_text("IRIW-0993")
    page.click("text=All")
    expect(page.locator(".count")).to_have_text("200 of 1000")
    page.fill("#filter", "")
    page.select_option("#verdict", "Ok")
    assert page.locator(".count").inner_text() == "1000 of 1000"
    page.click(".pager button >> nth=4")
    assert rows.count() == 200
    page.fill("#filter", "no such test")
    assert rows.count() == 0


def test_a_link_opens_a_test(open_page: Open, thousand: Path) -> None:
    page = open_page(thousand)
    page.evaluate("location.hash = '#/7'")
    expect(page.locator("#entry-name")).to_have_text("SB-0007")
    page.go_back()
    page.wait_for_selector("table.list")


# --- the other verbs


def test_models_are_compared(open_page: Open, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    assert dekker("compare", str(SB), "--models", "sc,tso", "--html", str(file)).status == 1
    page = open_page(file)
    assert page.locator("table.list .badge").all_inner_texts() == ["UNSAFE", "SAFE"]
    page.click("table.list a >> nth=1")
    expect(page.locator("#entry-name")).to_have_text("tso")
    assert page.locator(".source li").count() == 7


def test_fences_stand_in_the_source(open_page: Open, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    assert dekker("fences", str(SB), "--model", "tso", "--html", str(file)).status == 0
    page = open_page(file)
    assert page.locator(".source li.inserted").count() == 2
    assert page.locator(".fence-card svg.run .edge.cycle").count() == 8
    page.hover(".fence-card >> nth=0 >> .node >> nth=0")
    assert page.locator(".source li.lit").count() == 1
    page.hover(".source li.used >> nth=0")
    assert page.locator(".node.lit").count() > 0


def test_the_way_to_a_bad_state(open_page: Open, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    program = str(EXAMPLES / "lang" / "peterson-without-barrier.lang")
    assert dekker("modular", program, "--html", str(file)).status == 1
    page = open_page(file)
    tops = page.locator(".node rect").evaluate_all("(found) => found.map((rect) => rect.y.baseVal.value)")
    assert len(set(tops)) == len(tops) > 2
    page.keyboard.press("ArrowRight")
    assert page.locator(".node.now").count() == 1


# --- whoever reads it, and wherever


def test_light_dark_and_print(open_page: Open, tmp_path: Path) -> None:
    file = litmus_report(tmp_path, str(SB))
    ground = "getComputedStyle(document.querySelector('header')).backgroundColor"
    page = open_page(file, "dark")
    dark = page.evaluate(ground)
    page.click("#theme")
    light = page.evaluate(ground)
    assert (light, dark) == ("rgb(255, 255, 255)", "rgb(22, 27, 34)")
    page.click("#theme")
    page.emulate_media(media="print")
    assert page.evaluate(ground) == light
    assert not is_shown(page, ".steps")
    assert is_shown(page, "svg.run")
    assert is_shown(page, ".source")
    assert is_shown(page, ".run-table table")


def test_every_part_has_a_name(open_page: Open, tmp_path: Path) -> None:
    page = open_page(litmus_report(tmp_path, str(SB)))
    nameless = page.evaluate(
        """[...document.querySelectorAll("button, input, select, [tabindex='0'], section, [role=img], [role=group]")]
            .filter((e) => !e.getAttribute("aria-label") && !e.getAttribute("aria-labelledby") && !e.closest("label")
                && !e.textContent.trim()).map((e) => e.outerHTML)"""
    )
    assert nameless == []
    label = page.locator(".node").first.get_attribute("aria-label")
    assert label == "P0: a: W flag0=1; line 5: MOV [flag0],$1; on the highlighted cycle; po, not kept to b; fr from d"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    rows = page.locator(".run-table tbody tr").all_inner_texts()
    assert len(rows) == 4
    assert "fr → c" in rows[1]


def test_nothing_of_a_program_is_run(open_page: Open, tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="the compiler is not installed")
    program = tmp_path / "<img src=x onerror=hacked()>.c"
    program.write_text(
        "#include <assert.h>\n#include <stdio.h>\nint main(void) {\n"
        '  puts("</script><script>window.hacked = 1</script>");\n'
        '  assert(0 && "</script><script>window.hacked = 1</script><!--");\n}\n',
        encoding="utf-8",
    )
    page = open_page(check_report(tmp_path, str(program)))
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.locator("script").count() == 2
    assert page.locator("img").count() == 0
    assert "<script>window.hacked" in page.locator(".source-card").inner_text()


def test_nothing_of_a_litmus_test_is_run(open_page: Open, tmp_path: Path) -> None:
    text = SB.read_text(encoding="utf-8").replace("Both threads", "</script><script>window.hacked = 1</script>")
    text = text.replace("X86 dekker-x86", "X86 <script>window.hacked=1</script>")
    (tmp_path / "bad.litmus").write_text(text, encoding="utf-8")
    shutil.copy(SB, tmp_path / "good.litmus")
    page = open_page(litmus_report(tmp_path, str(tmp_path)))
    page.click("table.list a >> nth=0")
    assert page.evaluate("typeof window.hacked") == "undefined"
    expect(page.locator("#entry-name")).to_have_text("<script>window.hacked=1</script>")
