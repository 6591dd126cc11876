"""The live tail: `GET /v1/rtes/stream` as server-sent events (SAOP guide, 6.3)."""

from streams.gateway.live_tail.hub import TailBusy, TailHub
from streams.gateway.live_tail.route import PATH, make_follow, router
from streams.gateway.live_tail.start_positions import TailRequest

__all__ = ["PATH", "TailBusy", "TailHub", "TailRequest", "make_follow", "router"]
