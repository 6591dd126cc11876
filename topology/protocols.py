"""The protocols, each with what it declares.  All lists of the topology are made from this one."""

from __future__ import annotations

from topology import apc, asap, otel, saop, sap, summit
from topology.declarations import ProtocolTopology

DECLARED: tuple[ProtocolTopology, ...] = (
    apc.DECLARED,
    saop.DECLARED,
    sap.DECLARED,
    asap.DECLARED,
    summit.DECLARED,
    otel.DECLARED,
)
"""Their order decides between timers due at one time, and orders documents."""
