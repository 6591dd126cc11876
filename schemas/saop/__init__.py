"""SAOP turn envelopes and rewind commands: models, validation, hashes."""

from schemas.members import MAX_ERRORS
from schemas.parsing import ParseError
from schemas.saop.forms import (
    drop_unknown_rewind,
    drop_unknown_turn,
    rewind_hash,
    turn_hash,
    turn_json,
)
from schemas.saop.models import Content, Metadata, Rewind, Turn
from schemas.saop.validate import validate_rewind, validate_turn

__all__ = [
    "MAX_ERRORS",
    "Content",
    "Metadata",
    "ParseError",
    "Rewind",
    "Turn",
    "drop_unknown_rewind",
    "drop_unknown_turn",
    "rewind_hash",
    "turn_hash",
    "turn_json",
    "validate_rewind",
    "validate_turn",
]
