"""What users may send."""

from __future__ import annotations

from schemas import ping
from streams.access.sender import own
from streams.processing.ingress import Edge, Kind, as_sent
from topology.ping import PING_PINGS

PING = Kind("ping.ping", as_sent, lambda value, _: ping.validate(value), 8)
KINDS = (PING,)
EDGES = (Edge(PING_PINGS, PING),)
SENDERS = {PING_PINGS: own("ping_sender", "sender")}
