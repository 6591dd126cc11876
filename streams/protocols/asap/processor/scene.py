"""One decision: what it rests on, what it writes, and the ids it gives out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas import asap, uuid5_url
from streams.engine.headers import iso
from streams.engine.processor import AvroValue, Timer, Work
from streams.engine.records import Headers
from streams.processing.decision import Decision, traceparent_of
from topology.asap import ASAP_INBOX

_FACT, _SNAPSHOT, _FIRST_ENVELOPE = 0, 1, 2
"""Numbers of the ids that one decision makes (spec 1)."""


class Scene(Decision):
    """A decision of ASAP, with the ids that it makes."""

    __slots__ = ("_envelopes", "_events")

    def __init__(self, work: Work, cause: str, at: int, traceparent: bytes | None = None) -> None:
        super().__init__(work, cause, at, traceparent)
        self._envelopes = _FIRST_ENVELOPE
        self._events = 0

    def setting(self, name: str) -> Any:
        return self.work.settings[f"ASAP_{name}"]

    @property
    def time(self) -> str:
        """Now, ISO 8601 in UTC with milliseconds."""
        return iso(self.at).decode()

    @property
    def fact_id(self) -> str:
        return self.derived_id(_FACT)

    @property
    def snapshot_id(self) -> str:
        return self.derived_id(_SNAPSHOT)

    def derived_id(self, n: int) -> str:
        return asap.derived_id(self.cause, n, self.at)

    def next_envelope_id(self) -> str:
        """The id of the next envelope that the service makes in this decision."""
        made = self.derived_id(self._envelopes)
        self._envelopes += 1
        return made

    def deliver(self, recipient: str, envelope: AvroValue, id: str, headers: Headers = ()) -> None:
        """Put an envelope into an agent's inbox.  envelope: AsapEnvelope."""
        self.send(ASAP_INBOX, recipient, envelope, id, headers)

    def report(self, session_id: str, record: str, payload: Mapping[str, Any]) -> None:
        """Tell RTES.  record: of the payload, as `headrace.rtes.TaskTransition`."""
        event_id = uuid5_url(f"headrace:{self.cause}/{self._events}")
        self._events += 1
        self.tell_rtes("asap", event_id, session_id, record, payload)


def of_timer(timer: Timer, work: Work) -> Scene:
    """The decision that a timer makes: dated when it was due, whenever it fires."""
    return due(work, timer.due_ms, timer.kind, timer.key, traceparent_of(timer))


def due(work: Work, due_ms: int, kind: str, key: str, traceparent: bytes | None = None) -> Scene:
    """The same, of a timer whose row is not at hand."""
    return Scene(work, f"timer/{kind}/{key}/{due_ms}", due_ms, traceparent)
