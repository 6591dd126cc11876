"""What an edge does to a value before it is judged: fill in, drop what nobody knows.

A value that is not an object is left as it is; the rules say what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from schemas import Problem, apc, asap, has_lone_surrogate, saop, summit, validate
from schemas.members import MAX_ERRORS
from schemas.rtes import drop_unknown, validate_event, validate_payload
from schemas.summit import rules
from streams.edges.lines import Unparsed
from streams.engine.headers import iso
from streams.errors import UsageError
from streams.settings import Settings

DROPPED_KEYS = "headrace-dropped-keys"
MAX_PACKET_ERRORS = 10
MAX_SAP_ERRORS = 1000
MAX_ASAP_ERRORS = 1000
MAX_SUMMIT_ERRORS = 1000


class Prepared(NamedTuple):
    """A value as it would be produced, and how many unknown keys were left out."""

    value: Any
    dropped_keys: int | None = None


class Kind(NamedTuple):
    """One kind of envelope.

    prepare: takes the edge's clock (ms).  most: problems reported.  secret: a valid one is masked
    before it is produced.  text_rule: lone surrogates break a rule of its own; else the text that
    has one is no JSON.  not_json, not_ijson: the rules that a text breaks which is no JSON, or no
    I-JSON (None: the same).  form: of a valid one, as it is produced.  other_text: reads a text
    that is no JSON; raises ShapeError.
    """

    name: str
    prepare: Callable[[Any, int], Prepared]
    problems: Callable[[Any, Settings], list[Problem]]
    most: int
    secret: bool = False
    text_rule: bool = True
    not_json: str = "json_invalid"
    form: Callable[[Any], Any] = lambda value: value
    not_ijson: str | None = None
    other_text: Callable[[bytes], Any] | None = None

    def unread(self, unparsed: Unparsed) -> Problem:
        """What is wrong with a text."""
        rule = self.not_ijson if unparsed.is_json else None
        return Problem(rule or self.not_json, "", unparsed.message)


def _packet(value: Any, now_ms: int) -> Prepared:
    if isinstance(value, dict) and "created_at" not in value:
        return Prepared({**value, "created_at": iso(now_ms).decode()})
    return Prepared(value)


def _packet_problems(value: Any, settings: Settings) -> list[Problem]:
    return apc.validate(value, max_bytes=settings.apc_max_packet_bytes)


def _event(value: Any, now_ms: int) -> Prepared:
    clean, dropped = drop_unknown(value)
    return Prepared(clean, dropped)


def _turn(value: Any, now_ms: int) -> Prepared:
    return Prepared(*saop.drop_unknown_turn(value))


def _rewind(value: Any, now_ms: int) -> Prepared:
    return Prepared(*saop.drop_unknown_rewind(value))


def _as_sent(value: Any, now_ms: int) -> Prepared:
    return Prepared(value)


def _sap(name: str) -> Kind:
    """A kind of envelope of SAP: nothing is filled in, and unknown members are kept."""

    def problems(value: Any, settings: Settings) -> list[Problem]:
        return validate(f"sap.{name}", value)

    return Kind(f"sap.{name}", _as_sent, problems, MAX_SAP_ERRORS, not_json="bad_json")


def _envelope(value: Any, now_ms: int) -> Prepared:
    """With an id and a time, which clients may leave to the edge."""
    if not isinstance(value, dict):
        return Prepared(value)
    filled = dict(value)
    if filled.get("id") is None:
        filled["id"] = asap.generate_id()
    if filled.get("timestamp") is None:
        filled["timestamp"] = asap.iso_of_ms(now_ms)
    return Prepared(filled)


def _envelope_problems(value: Any, settings: Settings) -> list[Problem]:
    limits = asap.Limits(
        settings.asap_service_urn,
        settings.asap_max_envelope_bytes,
        settings.asap_max_retention_hours,
    )
    return asap.validate(value, limits)


def _manifest_problems(value: Any, settings: Settings) -> list[Problem]:
    return asap.validate_manifest(value)


def _summit(
    name: str,
    check: Callable[[Any], list[Problem]],
    form: Callable[[Any], Any] = lambda value: value,
    other_text: Callable[[bytes], Any] | None = None,
) -> Kind:
    """A kind of Summit: nothing is filled in, and unknown members break a rule."""
    return Kind(
        f"summit.{name}",
        _as_sent,
        lambda value, _: check(value),
        MAX_SUMMIT_ERRORS,
        not_json=rules.JSON_PARSE.code,
        form=form,
        not_ijson=rules.JSON_INVALID.code,
        other_text=other_text,
    )


_ENVELOPE = Kind(
    "asap.envelope",
    _envelope,
    _envelope_problems,
    MAX_ASAP_ERRORS,
    not_json=asap.rules.MALFORMED_ENVELOPE.code,
    form=asap.canonical_form,
)
_MANIFEST = Kind(
    "asap.manifest",
    _as_sent,
    _manifest_problems,
    MAX_ASAP_ERRORS,
    not_json=asap.rules.BAD_MANIFEST.code,
    form=asap.manifest_form,
)
KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("apc.packet", _packet, _packet_problems, MAX_PACKET_ERRORS, text_rule=False),
        Kind("saop.turn", _turn, lambda value, _: saop.validate_turn(value), MAX_ERRORS),
        Kind("saop.rewind", _rewind, lambda value, _: saop.validate_rewind(value), MAX_ERRORS),
        Kind("rtes.event", _event, lambda value, _: validate_event(value), MAX_ERRORS, True),
        Kind("rtes.payload", _as_sent, lambda value, _: validate_payload(value), MAX_ERRORS),
        _sap("task"),
        _sap("result"),
        _sap("signal"),
        _ENVELOPE,
        _MANIFEST,
        _summit("manifest", summit.check_manifest, summit.manifest_form, summit.read_manifest),
        _summit("call", summit.check_call),
        _summit("reply", summit.check_reply),
    )
}


def kind_of(name: str) -> Kind:
    """Raises UsageError for a kind that does not exist."""
    if name not in KINDS:
        raise UsageError(f"{name} is not a kind of envelope", advice=f"Kinds: {', '.join(KINDS)}.")
    return KINDS[name]


def check(
    kind: Kind, value: Any, now_ms: int, settings: Settings
) -> tuple[Prepared, list[Problem]]:
    """The value as the edge would produce it, and every rule it breaks, the first ones first."""
    if not kind.text_rule and has_lone_surrogate(value):
        message = "The text is not I-JSON: a string has a lone surrogate."
        return Prepared(value), [Problem("json_invalid", "", message)]
    prepared = kind.prepare(value, now_ms)
    return prepared, kind.problems(prepared.value, settings)[: kind.most]
