"""What users may send."""

from __future__ import annotations

from schemas import ping
from streams.access.sender import own_name
from streams.processing.ingress import EnvelopeType, IngressTopic, prepare_unchanged
from topology.ping import PING_PINGS

PING = EnvelopeType("ping.ping", prepare_unchanged, lambda value, _: ping.validate(value), 8)
KINDS = (PING,)
EDGES = (IngressTopic(PING_PINGS, PING),)
SENDERS = {PING_PINGS: own_name("ping_sender", "sender")}
