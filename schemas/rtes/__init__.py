"""RTES events, the observations of running sessions: models, validation, hashes."""

from schemas.parsing import ParseError
from schemas.rtes.forms import content_hash, drop_unknown, event_json
from schemas.rtes.models import (
    EscalationRaised,
    Event,
    Payload,
    SandboxPulse,
    TaskTransition,
    ThoughtStream,
    ToolCompleted,
    ToolInvoked,
)
from schemas.rtes.validate import MAX_ERRORS, validate_event, validate_payload

__all__ = [
    "MAX_ERRORS",
    "EscalationRaised",
    "Event",
    "ParseError",
    "Payload",
    "SandboxPulse",
    "TaskTransition",
    "ThoughtStream",
    "ToolCompleted",
    "ToolInvoked",
    "content_hash",
    "drop_unknown",
    "event_json",
    "validate_event",
    "validate_payload",
]
