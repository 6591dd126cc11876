"""The JSON forms of turns and rewind commands without unknown members, and their hashes."""

from __future__ import annotations

from typing import Any

from schemas.canonical import canonical_json, sha256_hex
from schemas.json_mapping.json_form import to_json
from schemas.saop.models import Content, Control, Metadata, Rewind, Turn

JsonObject = dict[str, Any]

_TURN = frozenset(Turn.model_fields)
_INNER = {"content": frozenset(Content.model_fields), "metadata": frozenset(Metadata.model_fields)}
_REWIND = frozenset(Rewind.model_fields)
_CONTROL = frozenset(Control.model_fields)


def turn_json(avro_value: dict[str, Any]) -> JsonObject:
    """Return the JSON form of a SaopTurn."""
    return to_json("headrace.saop.SaopTurn", avro_value)


def drop_unknown_turn(value: Any) -> tuple[Any, int]:
    """Return the turn without unknown members, and how many these were; each counts as one.

    Values that are no objects stay as they are.
    """
    if not isinstance(value, dict):
        return value, 0
    clean, dropped = _known(value, _TURN)
    for name, members in _INNER.items():
        if isinstance(clean.get(name), dict):
            clean[name], more = _known(clean[name], members)
            dropped += more
    return clean, dropped


def drop_unknown_rewind(value: Any) -> tuple[Any, int]:
    """Return a rewind command without unknown members, and how many these were."""
    return _known(value, _REWIND) if isinstance(value, dict) else (value, 0)


def drop_unknown_control(value: Any) -> tuple[Any, int]:
    """Return a control without unknown members, and how many these were."""
    return _known(value, _CONTROL) if isinstance(value, dict) else (value, 0)


def _known(value: JsonObject, members: frozenset[str]) -> tuple[JsonObject, int]:
    clean = {name: member for name, member in value.items() if name in members}
    return clean, len(value) - len(clean)


def turn_hash(turn: JsonObject) -> str:
    """Return the SHA-256 of the turn's canonical JSON without unknown members (SAOP guide, 5.1)."""
    return sha256_hex(canonical_json(turn))


def rewind_hash(avro_value: dict[str, Any]) -> str:
    """Return the SHA-256 of a rewind command's canonical JSON, with `rewind_id` in lower case."""
    command = to_json("headrace.saop.SaopRewind", avro_value)
    return sha256_hex(canonical_json({**command, "rewind_id": command["rewind_id"].lower()}))


def control_hash(avro_value: dict[str, Any]) -> str:
    """Return the SHA-256 of a control's canonical JSON, with `control_id` in lower case."""
    command = to_json("headrace.saop.SaopControl", avro_value)
    return sha256_hex(canonical_json({**command, "control_id": command["control_id"].lower()}))
