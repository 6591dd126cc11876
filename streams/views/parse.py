"""Parser of query parameters, by their declarations."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import parse_qsl

from schemas import Problem
from schemas.formats import parse_ms
from streams.errors import InvalidInput
from streams.views.keys import key
from streams.views.positions import Position
from streams.views.query_params import AFTER, Parameter

_MAX_FIELDS = 100


class QueryError(InvalidInput):
    """A query parameter is unknown, missing or has a value that is not allowed."""

    default_advice = "Correct the query."

    def __init__(self, name: str, message: str, rule: str = "query_value") -> None:
        super().__init__([Problem(rule, name, message)])


class QueryParams:
    """The query parameters of one request.

    Raises QueryError for a parameter that is unknown, repeated, missing or not allowed.
    """

    def __init__(self, query: str, declared: Sequence[Parameter]) -> None:
        known = {parameter.name: parameter for parameter in declared}
        self._declared = known
        self._values: dict[str, str] = {}
        for name, value in _parse_pairs(query):
            if name not in known:
                names = ", ".join(known) or "none"
                raise QueryError(name, f"unknown query parameter; known are {names}")
            if name in self._values:
                raise QueryError(name, "given more than once")
            self._values[name] = value
        for name, parameter in known.items():
            text = self._values.get(name)
            if text is None and parameter.required:
                raise QueryError(name, "a query parameter that must be given")
            if text is not None and (fault := parameter.fault(text)):
                raise QueryError(name, fault, parameter.rule)

    def text(self, name: str) -> str | None:
        return self._values.get(name)

    def required(self, name: str) -> str:
        return self._values[name]

    def number(self, name: str) -> int | None:
        """Return a whole number; the default if the request does not have the parameter."""
        value = self._values.get(name)
        return self._declared[name].default if value is None else int(value)

    def limit(self) -> int:
        return self.number("limit") or 1

    def flag(self, name: str) -> bool:
        value = self._values.get(name)
        return bool(self._declared[name].default) if value is None else value == "true"

    def time(self, name: str) -> int | None:
        """Return a time in ms since the epoch."""
        value = self._values.get(name)
        return None if value is None else parse_ms(value)

    def window(self, prefix: bytes) -> tuple[bytes | None, bytes | None]:
        """Return the least key of `from` and that of `to`, of keys that a time follows."""
        start, end = (
            None if at is None else prefix + key(at) for at in (self.time("from"), self.time("to"))
        )
        return start, end

    def position(self, name: str = "after") -> Position | None:
        value = self._values.get(name)
        return None if value is None else parse_position(value, name)


def _parse_pairs(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
    except ValueError as exc:
        raise QueryError("", "a query of at most 100 percent-encoded UTF-8 parameters") from exc


def parse_position(text: str, name: str = "after") -> Position:
    """Parse `topic/partition/offset`.  Raises QueryError."""
    fault = AFTER.fault(text)
    if fault is not None:
        raise QueryError(name, fault)
    topic, partition, offset = text.split("/")
    return Position(topic, int(partition), int(offset))
