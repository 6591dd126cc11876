"""A record of `asap.envelopes`, read once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from schemas import AvroBody, Problem, asap, from_json
from schemas.asap import Limits, MalformedEnvelopeError
from schemas.asap.constants import ENVELOPE_RECORD
from streams.engine.processor import AvroValue, Message
from streams.engine.records import header, position

Json = dict[str, Any]


class Command:
    """value: AsapEnvelope as it came.  given_key: of the record, None where it is no text.

    kind: the type of the payload.  json: the canonical form (spec 2.4), as far as there is one.
    problems: the broken stateless rules; the first one decides.  sha256: the canonical hash.
    """

    def __init__(
        self,
        value: AvroValue,
        key: bytes | None,
        at: int,
        cause: str,
        traceparent: bytes | None,
        settings: Mapping[str, Any],
        body: bytes | None = None,
    ) -> None:
        judged = asap.judge(value, limits_of(settings))
        self.value = value
        self.json: Json = judged.envelope
        self.problems: list[Problem] = judged.problems
        self.sha256: str | None = judged.sha256
        self.kind: str = judged.payload_type
        self.at = at
        self.cause = cause
        self.traceparent = traceparent
        self.given_key = _text(key)
        self.task_key = _task_key(judged.envelope)
        self._text = judged.text
        self._body = body

    @classmethod
    def of(cls, message: Message, settings: Mapping[str, Any]) -> Command:
        record = message.record
        return cls(
            message.value,
            record.key,
            record.timestamp,
            position(record),
            header(record, "traceparent"),
            settings,
            message.body if message.current else None,
        )

    @property
    def key(self) -> str:
        """The key of the record's fact."""
        return self.task_key if self.given_key is None else self.given_key

    @property
    def id(self) -> str:
        envelope_id: str = self.value["id"]
        return envelope_id

    @property
    def sender(self) -> str:
        sender: str = self.value["sender"]
        return sender

    @property
    def recipient(self) -> str:
        recipient: str = self.value["recipient"]
        return recipient

    @property
    def trace_id(self) -> str | None:
        trace_id: str | None = self.value["trace_id"]
        return trace_id

    @property
    def correlation_id(self) -> str | None:
        """An empty one is none."""
        return self.value["correlation_id"] or None

    @property
    def known_sha256(self) -> str:
        """The canonical hash of an envelope without problems."""
        assert self.sha256 is not None
        return self.sha256

    @property
    def body(self) -> Json:
        """The payload's canonical form."""
        body: Json = self.json["payload"]
        return body

    @cached_property
    def canonical(self) -> AvroValue:
        """AsapEnvelope in canonical form, of an envelope without problems."""
        assert self._text is not None, "it has a canonical form"
        if _is_canonical(self.value, self._text):
            return self.value
        return from_json(ENVELOPE_RECORD, self.json)

    @property
    def payload(self) -> AvroValue:
        """The payload in canonical form, as Avro."""
        payload: AvroValue = self.canonical["payload"][1]
        return payload

    @property
    def outgoing(self) -> AvroValue | AvroBody:
        """What facts hold: the bytes as they came if these are canonical already."""
        if self._body is not None and self.canonical is self.value:
            return AvroBody(self._body)
        return self.canonical

    def extension(self, key: str) -> Any:
        """One of the extensions, by its whole key."""
        return (self.json["extensions"] or {}).get(key)


def limits_of(settings: Mapping[str, Any]) -> Limits:
    return Limits(
        settings["ASAP_SERVICE_URN"],
        settings["ASAP_MAX_ENVELOPE_BYTES"],
        settings["ASAP_MAX_RETENTION_HOURS"],
    )


def _task_key(envelope: Json) -> str:
    """The key that the envelope should have; of one that names none, its id."""
    try:
        return asap.task_key(envelope)
    except MalformedEnvelopeError:
        envelope_id: str = envelope["id"]
        return envelope_id


def _text(key: bytes | None) -> str | None:
    try:
        return None if key is None else key.decode()
    except UnicodeDecodeError:
        return None


def _is_canonical(value: AvroValue, text: bytes) -> bool:
    """Whether the JSON texts in an envelope are as RFC 8785 has them.

    text: the envelope's canonical JSON.  A JSON text that stands in there is canonical itself.
    """
    payload = value["payload"][1]
    parts = [part[1] for part in payload.get("parts", ()) if type(part) is tuple]
    return all(_stand_in(text, owner) for owner in (value, payload, *parts))


def _stand_in(text: bytes, owner: AvroValue) -> bool:
    return all(
        f'"{name.removesuffix("_json")}":{member}'.encode() in text
        for name, member in owner.items()
        if member is not None and name.endswith("_json")
    )
