"""The live tail: `GET /v1/rtes/stream` as server-sent events (saop spec 6.3)."""

from streams.gateway.sse.beginnings import Wanted
from streams.gateway.sse.hub import TailBusy, TailHub
from streams.gateway.sse.route import PATH, router

__all__ = ["PATH", "TailBusy", "TailHub", "Wanted", "router"]
