"""What the protocols add to the description of the gateway, in their order."""

from __future__ import annotations

from collections.abc import Mapping

from streams.api.description import Body, Description, PathId
from streams.protocols.queries import QUERIES

DESCRIPTIONS: tuple[Description, ...] = tuple(side.description() for side in QUERIES)
BODIES: Mapping[str, Body] = {body.name: body for each in DESCRIPTIONS for body in each.bodies}
PATH_IDS: Mapping[str, PathId] = {
    name: found for each in DESCRIPTIONS for name, found in each.ids.items()
}
