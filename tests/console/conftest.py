from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.console.browser import chromium, find_chromium
from tests.console.demo import ToldDemo, told_demo
from tests.console.office import Office, opened_office

PATIENCE_MS = 120_000
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Run Chromium, or skip and say that it is missing.

    Playwright leaves an event loop running in the thread: tests of other modules cannot start one.
    """
    path = find_chromium()
    if path is None:
        pytest.skip("Chromium is missing: `make browser` installs it, or CHROMIUM names one")
    with chromium(path) as running:
        yield running


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ToldDemo]:
    with told_demo(tmp_path_factory.mktemp("demo")) as running:
        yield running


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    with opened_office(tmp_path_factory.mktemp("office")) as running:
        yield running
