"""The trace of an envelope that names none (ASAP guide, 2.4)."""

from __future__ import annotations

from typing import Any

from schemas.asap.envelope import Envelope
from schemas.asap.errors import MalformedEnvelopeError
from schemas.asap.forms import hash_of
from schemas.asap.keys import task_key
from schemas.asap.validate import is_id

JsonObject = dict[str, Any]


def derived_trace(envelope: Envelope | JsonObject) -> str | None:
    """Return the id of the envelope's task or call; without a readable one the envelope's own id.

    Derived and not made up, so that an envelope that is sent again has the same trace.
    None if there is neither.
    """
    try:
        key: Any = task_key(envelope)
    except MalformedEnvelopeError:
        key = None
    if not is_id(key):
        key = envelope.id if isinstance(envelope, Envelope) else envelope.get("id")
    return key if is_id(key) else None


def with_trace(envelope: Envelope) -> Envelope:
    """Return the envelope with a trace: its own, or else the derived one."""
    trace = None if envelope.trace_id is not None else derived_trace(envelope)
    return envelope if trace is None else envelope.model_copy(update={"trace_id": trace})


def other_hash(canonical: JsonObject) -> str | None:
    """Return the hash that an envelope had before its trace was filled in, or has after it.

    None for a trace that the sender chose.  canonical: the form of a valid envelope.
    """
    trace, derived = canonical["trace_id"], derived_trace(canonical)
    if trace not in (None, derived):
        return None
    return hash_of({**canonical, "trace_id": derived if trace is None else None})
