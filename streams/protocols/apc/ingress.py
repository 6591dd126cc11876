"""The packets that users may send: envelope type, topic, and the sender's right to send."""

from __future__ import annotations

from typing import Any

from schemas import Problem, apc
from schemas.apc.rules import AUTH_SENDER
from streams.access.sender import own_name
from streams.engine.headers import iso
from streams.processing.ingress import EnvelopeType, IngressTopic, Prepared
from streams.protocols.apc.settings import ApcSettings
from streams.settings.service import ServiceSettings
from topology.apc import APC_PACKETS

MAX_ERRORS = 10


def _packet(value: Any, now_ms: int) -> Prepared:
    if isinstance(value, dict) and "created_at" not in value:
        return Prepared({**value, "created_at": iso(now_ms).decode()})
    return Prepared(value)


def _packet_problems(value: Any, settings: ServiceSettings) -> list[Problem]:
    return apc.validate(value, max_bytes=ApcSettings.of(settings).apc_max_packet_bytes)


PACKET = EnvelopeType("apc.packet", _packet, _packet_problems, MAX_ERRORS, text_rule=False)
KINDS = (PACKET,)
EDGES = (IngressTopic(APC_PACKETS, PACKET),)
SENDERS = {APC_PACKETS: own_name(AUTH_SENDER.code, "sender", "agent_id")}
