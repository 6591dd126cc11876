"""Rows as JSON, and what a query asks of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from schemas import decode, to_json
from streams.views.params import Params
from topology.declarations import Topic

Json = dict[str, Any]


def json_of(topic: Topic, row: bytes) -> Json:
    """A record of that topic in its JSON form."""
    assert topic.record is not None
    return to_json(topic.record, decode(row, topic.record).value)


def wanted(params: Params, names: Iterable[str]) -> dict[str, str]:
    """The parameters that are given, of these."""
    return {name: value for name in names if (value := params.text(name)) is not None}


def fits(value: Json, members: dict[str, str]) -> bool:
    return all(value[name] == text for name, text in members.items())
