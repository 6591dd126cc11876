"""The things of SAP for `GET /v1/things/{node}`, by kind."""

from __future__ import annotations

from collections.abc import Mapping

from streams.api.things import ThingQuery
from streams.protocols.sap.things import knowledge, tasks

THINGS: Mapping[str, ThingQuery] = {**tasks.THINGS, **knowledge.THINGS}
