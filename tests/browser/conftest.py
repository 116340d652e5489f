"""A headless Chromium, and pages that must be quiet: no error, nothing on the console, no request."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Browser, Page, sync_playwright  # noqa: E402 — after the check that it is there

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((found for found in map(shutil.which, NAMES) if found is not None), None)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)

Open = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    with sync_playwright() as runner:
        started = runner.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Opens a file. What a page should not do is an error at the end of the test."""
    complaints: list[str] = []
    context = browser.new_context(viewport={"width": 1400, "height": 900}, offline=True)

    def opened(file: Path, scheme: str = "light") -> Page:
        page = context.new_page()
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.on("console", lambda message: complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("request", lambda request: None if request.url == file.as_uri() else complaints.append(request.url))
        page.goto(file.as_uri())
        page.wait_for_selector("#main > *")
        return page

    yield opened
    context.close()
    assert complaints == []
