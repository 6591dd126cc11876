"""Every link in the documentation leads to a file that is there, and to a heading in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("streams/**/README.md"),
        ROOT / "bench" / "README.md",
    ]
)
INDEX = ROOT / "docs" / "README.md"
_CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
_AWAY = re.compile(r"[a-z]+:")


def links(page: Path) -> Iterator[str]:
    """Targets within the repository."""
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    return (target for target in _LINK.findall(text) if not _AWAY.match(target))


def anchors(page: Path) -> set[str]:
    """Of its headings, as they are made where Markdown is shown."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    slugs: set[str] = set()
    for heading in _HEADING.findall(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        count = sum(bool(re.fullmatch(rf"{re.escape(slug)}(-\d+)?", each)) for each in slugs)
        slugs.add(f"{slug}-{count}" if count else slug)
    return slugs


def target_of(page: Path, link: str) -> tuple[Path, str]:
    path, _, anchor = link.partition("#")
    return (page.parent / path).resolve() if path else page, anchor


def leads_somewhere(page: Path, link: str) -> bool:
    target, anchor = target_of(page, link)
    if not (target.is_relative_to(ROOT) and target.exists()):
        return False
    return not anchor or anchor in anchors(target)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert [link for link in links(page) if not leads_somewhere(page, link)] == []


def test_the_index_leads_to_every_page() -> None:
    listed = {target_of(INDEX, link)[0] for link in links(INDEX)}
    pages = {page for page in ROOT.glob("docs/**/*.md") if page != INDEX}
    assert pages - listed == set()


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("Reading, and `read_committed`", "reading-and-read_committed"),
        ("[Kafka](x.md) at the edges!", "kafka-at-the-edges"),
    ],
)
def test_anchors_are_those_of_headings(tmp_path: Path, heading: str, anchor: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# {heading}\n```\n# not one\n```\n## {heading}\n")
    assert anchors(page) == {anchor, f"{anchor}-1"}
