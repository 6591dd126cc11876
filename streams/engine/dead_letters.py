"""Dead letters of records that cannot be decided: the content that is kept, and the error."""

from __future__ import annotations

import traceback
from pathlib import Path

from streams.engine import headers
from streams.engine.records import Output, Record
from topology.declarations import Topic
from topology.topics import dead_letters_of

KeyAndValue = tuple[bytes | None, bytes | None]
"""A record's key and value, masked where the topic is secret."""


def make_dead_letter(
    prefix: str, topic: Topic, record: Record, content: KeyAndValue, code: str, message: str
) -> Output:
    """Make the dead letter of a record, with its bytes if the dead-letter topic can hold them.

    An input's limit applies to compressed data, so a value that was small on the way in may be too
    large here.  Then the dead letter names the record's position instead of holding its bytes.
    """
    dlq_topic = dead_letters_of(topic)
    key, value = content
    masked = topic.secret
    heads = headers.dead_letter_headers(
        record, code, "" if masked else message, original=not masked
    )
    if masked:
        heads = [*heads, (headers.MASKED, b"true")]
    if len(value or b"") + len(key or b"") + headers.size(heads) > dlq_topic.max_bytes:
        size = str(len(record.value or b"")).encode()
        heads = headers.dead_letter_headers(record, code, "", original=False)
        heads = [*heads, (headers.OVERSIZE, size)]
        key, value = None, None
    return Output(prefix + dlq_topic.name, key, value, heads, 0)


def describe_failure(exc: Exception) -> str:
    """Return the type and place of a failure for the log.

    Its text is left out, because it may quote input.
    """
    frames = traceback.extract_tb(exc.__traceback__)[-3:]
    lines = " < ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in reversed(frames))
    return f"{type(exc).__name__} at {lines}"
