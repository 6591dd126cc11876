"""The rules for the labels of a policy file: name, version and description, which decide nothing.

Source: policies, 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from schemas import Problem


class Label(NamedTuple):
    """A label.  pattern: what its whole text matches.  meaning: that in words."""

    pattern: str
    meaning: str
    required: bool = True


LABELS: Mapping[str, Label] = {
    "name": Label(r"[a-z0-9][a-z0-9-]{0,62}", "1 to 63 of a-z, 0-9 and -, no - first"),
    "version": Label(r"(?s:.{1,64})", "1 to 64 characters"),
    "description": Label(r"(?s:.{0,2000})", "at most 2000 characters", required=False),
}


def label_problems(document: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what is wrong with the labels of a file."""
    for name, label in LABELS.items():
        value = document.get(name)
        if name not in document:
            if label.required:
                yield Problem("member_missing", f"/{name}", f"{name} is {label.meaning}")
        elif type(value) is not str:
            yield Problem("member_type", f"/{name}", f"{name} is a text")
        elif not re.fullmatch(label.pattern, value):
            yield Problem("text_invalid", f"/{name}", f"{name} is {label.meaning}")
