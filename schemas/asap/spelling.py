"""How payload types are written: `TaskRequest`, `task.request`, `task_request`, `task-request`.

Source: ASAP spec 2.4, clarification 9.11.
"""

from __future__ import annotations

import re
from functools import lru_cache

from schemas.asap.mapping import PAYLOAD_RECORDS

PAYLOAD_TYPES = tuple(PAYLOAD_RECORDS)
_NOISE = re.compile("[^a-z0-9]")
_WORD = re.compile("[A-Z][a-z]*")
_BY_LETTERS = {name.lower(): name for name in PAYLOAD_TYPES}
_SEPARATORS = "._-"
_KEPT_CHARS = 64
"""Longer texts are not remembered: a sender may make them as long as a request."""


def normalize_payload_type(text: str) -> str | None:
    """The canonical name of a payload type in any spelling, None for an unknown one."""
    return _known(text) if len(text) <= _KEPT_CHARS else _named(text)


def _named(text: str) -> str | None:
    return _BY_LETTERS.get(_NOISE.sub("", text.lower()))


_known = lru_cache(maxsize=1024)(_named)


def spelled(name: str, separator: str) -> str:
    """A canonical name in lower case, its words joined by a separator."""
    return separator.join(_WORD.findall(name)).lower()


def dotted(name: str) -> str:
    """The spelling that deployed 0.1 peers look handlers up by, `task.request`."""
    return spelled(name, ".")


def snake(name: str) -> str:
    return spelled(name, "_")


def kebab(name: str) -> str:
    return spelled(name, "-")


def respell(name: str, like: str) -> str:
    """A canonical name in the style of another payload type: PascalCase, dotted, snake or kebab."""
    separator = next((mark for mark in like if mark in _SEPARATORS), None)
    return name if separator is None else spelled(name, separator)
