"""The ingress of ASAP: the types of envelopes, their topics, and their senders."""

from __future__ import annotations

from typing import Any

from schemas import Problem, asap
from streams.access.sender import own_name, own_name_or_operator
from streams.processing.ingress import EnvelopeType, IngressTopic, Prepared, prepare_unchanged
from streams.protocols.asap.settings import AsapSettings
from streams.settings.service import ServiceSettings
from topology.asap import ASAP_ENVELOPES, ASAP_MANIFESTS

MAX_ERRORS = 1000
SENDER_MISMATCH = "sender_mismatch"
"""The rule of the HTTP API; `streams.asap` has the JSON-RPC error."""


def _prepare_envelope(value: Any, now_ms: int) -> Prepared:
    """Add an id, a time and a trace, which clients may omit."""
    if not isinstance(value, dict):
        return Prepared(value)
    filled = dict(value)
    if filled.get("id") is None:
        filled["id"] = asap.generate_id()
    if filled.get("timestamp") is None:
        filled["timestamp"] = asap.iso_of_ms(now_ms)
    trace = asap.derived_trace(filled) if filled.get("trace_id") is None else None
    if trace is None:
        return Prepared(filled)
    return Prepared({**filled, "trace_id": trace}, filled=("trace_id",))


def _envelope_problems(value: Any, settings: ServiceSettings) -> list[Problem]:
    asap_settings = AsapSettings.of(settings)
    limits = asap.Limits(
        asap_settings.asap_service_urn,
        asap_settings.asap_max_envelope_bytes,
        asap_settings.asap_max_retention_hours,
    )
    return asap.validate(value, limits)


def _manifest_problems(value: Any, settings: ServiceSettings) -> list[Problem]:
    return asap.validate_manifest(value)


ENVELOPE = EnvelopeType(
    "asap.envelope",
    _prepare_envelope,
    _envelope_problems,
    MAX_ERRORS,
    not_json=asap.rules.MALFORMED_ENVELOPE.code,
    form=asap.canonical_form,
)
MANIFEST = EnvelopeType(
    "asap.manifest",
    prepare_unchanged,
    _manifest_problems,
    MAX_ERRORS,
    not_json=asap.rules.BAD_MANIFEST.code,
    form=asap.manifest_form,
)
KINDS = (ENVELOPE, MANIFEST)
ENVELOPES = IngressTopic(ASAP_ENVELOPES, ENVELOPE)
MANIFESTS = IngressTopic(ASAP_MANIFESTS, MANIFEST)
EDGES = (ENVELOPES, MANIFESTS)
SENDERS = {
    ASAP_ENVELOPES: own_name(SENDER_MISMATCH, "sender"),
    ASAP_MANIFESTS: own_name_or_operator(SENDER_MISMATCH, "id"),
}
