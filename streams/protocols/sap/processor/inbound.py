"""A command record, read once: a Task, a Result or a Signal as it came."""

from __future__ import annotations

from typing import Any

from schemas import Problem, sap
from schemas.formats import is_uuid
from schemas.sap.words import MAX_ENVELOPE_BYTES
from streams.engine.processor import AvroValue, Message
from streams.engine.records import header, position
from topology.declarations import Topic
from topology.sap import SAP_RESULTS, SAP_SIGNALS, SAP_TASKS

Json = dict[str, Any]

_KINDS: dict[Topic, str] = {SAP_TASKS: "task", SAP_RESULTS: "result", SAP_SIGNALS: "signal"}
_NO_KEY = "-"
MAX_TEXT = 1024
"""Characters of a text of the protocol (spec 2); a header never holds more."""


class Command:
    """value: Avro.  json: its JSON form, nulls left out.  problems: the first one decides.

    sha256: the canonical hash, None for what has no canonical JSON.
    """

    def __init__(self, message: Message) -> None:
        self.message = message
        self.kind = _KINDS[message.topic]
        self.value: AvroValue = message.value
        judged = sap.judge(self.kind, message.value)
        self.json: Json = judged.json
        self.problems: list[Problem] = judged.problems
        self.sha256: str | None = judged.sha256
        self.at = message.record.timestamp
        self.cause = position(message.record)
        self.traceparent = header(message.record, "traceparent")

    @property
    def subject(self) -> str:
        return self.kind.upper()

    @property
    def message_id(self) -> str | None:
        """As it was sent, unless no ack could hold it."""
        return _held(self.value["signalId" if self.kind == "signal" else "taskId"])

    @property
    def task_id(self) -> str | None:
        """In lower case; None unless it is a UUID."""
        return _folded(self.value["taskId"])

    @property
    def correlation_id(self) -> str | None:
        return _folded(self.value["correlationId"])

    @property
    def known_id(self) -> str:
        """The task's id, of an envelope whose shape is right."""
        assert self.task_id is not None
        return self.task_id

    @property
    def key(self) -> str | None:
        """None for a record without a key, and for one that is not text."""
        try:
            return None if self.message.record.key is None else self.message.record.key.decode()
        except UnicodeDecodeError:
            return None

    @property
    def ack_key(self) -> str:
        key = _held(self.key)
        return self.task_id or (_NO_KEY if key is None else key)

    @property
    def known_sha256(self) -> str:
        """The canonical hash of an envelope whose shape is right."""
        assert self.sha256 is not None
        return self.sha256

    @property
    def reply_to(self) -> str | None:
        """Where the issuer of a task would like to be answered; what is too long is no place."""
        endpoint: str | None = (self.value.get("replyTo") or {}).get("endpoint")
        return None if endpoint is None or len(endpoint) > MAX_TEXT else endpoint


def _held(text: str | None) -> str | None:
    """A name, if it is no longer than a whole envelope may be."""
    return None if text is None or len(text) > MAX_ENVELOPE_BYTES else text


def _folded(text: str) -> str | None:
    return text.lower() if is_uuid(text) else None
