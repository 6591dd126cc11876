"""The query side of every protocol, in the order of `streams.protocols.commands`."""

from __future__ import annotations

from streams.api.query_side import QuerySide
from streams.protocols.apc.query_side import APC
from streams.protocols.asap.query_side import ASAP
from streams.protocols.otel.query_side import OTEL
from streams.protocols.saop.query_side import SAOP
from streams.protocols.sap.query_side import SAP
from streams.protocols.summit.query_side import SUMMIT

QUERIES: tuple[QuerySide, ...] = (APC, SAOP, SAP, ASAP, SUMMIT, OTEL)

(LIVE_TAIL,) = (side.live_tail for side in QUERIES if side.live_tail is not None)
"""The topic that clients follow live through a gateway."""
