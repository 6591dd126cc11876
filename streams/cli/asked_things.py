"""Things that the commands of a protocol show as header and steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from streams.cli import common
from streams.settings import Settings

Json = Mapping[str, Any]


def thing_path(kind: str, id: str) -> str:
    """Return the path of the thing of that kind and id.  kind: as `sap:task`."""
    escaped = id.replace("%", "%25").replace("/", "%2F")
    return f"/v1/things/{quote(f'{kind}:{escaped}', safe='')}"


def ask_thing(kind: str, id: str, settings: Settings, **params: Any) -> Json:
    """Return a thing.  params: of the route; those that are None are left out."""
    thing: Json = common.ask(thing_path(kind, id), common.query_of(params), settings)
    return thing
