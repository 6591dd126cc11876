"""Tests of the picture of `headrace watch` in the documents."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.unit.cli.watch.stub import WatchedStub, completed, invoked, thought
from tests.unit.cli.watch.watching import watching

ROOT = Path(__file__).parents[4]
NAME = "watch.svg"
MOST_BYTES = 150_000
BLANK, PORT = "&#160;", ":8640"
FONTS = re.compile(r"@font-face \{.*?\}\n?", re.DOTALL)
"""The fonts that Textual would have a reader fetch from another host."""


@pytest.mark.asyncio
async def test_the_picture_shows_the_overview_and_fetches_nothing(
    stub: WatchedStub, tmp_path: Path
) -> None:
    async with watching(stub, width=100, height=30) as watched:
        stub.send(
            thought(1, "I should read the failing test."),
            invoked(2, "call-7"),
            completed(3, "call-7"),
        )
        await watched.until_text("3 received")
        picture = FONTS.sub("", watched.app.export_screenshot(title="headrace watch"))
    port = f":{stub.server_address[1]}"
    picture = picture.replace(port, PORT + BLANK * (len(port) - len(PORT)))
    assert "key_mismatch" in picture
    assert _remote(picture) == []
    folder = Path(os.environ.get("PICTURES", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NAME).write_text(picture)


def test_the_picture_of_the_docs_is_small_and_fetches_nothing() -> None:
    picture = (ROOT / "docs/console" / NAME).read_text()
    assert len(picture) < MOST_BYTES
    assert _remote(picture) == []


def _remote(picture: str) -> list[str]:
    """Return the addresses that a picture would fetch; names of XML's vocabularies are none."""
    return re.findall(r"(?:url\(|href=)[\"']?(?!#)([^\"')]+)", picture)
