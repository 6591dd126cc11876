"""A parsed record of `asap.envelopes`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

from schemas import AvroBody, Problem, asap, from_json
from schemas.asap import Limits, MalformedEnvelopeError
from schemas.asap.constants import ENVELOPE_RECORD
from streams.engine.processor import AvroValue, Message
from streams.engine.records import header, position

Json = dict[str, Any]


class KeySource(NamedTuple):
    """The member that the key of an envelope is.  meaning: whose member it is, for people."""

    name: str
    meaning: str


class Command:
    """A record of `asap.envelopes`.

    value: AsapEnvelope as sent.  given_key: of the record, None if it is no text.
    kind: the type of the payload.  json: the canonical form (ASAP guide, 2.4), if there is one.
    problems: the violated stateless rules; the first one decides.  sha256: the canonical hash.
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
        validated = asap.judge(value, limits_of(settings))
        self.value = value
        self.json: Json = validated.envelope
        self.problems: list[Problem] = validated.problems
        self.sha256: str | None = validated.sha256
        self.kind: str = validated.payload_type
        self.at = at
        self.cause = cause
        self.traceparent = traceparent
        self.given_key = _text(key)
        self.task_key = _task_key(validated.envelope)
        self._text = validated.text
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
        """Return the key of the record's fact."""
        return self.task_key if self.given_key is None else self.given_key

    @property
    def key_source(self) -> KeySource:
        """Return where the key of an envelope without problems came from."""
        owner, _, name = asap.key_member(self.json)[1:].rpartition("/")
        return KeySource(name, f"the {owner or 'envelope'}'s {name}")

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
        """Return the correlation id; None for an empty one."""
        return self.value["correlation_id"] or None

    @property
    def known_sha256(self) -> str:
        """Return the canonical hash of an envelope without problems."""
        assert self.sha256 is not None
        return self.sha256

    def is_same_as(self, sha256: str | None) -> bool:
        """Return whether an envelope with this hash is the same, but for a trace filled in."""
        return sha256 == self.sha256 or sha256 == asap.other_hash(self.json)

    @property
    def body(self) -> Json:
        """Return the payload's canonical form."""
        body: Json = self.json["payload"]
        return body

    @cached_property
    def canonical(self) -> AvroValue:
        """Return the AsapEnvelope in canonical form, for an envelope without problems."""
        assert self._text is not None, "it has a canonical form"
        if _is_canonical(self.value, self._text):
            return self.value
        return from_json(ENVELOPE_RECORD, self.json)

    @property
    def payload(self) -> AvroValue:
        """Return the payload in canonical form, as Avro."""
        payload: AvroValue = self.canonical["payload"][1]
        return payload

    @property
    def outgoing(self) -> AvroValue | AvroBody:
        """Return the envelope for facts: the record's own bytes if they are canonical already."""
        if self._body is not None and self.canonical is self.value:
            return AvroBody(self._body)
        return self.canonical

    def extension(self, key: str) -> Any:
        """Return one of the extensions, by its whole key."""
        return (self.json["extensions"] or {}).get(key)


def limits_of(settings: Mapping[str, Any]) -> Limits:
    return Limits(
        settings["ASAP_SERVICE_URN"],
        settings["ASAP_MAX_ENVELOPE_BYTES"],
        settings["ASAP_MAX_RETENTION_HOURS"],
    )


def _task_key(envelope: Json) -> str:
    """Return the key that the envelope must have; its id if its content gives no key."""
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
    """Return whether the JSON texts in an envelope are canonical by RFC 8785.

    text: the envelope's canonical JSON.  A JSON text that it contains is canonical itself.
    """
    payload = value["payload"][1]
    parts = [part[1] for part in payload.get("parts", ()) if type(part) is tuple]
    return all(_contains_texts(text, owner) for owner in (value, payload, *parts))


def _contains_texts(text: bytes, owner: AvroValue) -> bool:
    return all(
        f'"{name.removesuffix("_json")}":{member}'.encode() in text
        for name, member in owner.items()
        if member is not None and name.endswith("_json")
    )
