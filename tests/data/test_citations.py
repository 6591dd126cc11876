"""Every "APC guide, 4.4" in code and documents names a heading of that guide.

The sections of a guide are numbered in their headings: `### 4.4 Coordination of a session`.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDES = ("apc", "asap", "otel", "saop", "sap", "summit")
FOLDERS = ("headrace", "schemas", "topology", "streams", "tests", "docs", "bench")

_NUMBER = r"\d+(?:\.\d+)*"
_CITATION = re.compile(
    rf"\b(\w+) guide, ({_NUMBER}(?:(?:, and |, | and | or | to ){_NUMBER})*)", re.IGNORECASE
)
_HEADING = re.compile(rf"^#{{2,5}} ({_NUMBER}) \S", re.MULTILINE)
_SPEC = re.compile(rf"\b(?:spec,? (?:[a-z]+ )?\(?|clarifications? ){_NUMBER}", re.IGNORECASE)


@cache
def texts() -> dict[str, str]:
    """Return the files that may cite, by path; line breaks and `#` become blanks."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *FOLDERS],
        cwd=ROOT,
        check=True,
        stdout=-1,
        text=True,
    ).stdout.split("\0")
    paths = (Path(name) for name in listed if name.endswith((".py", ".md", ".toml", ".avsc")))
    return {
        path.as_posix(): re.sub(r"\s+(?:# )?", " ", (ROOT / path).read_text(encoding="utf-8"))
        for path in paths
        if (ROOT / path).exists() and path != Path(__file__).relative_to(ROOT)
    }


@cache
def sections(guide: str) -> frozenset[str]:
    text = (ROOT / f"docs/protocols/{guide}.md").read_text(encoding="utf-8")
    return frozenset(_HEADING.findall(text))


def citations(text: str) -> Iterator[tuple[str, str]]:
    """Yield the guides and the numbers that a text cites."""
    for name, numbers in _CITATION.findall(text):
        yield from ((name.lower(), number) for number in re.findall(_NUMBER, numbers))


def test_every_guide_is_listed() -> None:
    pages = {path.stem for path in ROOT.glob("docs/protocols/*.md")}
    assert pages == set(GUIDES)


def test_every_citation_leads_to_a_heading() -> None:
    misleading = [
        f"{path}: {name} guide, {number}"
        for path, text in texts().items()
        for name, number in citations(text)
        if name not in GUIDES or number not in sections(name)
    ]
    assert misleading == []


def test_no_specification_is_cited_that_is_not_here() -> None:
    cited = [
        f"{path}: {match[0]}" for path, text in texts().items() for match in _SPEC.finditer(text)
    ]
    assert cited == []


def test_no_heading_has_a_number_twice() -> None:
    for guide in GUIDES:
        text = (ROOT / f"docs/protocols/{guide}.md").read_text(encoding="utf-8")
        numbers = _HEADING.findall(text)
        assert len(numbers) == len(set(numbers)), guide


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Source: SAP guide, 5.1, 5.2 and 9.", [("sap", "5.1"), ("sap", "5.2"), ("sap", "9")]),
        ("(apc guide, 5.6 to 5.8)", [("apc", "5.6"), ("apc", "5.8")]),
        ("the APC guide says", []),
    ],
)
def test_numbers_of_a_citation_are_read(text: str, expected: list[tuple[str, str]]) -> None:
    assert list(citations(text)) == expected
