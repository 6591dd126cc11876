"""Tests of pages with the demo's data; `make console-pictures` takes their pictures anew."""

from __future__ import annotations

import itertools
import os
from io import BytesIO
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize

from tests.console.conftest import PATIENCE_MS
from tests.console.demo import SESSION, ToldDemo, settle
from tests.console.test_pages import AXE

FOLDER = Path(__file__).parents[2] / "docs" / "console"
MOST_BYTES = 150_000
SIZE: ViewportSize = {"width": 1280, "height": 800}
COLOURS = 128


class Picture(NamedTuple):
    """A picture of a page.  path: with the words of `ToldDemo`.

    ready: a selector of what the page must show.
    """

    name: str
    path: str
    theme: Literal["light", "dark"]
    ready: str


PICTURES = (
    Picture("overview", "", "light", "[data-figure=commands]"),
    Picture("why", "things/{refused}?tab=why", "light", "[data-proof=rederived]"),
    Picture("trace", "traces/{trace}", "light", "[data-row]"),
    Picture("lineage", "lineage?node=trace%3A{trace}", "dark", "[data-node]"),
    Picture("live", f"live?session_id={SESSION}&from=earliest", "dark", "aside .facts"),
    Picture("spread", "spread?tab=generations", "dark", ".chart"),
)


AUDITED = (
    "things/{refused}?tab=why",
    f"things/apc%3Apacket%3A7f0c2f5d-0f76-4a4c-93d0-f0b2e2891730?session_id={SESSION}",
    "things/summit%3Arun%3Aaudit-demo-00000001",
    "things/saop%3Atask%3Arepair-demo-00000001",
    "lineage?node=trace%3A{trace}",
    f"live?session_id={SESSION}&from=earliest",
)
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def take(page: Page, demo: ToldDemo, picture: Picture) -> bytes:
    """Return a picture as PNG, with as few colours as a page of text needs."""
    page.clock.set_fixed_time(demo.now / 1000)
    page.goto(f"{demo.url}/console/{picture.path.format(**demo.find_words())}")
    settle(page)
    page.locator(picture.ready).first.wait_for()
    with Image.open(BytesIO(page.screenshot())) as image:
        target = BytesIO()
        image.convert("RGB").quantize(COLOURS).save(target, "PNG", optimize=True)
    return target.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("path", AUDITED)
def test_a_page_with_data_is_accessible(path: str, demo: ToldDemo, browser: Browser) -> None:
    """Require that axe reports nothing and nothing scrolls sideways, in both themes and widths."""
    for theme, width in itertools.product(THEMES, (1280, 320)):
        context = browser.new_context(color_scheme=theme, viewport={"width": width, "height": 800})
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        page.goto(f"{demo.url}/console/{path.format(**demo.find_words())}")
        settle(page)
        report = Axe().run(page, options=AXE)
        assert report.violations_count == 0, f"{theme} {width}: {report.generate_report()}"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (theme, width)
        context.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        "verdicts",
        "agents",
        "sap",
        "asap",
        "spread?tab=arbitration",
        "dead-letters",
        "apc?tab=packets",
        "traces/{trace}",
    ],
)
def test_a_table_of_1280_px_has_no_column_out_of_sight(
    path: str, demo: ToldDemo, browser: Browser
) -> None:
    context = browser.new_context(viewport=SIZE)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.clock.set_fixed_time(demo.now / 1000)
    page.goto(f"{demo.url}/console/{path.format(**demo.find_words())}")
    settle(page)
    page.locator("[data-row]").first.wait_for()
    assert (
        page.locator("section.scroller").evaluate("each => each.scrollWidth - each.clientWidth")
        == 0
    )
    context.close()


@pytest.mark.slow
@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: str(picture.name))
def test_a_picture_is_taken(
    picture: Picture, demo: ToldDemo, browser: Browser, tmp_path: Path
) -> None:
    folder = Path(os.environ.get("PICTURES", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    context = browser.new_context(color_scheme=picture.theme, viewport=SIZE)
    context.set_default_timeout(PATIENCE_MS)
    try:
        image = take(context.new_page(), demo, picture)
    finally:
        context.close()
    assert len(image) < MOST_BYTES
    (folder / f"{picture.name}.png").write_bytes(image)


def test_the_pictures_of_the_docs_are_small() -> None:
    sizes = {path.stem: path.stat().st_size for path in FOLDER.glob("*.png")}
    assert sizes.keys() == {picture.name for picture in PICTURES}
    assert max(sizes.values()) < MOST_BYTES
