"""How processes log: one line for each event on stderr, as text or as JSON.

What is told of an event beside its sentence are fields, by which lines are found again: `task`,
`position`, `code`, `request_id`, `traceparent`.  Secrets are masked as in the event stream.
"""

from __future__ import annotations

import logging
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
"""Fields of all that is logged in one context, as a request is."""
_FIELDS = "headrace_fields"


def fields(**values: Any) -> dict[str, Any]:
    """For `extra=` of a log call: `log.info("task opened", extra=fields(task=3))`."""
    return {_FIELDS: values}


def configure(settings: ServiceSettings) -> None:
    """This process logs as the settings say; other packages from a warning on."""
    root, own = logging.getLogger(), logging.getLogger("streams")
    root.handlers[:] = [handler(JsonLines() if settings.log_format == "json" else TextLines())]
    root.setLevel(logging.WARNING)
    own.setLevel(settings.log_level.upper())


def handler(lines: logging.Formatter) -> logging.Handler:
    """To what stderr is when a line is written, so that lines and progress bars do not mix."""
    found = _Stderr()
    found.setFormatter(lines)
    return found


class TextLines(logging.Formatter):
    """`2026-01-01 00:00:00,000 INFO task opened task=3`, then a traceback if there is one."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        return _line(super().formatMessage(record))

    def format(self, record: logging.LogRecord) -> str:
        first, newline, rest = super().format(record).partition("\n")
        told = "".join(f" {name}={_word(value)}" for name, value in _told(record).items())
        return masked(f"{first}{told}{newline}{rest}")


class JsonLines(logging.Formatter):
    """An object: at (RFC 3339, UTC), level, logger, message, the fields; `error` is a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": at(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": masked(record.getMessage()),
            **{name: _plain(value) for name, value in _told(record).items()},
        }
        if record.exc_info:
            line["error"] = masked(self.formatException(record.exc_info))
        return orjson.dumps(line).decode()


class _Stderr(logging.StreamHandler[TextIO]):
    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def at(seconds: float) -> str:
    """seconds: since the epoch."""
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds % 1 * 1000):03}Z"


def _told(record: logging.LogRecord) -> Mapping[str, Any]:
    return {**CONTEXT.get(), **getattr(record, _FIELDS, {})}


def _plain(value: Any) -> Any:
    known = value is None or isinstance(value, bool | int | float)
    return value if known else masked(str(value))


def _word(value: Any) -> str:
    text = str(value)
    plain = text.isprintable() and text and not any(c in text for c in ' "=')
    return text if plain else _line(orjson.dumps(text).decode())


def _line(text: str) -> str:
    """On one line, whatever a client has put into it: no other line, nor what moves a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def masked(text: str) -> str:
    """Without the secrets that a text may hold."""
    return _masker().text(text)


@cache
def _masker() -> Masker:
    return Masker()
