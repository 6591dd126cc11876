"""Pings in this layer."""

from __future__ import annotations

from schemas.json_mapping.mapping import JsonMapping
from schemas.ping import validate
from schemas.spec import Spec

SPEC = Spec(
    "ping",
    records=("headrace.ping.Ping", "headrace.ping.PingAnswer", "headrace.ping.PingState"),
    kinds={"ping.ping": validate},
    export=dict,
    mapping=JsonMapping(namespaces=("headrace.ping",)),
)
