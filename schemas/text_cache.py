"""A cache of functions of texts that is bounded in bytes: long texts are not cached."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, wraps
from typing import TypeVar, TypeVarTuple

Ts = TypeVarTuple("Ts")
R = TypeVar("R")

MAX_CHARS = 512
"""No id or name that our own clients make is longer; a sender may choose one of megabytes."""


def cache_short(size: int) -> Callable[[Callable[[*Ts], R]], Callable[[*Ts], R]]:
    """Return a decorator that caches `size` results of calls whose texts are short."""

    def decorate(function: Callable[[*Ts], R]) -> Callable[[*Ts], R]:
        @lru_cache(maxsize=size)
        def cached(args: tuple[*Ts]) -> R:
            return function(*args)

        @wraps(function)
        def call(*args: *Ts) -> R:
            return cached(args) if _are_short(args) else function(*args)

        return call

    return decorate


def _are_short(args: Iterable[object]) -> bool:
    for each in args:
        if isinstance(each, str | bytes):
            if len(each) > MAX_CHARS:
                return False
        elif isinstance(each, tuple) and not _are_short(each):
            return False
    return True
