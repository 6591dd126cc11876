"""What following a stream takes, from Kafka directly or over HTTP: cursors and filters."""

from streams.tailing.cursors import (
    EARLIEST,
    LATEST,
    CursorAhead,
    CursorExpired,
    CursorInvalid,
    check_offsets,
    check_sequence,
    parse_offsets,
    parse_sequence,
)
from streams.tailing.filters import Filters
from streams.tailing.places import OffsetPlace, Place, SequencePlace

__all__ = [
    "EARLIEST",
    "LATEST",
    "CursorAhead",
    "CursorExpired",
    "CursorInvalid",
    "Filters",
    "OffsetPlace",
    "Place",
    "SequencePlace",
    "check_offsets",
    "check_sequence",
    "parse_offsets",
    "parse_sequence",
]
