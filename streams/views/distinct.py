"""The first parts of keys, each once, without the rows that share them."""

from __future__ import annotations

from collections.abc import Iterator

from streams.views.keys import after, first_text, text_key
from streams.views.reads import RowReader


def distinct_texts(view: RowReader, prefix: bytes, start: str | None = None) -> Iterator[str]:
    """Yield the texts that follow a prefix in keys, in order.

    Each one takes one seek, however many rows there are.  start: the first text, inclusive.
    """
    first = None if start is None else prefix + text_key(start)
    while (entry := next(iter(view.scan(prefix, first)), None)) is not None:
        text = first_text(entry[0][len(prefix) :])
        yield text
        first = after(prefix + text_key(text))
