"""SAOP turn envelopes and rewind commands: models, validation, hashes."""

from schemas.members import MAX_ERRORS
from schemas.parsing import ParseError
from schemas.saop.forms import (
    control_hash,
    drop_unknown_control,
    drop_unknown_rewind,
    drop_unknown_turn,
    rewind_hash,
    turn_hash,
    turn_json,
)
from schemas.saop.models import Content, Control, Metadata, Rewind, Turn
from schemas.saop.validate import validate_control, validate_rewind, validate_turn

__all__ = [
    "MAX_ERRORS",
    "Content",
    "Control",
    "Metadata",
    "ParseError",
    "Rewind",
    "Turn",
    "control_hash",
    "drop_unknown_control",
    "drop_unknown_rewind",
    "drop_unknown_turn",
    "rewind_hash",
    "turn_hash",
    "turn_json",
    "validate_control",
    "validate_rewind",
    "validate_turn",
]
