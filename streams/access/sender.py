"""Which member of an envelope names its sender, and as whom a principal may speak."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from streams.access.callers import Caller


class Sender(NamedTuple):
    """rule: of the refusal.  path: the member that names the sender.

    name: that member's value.  may: whether the caller may send a value in that name; default: it
    is their own.  fills: who sends without a name, sends in their own.
    """

    rule: str
    path: str
    name: Callable[[Any], str | None]
    may: Callable[[Caller, str | None], bool] = Caller.is_called
    fills: bool = False


def _at(*path: str) -> Callable[[Any], str | None]:
    def name(value: Any) -> str | None:
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        return value if isinstance(value, str) else None

    return name


def own(rule: str, *path: str, fills: bool = False) -> Sender:
    return Sender(rule, "/" + "/".join(path), _at(*path), fills=fills)


def or_operator(rule: str, *path: str) -> Sender:
    """Operators may send it in any name."""

    def may(caller: Caller, name: str | None) -> bool:
        return caller.is_operator or caller.is_called(name)

    return own(rule, *path)._replace(may=may)
