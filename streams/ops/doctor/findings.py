"""The findings of the doctor: one for each check."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from streams.errors import HeadraceError


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"  # it works, but needs attention
    FAIL = "fail"  # headrace cannot work like this


class Check(NamedTuple):
    """The result of one check.

    check: its name, one or two words.  advice: what to do; empty if nothing is wrong.
    """

    check: str
    level: Level
    said: str
    advice: str = ""


def ok(check: str, message: str) -> Check:
    return Check(check, Level.OK, message)


def warn(check: str, message: str, advice: str) -> Check:
    return Check(check, Level.WARN, message, advice)


def fail(check: str, message: str, advice: str) -> Check:
    return Check(check, Level.FAIL, message, advice)


def failed(check: str, exc: HeadraceError) -> Check:
    return fail(check, f"{exc.code}: {exc.message}", exc.advice)
