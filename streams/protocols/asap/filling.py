"""The ids and times that the service makes for ASAP envelopes, the same on every `play`."""

from __future__ import annotations

from typing import Any

from schemas.asap import iso_of_ms
from streams.api.filling import Filling, NewId, member, parse_or_none
from streams.processing.lines import Unparsed, read_values
from topology.asap import ASAP_ENVELOPES

_ENVELOPES, _CALL = "/v1/asap/envelopes", "/asap"


def _fill_value(topic: str, value: Any, new_id: NewId) -> Any:
    return _with_id(value, new_id) if topic == ASAP_ENVELOPES.name else value


def _fill_body(method: str, path: str, body: Any, now_ms: int, new_id: NewId) -> Any:
    if (method, path) == ("POST", _ENVELOPES):
        return _fill_envelopes(body, new_id)
    return _fill_call(body, now_ms, new_id) if (method, path) == ("POST", _CALL) else body


def _fill_envelopes(body: Any, new_id: NewId) -> Any:
    values = read_values(body) if isinstance(body, str) else body
    if not isinstance(values, list):
        return _with_id(values, new_id)
    if any(isinstance(each, Unparsed) for each in values):
        return body
    return [_with_id(each, new_id) for each in values]


def _with_id(envelope: Any, new_id: NewId) -> Any:
    if not isinstance(envelope, dict) or envelope.get("id") is not None:
        return envelope
    return {**envelope, "id": new_id()}


def _fill_call(body: Any, now_ms: int, new_id: NewId) -> Any:
    """Give the envelope of a JSON-RPC request an id and a time."""
    call = parse_or_none(body)
    params = member(call, "params")
    envelope = member(params, "envelope")
    if not isinstance(envelope, dict):
        return body
    filled = _with_id(envelope, new_id)
    if filled.get("timestamp") is None:
        filled = {**filled, "timestamp": iso_of_ms(now_ms)}
    return {**call, "params": {**params, "envelope": filled}}


FILLING = Filling(_fill_value, _fill_body)
