"""The guides in docs/protocols: prose by hand, with generated sections between markers.

A section begins with `<!-- generated: NAME ARGUMENT… -->` and ends with `<!-- end -->`.
`GENERATORS` lists the names; the protocol is that of the guide's file.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from streams.docs.guides.declared import (
    machine_section,
    profiles_section,
    settings_section,
    topics_section,
)
from streams.docs.guides.files import file_section
from streams.docs.guides.filled import filled_section
from streams.docs.guides.objects import fields_section
from streams.docs.guides.records import record_section
from streams.docs.guides.rules import rules_section

DIRECTORY = Path(__file__).resolve().parents[3] / "docs" / "protocols"
GENERATORS: Mapping[str, Callable[..., str]] = {
    "fields": fields_section,
    "record": record_section,
    "machine": machine_section,
    "profiles": profiles_section,
    "rules": rules_section,
    "settings": settings_section,
    "topics": topics_section,
    "filled": filled_section,
    "file": file_section,
}
"""By name; each takes the protocol and the arguments of the marker, and returns Markdown."""

_SECTION = re.compile(r"(<!-- generated: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def render(protocol: str, text: str) -> str:
    """Return a guide's text with every generated section made anew."""
    return _SECTION.sub(lambda match: f"{match[1]}{_section(protocol, match[2])}{match[3]}", text)


def _section(protocol: str, marker: str) -> str:
    name, *arguments = shlex.split(marker)
    return GENERATORS[name](protocol, *arguments)


def guides(directory: Path = DIRECTORY) -> list[Path]:
    return sorted(directory.glob("*.md"))


def drift(directory: Path = DIRECTORY) -> list[str]:
    """Return the names of the guides that differ from what the declarations generate."""
    texts = {guide: guide.read_text(encoding="utf-8") for guide in guides(directory)}
    return [guide.name for guide, text in texts.items() if render(guide.stem, text) != text]


def write(directory: Path = DIRECTORY) -> None:
    for guide in guides(directory):
        text = guide.read_text(encoding="utf-8")
        guide.write_text(render(guide.stem, text), encoding="utf-8")
