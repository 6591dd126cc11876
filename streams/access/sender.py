"""The member of an envelope that names its sender, and the names a principal may use there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from streams.access.callers import Caller


class Sender(NamedTuple):
    """The rule for the sender of an envelope.

    rule: the rule code of the refusal.  path: the member that names the sender.
    name: returns that member's value.  may: returns whether the caller may use that name; by
    default it must be the caller's own.
    fills: an envelope without a sender is sent in the caller's own name.
    """

    rule: str
    path: str
    name: Callable[[Any], str | None]
    may: Callable[[Caller, str | None], bool] = Caller.is_called
    fills: bool = False


def _member_at(*path: str) -> Callable[[Any], str | None]:
    def name(value: Any) -> str | None:
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        return value if isinstance(value, str) else None

    return name


def own_name(rule: str, *path: str, fills: bool = False) -> Sender:
    return Sender(rule, "/" + "/".join(path), _member_at(*path), fills=fills)


def own_name_or_operator(rule: str, *path: str) -> Sender:
    """Return the rule of a sender whose name operators may choose freely."""

    def may(caller: Caller, name: str | None) -> bool:
        return caller.is_operator or caller.is_called(name)

    return own_name(rule, *path)._replace(may=may)
