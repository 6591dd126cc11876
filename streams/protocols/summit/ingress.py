"""The ingress of Summit: each type of envelope, its topic, and its permitted senders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from schemas import Problem, summit
from schemas.summit import rules
from streams.access.sender import own_name, own_name_or_operator
from streams.processing.ingress import EnvelopeType, IngressTopic, Prepared, prepare_unchanged
from streams.protocols.summit.policy_values import caps_of
from streams.protocols.summit.settings import SummitSettings
from streams.settings.service import ServiceSettings
from topology.summit import SUMMIT_CALLS, SUMMIT_MANIFESTS, SUMMIT_REPLIES

MAX_ERRORS = 1000
MAX_REPLY_ERRORS = 1
"""One mistake in a reply breaks more rules: a wrong name is also a missing member."""


def _envelope_type(
    name: str,
    check: Callable[[Any, ServiceSettings], list[Problem]],
    form: Callable[[Any], Any] = lambda value: value,
    other_text: Callable[[bytes], Any] | None = None,
    max_problems: int = MAX_ERRORS,
) -> EnvelopeType:
    """Return an envelope type of Summit: no members are filled in, and unknown ones are refused."""
    return EnvelopeType(
        f"summit.{name}",
        prepare_unchanged,
        check,
        max_problems,
        not_json=rules.JSON_PARSE.code,
        form=form,
        not_ijson=rules.JSON_INVALID.code,
        other_text=other_text,
    )


def _call_problems(value: Any, settings: ServiceSettings) -> list[Problem]:
    return summit.check_call(value, caps_of(SummitSettings.of(settings)))


def _prepare_reply(value: Any, now_ms: int) -> Prepared:
    """Make a reply of a JSON-RPC response; leave one that is none for the rules to report."""
    if not summit.is_rpc_reply(value) or summit.rpc_problems(value):
        return Prepared(value)
    return Prepared(summit.as_reply(value))


def _reply_problems(value: Any, settings: ServiceSettings) -> list[Problem]:
    return summit.rpc_problems(value) if summit.is_rpc_reply(value) else summit.check_reply(value)


MANIFEST = _envelope_type(
    "manifest",
    lambda value, _: summit.check_manifest(value),
    summit.manifest_form,
    summit.read_manifest,
)
CALL = _envelope_type("call", _call_problems)
REPLY = _envelope_type("reply", _reply_problems, max_problems=MAX_REPLY_ERRORS)._replace(
    prepare=_prepare_reply, address=summit.address_reply
)
KINDS = (MANIFEST, CALL, REPLY)
EDGES = (
    IngressTopic(SUMMIT_MANIFESTS, MANIFEST),
    IngressTopic(SUMMIT_CALLS, CALL),
    IngressTopic(SUMMIT_REPLIES, REPLY),
)
SENDERS = {
    SUMMIT_MANIFESTS: own_name_or_operator(rules.AUTH_SENDER.code, "metadata", "name"),
    SUMMIT_CALLS: own_name(rules.AUTH_SENDER.code, "caller", fills=True),
    SUMMIT_REPLIES: own_name(rules.AUTH_SENDER.code, "agentId"),
}
