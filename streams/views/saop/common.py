"""What the queries of this protocol share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from schemas import decode, to_json
from streams.views.parameters import CURSOR, limit
from streams.views.params import Params
from topology.declarations import Topic

Json = dict[str, Any]

PAGED = (limit(100, 1000, "limit_invalid"), CURSOR)
AGENTS = ("researcher", "architect", "developer", "reviewer")


def wanted(params: Params, names: Iterable[str]) -> dict[str, str]:
    """The parameters that are given, of these."""
    return {name: value for name in names if (value := params.text(name)) is not None}


def json_of(topic: Topic, row: bytes) -> Json:
    assert topic.record is not None
    return to_json(topic.record, decode(row, topic.record).value)


def fits(value: Json, members: dict[str, str]) -> bool:
    return all(value[name] == text for name, text in members.items())
