"""Pings in a view: PingState as on its topic, under `ping` and its ping_id."""

from __future__ import annotations

from collections.abc import Mapping

from streams.views.projection import Apply, table
from topology.ping import PING_ANSWERS, PING_PINGS_DLQ, PING_STATES

NAME = "ping"
FOLLOWED: Mapping[str, Apply | None] = {
    PING_STATES.name: table(NAME),
    PING_ANSWERS.name: None,
    PING_PINGS_DLQ.name: None,
}
