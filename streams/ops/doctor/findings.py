"""What the doctor says: one finding for each thing that it looks at."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from streams.errors import HeadraceError


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"  # it works, but look at it
    FAIL = "fail"  # something that headrace needs is not as it must be


class Finding(NamedTuple):
    """check: what was looked at, one or two words.  advice: what to do; empty when all is well."""

    check: str
    level: Level
    said: str
    advice: str = ""


def ok(check: str, said: str) -> Finding:
    return Finding(check, Level.OK, said)


def warn(check: str, said: str, advice: str) -> Finding:
    return Finding(check, Level.WARN, said, advice)


def fail(check: str, said: str, advice: str) -> Finding:
    return Finding(check, Level.FAIL, said, advice)


def failed(check: str, exc: HeadraceError) -> Finding:
    return fail(check, f"{exc.code}: {exc.message}", exc.advice)
