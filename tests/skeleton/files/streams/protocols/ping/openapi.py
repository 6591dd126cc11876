"""What the OpenAPI document says of pings beside their routes and answers."""

from __future__ import annotations

from streams.api.description import Description, PathId

DESCRIPTION = Description(tags={"ping": "Pings."}, ids={"ping_id": PathId("p1")})
