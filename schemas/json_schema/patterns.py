"""Patterns that users wrote, searched in time linear in the text.

Patterns come from operators' files and from issuers' JSON Schemas, and are searched for in texts
that agents wrote.  Python's own engine can take exponential time for such a pair, so RE2 is used.
It has no look-around and no back references: a pattern that needs them is refused.

RE2 expands repetitions: up to a hundred letters of any script are a program of 120,000
instructions, which takes 60 ms and 10 MB to compile.  So the patterns of one document have a
PatternBudget, and compiled patterns stay in a cache that is bounded by the size of programs.

Source: SAP guide, 3.3, 3.4; Summit guide, 2.6.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, Protocol

from schemas.json_schema.cache import WeightedCache

MOST_PATTERNS = 1_000
"""The most patterns in one document: a contract's schema, or all schemas of a manifest."""
MOST_INSTRUCTIONS = 250_000
"""The most instructions of their programs together: 0.2 s and 20 MB."""
MOST_CACHED = 2_000_000
"""The most instructions in the cache."""
_REFUSED_INSTRUCTIONS = 25_000
"""Instructions counted for a pattern that is refused, since that takes time as well."""
_PATTERN_INSTRUCTIONS = 1_000
"""Instructions counted for the memory that a pattern takes in searches, beside its program."""
_CODE_POINT = re.compile(r"(?<!\\)((?:\\\\)*)\\u([0-9A-Fa-f]{4})")
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_PART = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
"""An escape or a whole set of characters."""
_CLASSES = {r"\d": r"\p{Nd}", r"\w": r"\pL\pN_", r"\s": r"\s\x{1c}-\x{1f}\x{85}\v\pZ"}
_MAX_REASON = 200


class NotLinear(ValueError):
    """An error for a pattern that the linear-time engine refuses."""


class PatternsTooLarge(NotLinear):
    """An error for a document whose patterns are too many, or too large together when compiled."""


class Pattern(Protocol):
    def search(self, text: str, /) -> object | None: ...


class _Re2Pattern:
    def __init__(self, pattern: str) -> None:
        self._compiled = _compile_re2(pattern, never_capture=True)
        self.instructions: int = self._compiled.programsize

    def search(self, text: str, /) -> object | None:
        match: object | None = self._compiled.search(_replace_surrogates(text))
        return match


class WholePattern:
    """A pattern for whole texts, with named groups.  Raises NotLinear.

    names: of its groups.
    """

    def __init__(self, pattern: str) -> None:
        self._compiled = _compile_re2(_with_unicode_classes(pattern), never_capture=False)
        self.names: frozenset[str] = frozenset(self._compiled.groupindex)

    def groups(self, text: str) -> dict[str, str | None] | None:
        """Return the texts of the named groups if the whole text matches, else None."""
        match = self._compiled.fullmatch(_replace_surrogates(text))
        return None if match is None else match.groupdict()


def _with_unicode_classes(pattern: str) -> str:
    r"""Return the pattern with `\d`, `\w` and `\s` of all scripts, which are ASCII to RE2."""
    return _PART.sub(_with_unicode_class, pattern)


def _with_unicode_class(part: re.Match[str]) -> str:
    if part[0][0] == "[":
        return _ESCAPE.sub(lambda escape: _CLASSES.get(escape[0], escape[0]), part[0])
    members = _CLASSES.get(part[0])
    return part[0] if members is None else f"[{members}]"


def _compile_re2(pattern: str, *, never_capture: bool) -> Any:
    re2: Any = import_module("re2")  # a C++ library, loaded only for patterns
    options = re2.Options()  # its max_mem, 8 MB, bounds each program and each search
    options.log_errors = False
    options.never_capture = never_capture
    try:
        return re2.compile(_to_re2_syntax(_replace_surrogates(pattern)), options)
    except re2.error as exc:
        raise NotLinear(f"the linear-time engine does not take it: {_error_text(exc)}") from exc


def _to_re2_syntax(pattern: str) -> str:
    r"""Convert code points to the syntax of RE2: `\x{0041}` for JSON Schema's `\u0041`."""
    return _CODE_POINT.sub(r"\1\\x{\2}", pattern)


def _error_text(exc: Exception) -> str:
    """Return the engine's message, shortened: it may quote the whole pattern."""
    reason = exc.args[0] if exc.args else "no reason given"
    text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
    return text if len(text) <= _MAX_REASON else f"{text[:_MAX_REASON]}…"


def _replace_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _compile(pattern: str) -> _Re2Pattern | NotLinear:
    try:
        return _Re2Pattern(pattern)
    except NotLinear as exc:
        return NotLinear(str(exc))


def _weigh(entry: _Re2Pattern | NotLinear) -> int:
    size = entry.instructions if isinstance(entry, _Re2Pattern) else 0
    return _PATTERN_INSTRUCTIONS + size


_cache = WeightedCache(_compile, _weigh, MOST_CACHED)


def compiled(pattern: str) -> Pattern:
    """Compile a pattern, or return it from the cache.  Raises NotLinear."""
    return _cached_pattern(pattern)


def _cached_pattern(pattern: str) -> _Re2Pattern:
    entry = _cache.get(pattern)
    if isinstance(entry, NotLinear):
        raise NotLinear(str(entry))
    return entry


class PatternBudget:
    """A limit on the number and the compiled size of the patterns in one document."""

    def __init__(self) -> None:
        self._patterns: set[str] = set()
        self.instructions = 0

    def check(self, pattern: str) -> None:
        """Compile a pattern if the limits are not exceeded yet.

        Raises NotLinear for a pattern that the engine refuses, PatternsTooLarge beyond the limits.
        """
        if pattern in self._patterns:
            return
        if self.instructions <= MOST_INSTRUCTIONS and len(self._patterns) < MOST_PATTERNS:
            self._spend(pattern)
        else:
            self.instructions = MOST_INSTRUCTIONS + 1
        if self.instructions > MOST_INSTRUCTIONS:
            raise PatternsTooLarge(
                f"a schema has at most {MOST_PATTERNS} patterns, which the linear-time engine "
                f"compiles to {MOST_INSTRUCTIONS} instructions at most"
            )
        self._patterns.add(pattern)

    def _spend(self, pattern: str) -> None:
        try:
            self.instructions += _cached_pattern(pattern).instructions
        except NotLinear:
            self.instructions += _REFUSED_INSTRUCTIONS
            raise
