"""The error where an adapter's library is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs_library(extra: str) -> Iterator[None]:
    """Raise ImportError, naming the extra, when a library that the block imports is missing."""
    try:
        yield
    except ModuleNotFoundError as exc:
        advice = f"install it with `pip install 'headrace[{extra}]'`"
        raise ImportError(f"{exc}; {advice}", name=exc.name) from exc
