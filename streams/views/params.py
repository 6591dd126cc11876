"""Query parameters and pages."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Collection, Iterator
from typing import Any
from urllib.parse import parse_qsl

from schemas import Problem
from streams.errors import InvalidInput
from streams.views.keys import after
from streams.views.view import Position, View

_MOST = 2**53 - 1


class QueryError(InvalidInput):
    """A parameter is unknown, missing or has no allowed value."""

    default_advice = "Correct the query."

    def __init__(self, name: str, message: str, rule: str = "query_value") -> None:
        super().__init__([Problem(rule, name, message)])


class Params:
    """The parameters of one request.  Raises QueryError for one that is unknown or repeated."""

    def __init__(self, query: str, known: Collection[str]) -> None:
        self._values: dict[str, str] = {}
        for name, value in parse_qsl(query, keep_blank_values=True):
            if name not in known:
                raise QueryError(name, f"unknown query parameter; known are {', '.join(known)}")
            if name in self._values:
                raise QueryError(name, "given more than once")
            self._values[name] = value

    def text(self, name: str) -> str | None:
        return self._values.get(name)

    def required(self, name: str) -> str:
        value = self.text(name)
        if value is None:
            raise QueryError(name, "a query parameter that must be given")
        return value

    def packet_id(self) -> str | None:
        value = self.text("packet_id")
        return None if value is None else value.lower()

    def number(
        self, name: str, low: int, high: int = _MOST, *, rule: str = "query_value"
    ) -> int | None:
        value = self._values.get(name)
        if value is None:
            return None
        plain = value.isascii() and value.isdigit() and len(value) <= 16
        if not plain or not low <= int(value) <= high:
            bounds = f"at least {low}" if high == _MOST else f"{low} to {high}"
            raise QueryError(name, f"a whole number, {bounds}", rule)
        return int(value)

    def integer(self, name: str) -> int | None:
        """With a sign, if there is one."""
        value = self._values.get(name)
        if value is None:
            return None
        digits = value.removeprefix("-")
        if not digits.isascii() or not digits.isdigit() or len(digits) > 16:
            raise QueryError(name, "a whole number")
        return int(value)

    def limit(self, default: int, high: int = _MOST, *, rule: str = "query_value") -> int:
        return self.number("limit", 1, high, rule=rule) or default

    def flag(self, name: str, default: bool) -> bool:
        value = self._values.get(name)
        if value is None:
            return default
        if value not in ("true", "false"):
            raise QueryError(name, "true or false")
        return value == "true"

    def choice(self, name: str, choices: Collection[str]) -> str | None:
        value = self._values.get(name)
        if value is not None and value not in choices:
            raise QueryError(name, f"one of {', '.join(choices)}")
        return value

    def position(self, name: str = "after") -> Position | None:
        value = self._values.get(name)
        return None if value is None else parse_position(value, name)


def parse_position(text: str, name: str = "after") -> Position:
    """`topic/partition/offset`."""
    topic, _, rest = text.partition("/")
    partition, _, offset = rest.partition("/")
    numbers = (partition, offset)
    if not topic or not all(n.isascii() and n.isdigit() and len(n) <= 18 for n in numbers):
        raise QueryError(name, "a position, topic/partition/offset")
    return Position(topic, int(partition), int(offset))


def page(
    view: View,
    prefix: bytes,
    params: Params,
    limit: int,
    item: Callable[[bytes], Any],
    start: bytes | None = None,
) -> dict[str, Any]:
    """Rows under a prefix as `{"items", "next"}`; item gives None for a row that does not fit."""
    resumed = _resume(prefix, params.text("cursor"))
    found = _fitting(view, prefix, max(start or prefix, resumed or prefix), item)
    items: list[Any] = []
    last = None
    for row_key, value in found:
        if len(items) == limit:
            return {"items": items, "next": _cursor(last or prefix)}
        items.append(value)
        last = row_key
    return {"items": items, "next": None}


def _fitting(
    view: View, prefix: bytes, start: bytes, item: Callable[[bytes], Any]
) -> Iterator[tuple[bytes, Any]]:
    for row_key, row in view.scan(prefix, start):
        value = item(row)
        if value is not None:
            yield row_key, value


def _cursor(last: bytes) -> str:
    return base64.urlsafe_b64encode(last).decode().rstrip("=")


def _resume(prefix: bytes, cursor: str | None) -> bytes | None:
    """Where the next page begins.  A cursor of another query is refused."""
    if cursor is None:
        return None
    try:
        last = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        last = b""
    if not last.startswith(prefix) or last == b"":
        raise QueryError("cursor", "not a cursor of this query")
    return after(last)
