"""Dead letters: what is kept of a record that cannot be judged, and what is said of it."""

from __future__ import annotations

import traceback
from pathlib import Path

from streams.engine import headers
from streams.engine.records import Output, Record
from topology.declarations import Topic
from topology.topics import dead_letters_of

Kept = tuple[bytes | None, bytes | None]
"""Key and value, masked where the topic is secret."""


def letter(
    prefix: str, topic: Topic, record: Record, kept: Kept, code: str, message: str
) -> Output:
    """The bytes of a record, unless they exceed the topic that keeps them.

    An input's limit is on what it took compressed: a value that was small on the way in may
    be too large here. Then the letter says where it lies instead of holding it.
    """
    letters = dead_letters_of(topic)
    key, value = kept
    masked = topic.secret
    heads = headers.dead_letter(record, code, "" if masked else message, original=not masked)
    if masked:
        heads = [*heads, (headers.MASKED, b"true")]
    if len(value or b"") + len(key or b"") + headers.size(heads) > letters.max_bytes:
        size = str(len(record.value or b"")).encode()
        heads = headers.dead_letter(record, code, "", original=False)
        heads = [*heads, (headers.OVERSIZE, size)]
        key, value = None, None
    return Output(prefix + letters.name, key, value, heads, 0)


def told(exc: Exception) -> str:
    """What a log may say of a failure: its type and place, not its text, which may quote input."""
    frames = traceback.extract_tb(exc.__traceback__)[-3:]
    places = " < ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in reversed(frames))
    return f"{type(exc).__name__} at {places}"
