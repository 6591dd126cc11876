"""What an edge makes up for what it is sent, made up the same on every run."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from schemas import ShapeError, parse_ijson, uuid5_url
from schemas.asap import iso_of_ms
from streams.processing.lines import Unparsed, read_values
from topology.asap import ASAP_ENVELOPES

_REWIND = re.compile(r"/v1/saop/sessions/[^/]*/rewind")
_ENVELOPES, _ASAP = "/v1/asap/envelopes", "/asap"
NewId = Callable[[], str]


def value(topic: str, given: Any, new_id: NewId) -> Any:
    """A value for a topic, with an id where its edge makes one."""
    return _identified(given, new_id) if topic == ASAP_ENVELOPES.name else given


def body(method: str, path: str, given: Any, now_ms: int, new_id: NewId) -> Any:
    """The body of a request, with the ids and times that the gateway makes.

    now_ms: when the request is made; no two requests are made at one time.
    """
    if method != "POST":
        return given
    if _REWIND.fullmatch(path):
        return _rewind(path, given, now_ms)
    if path == _ENVELOPES:
        return _envelopes(given, new_id)
    return _call(given, now_ms, new_id) if path == _ASAP else given


def _parsed(given: Any) -> Any:
    """None for a text that is no JSON."""
    if not isinstance(given, str):
        return given
    try:
        return parse_ijson(given)
    except ShapeError:
        return None


def _rewind(path: str, given: Any, now_ms: int) -> Any:
    """A `rewind_id` where a rewind is ordered without one."""
    order = _parsed(given)
    if not isinstance(order, dict) or "rewind_id" in order:
        return given
    return {**order, "rewind_id": uuid5_url(f"headrace:rewind/{path}/{now_ms}")}


def _envelopes(given: Any, new_id: NewId) -> Any:
    values = read_values(given) if isinstance(given, str) else given
    if not isinstance(values, list):
        return _identified(values, new_id)
    if any(isinstance(each, Unparsed) for each in values):
        return given
    return [_identified(each, new_id) for each in values]


def _identified(envelope: Any, new_id: NewId) -> Any:
    if not isinstance(envelope, dict) or envelope.get("id") is not None:
        return envelope
    return {**envelope, "id": new_id()}


def _call(given: Any, now_ms: int, new_id: NewId) -> Any:
    """The envelope of a JSON-RPC request, with an id and a time."""
    call = _parsed(given)
    params = _member(call, "params")
    envelope = _member(params, "envelope")
    if not isinstance(envelope, dict):
        return given
    filled = _identified(envelope, new_id)
    if filled.get("timestamp") is None:
        filled = {**filled, "timestamp": iso_of_ms(now_ms)}
    return {**call, "params": {**params, "envelope": filled}}


def _member(owner: Any, name: str) -> Any:
    return owner.get(name) if isinstance(owner, dict) else None
