"""Logging of processes: one line for each event on stderr, as text or as JSON.

Besides its message an event has fields by which to search: `task`, `position`, `code`,
`request_id`, `traceparent`.  Where a `traceparent` is known, a line of JSON has its parts under the
names that OpenTelemetry gives them in logs.  Secrets are masked as in the event stream.
"""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Mapping
from contextvars import ContextVar
from functools import cache
from types import MappingProxyType
from typing import Any, TextIO

import orjson

from streams.masking import Masker
from streams.settings.service import ServiceSettings

CONTEXT: ContextVar[Mapping[str, Any]] = ContextVar("log fields", default=MappingProxyType({}))
"""Fields of all events logged in one context, such as a request."""
_FIELDS = "headrace_fields"
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")


def fields(**values: Any) -> dict[str, Any]:
    """Return `extra=` of a log call: `log.info("task opened", extra=fields(task=3))`."""
    return {_FIELDS: values}


def trace_fields(traceparent: object) -> dict[str, str]:
    """Return `trace_id`, `span_id` and `trace_flags` of a W3C traceparent; nothing of another."""
    match = _TRACEPARENT.fullmatch(traceparent) if isinstance(traceparent, str) else None
    return (
        dict(zip(("trace_id", "span_id", "trace_flags"), match.groups(), strict=True))
        if match
        else {}
    )


def configure(settings: ServiceSettings) -> None:
    """Configure this process's logging from the settings; other packages log from warnings up."""
    root, headrace = logging.getLogger(), logging.getLogger("streams")
    root.handlers[:] = [handler(JsonLines() if settings.log_format == "json" else TextLines())]
    root.setLevel(logging.WARNING)
    headrace.setLevel(settings.log_level.upper())


def handler(lines: logging.Formatter) -> logging.Handler:
    """Return a handler that looks up stderr at each line, so that progress bars stay intact."""
    result = _Stderr()
    result.setFormatter(lines)
    return result


class TextLines(logging.Formatter):
    """A formatter: `2026-01-01 00:00:00,000 INFO task opened task=3`, then a traceback if any."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        return _escape(super().formatMessage(record))

    def format(self, record: logging.LogRecord) -> str:
        first, newline, remainder = super().format(record).partition("\n")
        suffix = "".join(f" {name}={_quote(value)}" for name, value in _fields_of(record).items())
        return masked(f"{first}{suffix}{newline}{remainder}")


class JsonLines(logging.Formatter):
    """A formatter of JSON objects: at (RFC 3339, UTC), level, logger, message and the fields.

    `error` is a traceback.
    """

    def format(self, record: logging.LogRecord) -> str:
        values = _fields_of(record)
        line = {
            "at": at(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": masked(record.getMessage()),
            **trace_fields(values.get("traceparent")),
            **{name: _plain(value) for name, value in values.items()},
        }
        if record.exc_info:
            line["error"] = masked(self.formatException(record.exc_info))
        return orjson.dumps(line).decode()


class _Stderr(logging.StreamHandler[TextIO]):
    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def at(seconds: float) -> str:
    """Format seconds since the epoch as RFC 3339 in UTC."""
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds % 1 * 1000):03}Z"


def _fields_of(record: logging.LogRecord) -> Mapping[str, Any]:
    return {**CONTEXT.get(), **getattr(record, _FIELDS, {})}


def _plain(value: Any) -> Any:
    known = value is None or isinstance(value, bool | int | float)
    return value if known else masked(str(value))


def _quote(value: Any) -> str:
    text = str(value)
    plain = text.isprintable() and text and not any(c in text for c in ' "=')
    return text if plain else _escape(orjson.dumps(text).decode())


def _escape(text: str) -> str:
    """Escape line breaks and terminal controls, which clients may have put into a text."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def masked(text: str) -> str:
    """Mask secrets in a text."""
    return _masker().text(text)


@cache
def _masker() -> Masker:
    return Masker()
