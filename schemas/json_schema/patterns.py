"""Patterns that others wrote, searched in time linear in the text.

Patterns come from operators' files and from issuers' JSON Schemas, and meet texts that agents
wrote.  Python's own engine can take exponential time for such a pair, so they go through RE2,
which has no look-around and no back references: a pattern that needs them is not taken.

Source: SAP spec, 3.3, 3.4.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import import_module
from typing import Any, Protocol

_CODE_POINT = re.compile(r"(?<!\\)((?:\\\\)*)\\u([0-9A-Fa-f]{4})")
_LONGEST_REASON = 200


class NotLinear(ValueError):
    """The engine does not take the pattern."""


class Pattern(Protocol):
    def search(self, text: str, /) -> object | None: ...


class _Re2Pattern:
    def __init__(self, pattern: str) -> None:
        re2: Any = import_module("re2")  # a C++ library, loaded where a pattern is met
        options = re2.Options()
        options.log_errors = False
        options.never_capture = True
        try:
            self._compiled = re2.compile(_spelled(_encodable(pattern)), options)
        except re2.error as exc:
            raise NotLinear(f"the linear-time engine does not take it: {_reason(exc)}") from exc

    def search(self, text: str, /) -> object | None:
        found: object | None = self._compiled.search(_encodable(text))
        return found


def _spelled(pattern: str) -> str:
    """JSON Schema writes a code point as `\\u0041`, the engine as `\\x{0041}`."""
    return _CODE_POINT.sub(r"\1\\x{\2}", pattern)


def _reason(exc: Exception) -> str:
    """What the engine says; it quotes as much of the pattern as it likes."""
    said = exc.args[0] if exc.args else "no reason given"
    told = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
    return told if len(told) <= _LONGEST_REASON else f"{told[:_LONGEST_REASON]}…"


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Pattern:
    """Raises NotLinear."""
    return _Re2Pattern(pattern)
