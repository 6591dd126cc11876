"""The ids and times that the service makes for ASAP envelopes, made alike on every `play`."""

from __future__ import annotations

from typing import Any

from schemas.asap import iso_of_ms
from streams.api.filling import Filling, NewId, member, parsed
from streams.processing.lines import Unparsed, read_values
from topology.asap import ASAP_ENVELOPES

_ENVELOPES, _CALL = "/v1/asap/envelopes", "/asap"


def _value(topic: str, given: Any, new_id: NewId) -> Any:
    return _identified(given, new_id) if topic == ASAP_ENVELOPES.name else given


def _body(method: str, path: str, given: Any, now_ms: int, new_id: NewId) -> Any:
    if (method, path) == ("POST", _ENVELOPES):
        return _envelopes(given, new_id)
    return _call(given, now_ms, new_id) if (method, path) == ("POST", _CALL) else given


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
    call = parsed(given)
    params = member(call, "params")
    envelope = member(params, "envelope")
    if not isinstance(envelope, dict):
        return given
    filled = _identified(envelope, new_id)
    if filled.get("timestamp") is None:
        filled = {**filled, "timestamp": iso_of_ms(now_ms)}
    return {**call, "params": {**params, "envelope": filled}}


FILLING = Filling(_value, _body)
