"""Sections that show a file of docs/protocols/examples."""

from __future__ import annotations

from streams.docs.guides.examples import CASES
from streams.docs.markdown import fenced

_LANGUAGES = {"jsonl": "json"}


def file_section(protocol: str, name: str) -> str:
    """Return the content of a file that the guide's examples use."""
    suffix = name.rpartition(".")[2]
    text = (CASES / protocol / name).read_text(encoding="utf-8")
    return fenced(_LANGUAGES.get(suffix, suffix), text)
