"""Conversion of rows to JSON, and filters on them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from schemas import decode, to_json
from streams.views.parse import QueryParams
from topology.declarations import Topic

Json = dict[str, Any]


def json_of(topic: Topic, row: bytes) -> Json:
    """Return a record of a topic in its JSON form."""
    assert topic.record is not None
    return to_json(topic.record, decode(row, topic.record).value)


def filters_of(params: QueryParams, names: Iterable[str]) -> dict[str, str]:
    """Return those of the named parameters that the request has."""
    return {name: value for name in names if (value := params.text(name)) is not None}


def matches(value: Json, members: dict[str, str]) -> bool:
    return all(value[name] == text for name, text in members.items())
