"""Pieces of the document that have no part in another."""

from __future__ import annotations

from typing import Any

from streams.gateway.answer import JSON

Json = dict[str, Any]


def answer(schema: Json, description: str, media: str = JSON) -> Json:
    return {"description": description, "content": {media: {"schema": schema}}}
