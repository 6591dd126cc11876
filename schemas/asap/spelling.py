"""The spellings of payload types: `TaskRequest`, `task.request`, `task_request`, `task-request`.

Source: ASAP guide, 2.4.
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
_MAX_CACHED_CHARS = 64
"""Longer texts are not cached: a sender may make them as long as a request."""


def normalize_payload_type(text: str) -> str | None:
    """Return the canonical name of a payload type in any spelling, None for an unknown one."""
    return _match_letters_cached(text) if len(text) <= _MAX_CACHED_CHARS else _match_letters(text)


def _match_letters(text: str) -> str | None:
    return _BY_LETTERS.get(_NOISE.sub("", text.lower()))


_match_letters_cached = lru_cache(maxsize=1024)(_match_letters)


def join_words(name: str, separator: str) -> str:
    """Return a canonical name in lower case, its words joined by a separator."""
    return separator.join(_WORD.findall(name)).lower()


def dotted(name: str) -> str:
    """Return the spelling that deployed 0.1 peers look handlers up by, `task.request`."""
    return join_words(name, ".")


def snake(name: str) -> str:
    return join_words(name, "_")


def kebab(name: str) -> str:
    return join_words(name, "-")


def respell(name: str, like: str) -> str:
    """Spell a canonical name like another payload type: PascalCase, dotted, snake or kebab."""
    separator = next((mark for mark in like if mark in _SEPARATORS), None)
    return name if separator is None else join_words(name, separator)
