"""What every route answers, by the names that the route table uses."""

from __future__ import annotations

from collections.abc import Mapping

from streams.gateway.answers import lineage, service
from streams.gateway.answers.shapes import Response
from streams.protocols.queries import QUERIES

_FIRST, *_OTHERS = QUERIES
ANSWERS: Mapping[str, Response] = {
    "Positions": service.Positions,
    **_FIRST.responses(),
    "LineageGraph": lineage.LineageGraph,
    **{name: response for side in _OTHERS for name, response in side.responses().items()},
    "Placed": service.Placed,
}
