"""The topic that clients follow, as the query side of its protocol declares it."""

from __future__ import annotations

from streams.protocols.queries import QUERIES

(_LIVE_TAIL,) = (side.live_tail for side in QUERIES if side.live_tail is not None)
TOPIC, TYPES = _LIVE_TAIL
"""The topic, and the types of its records' payloads."""
