"""The committed examples."""

from __future__ import annotations

import copy
import json
from importlib.resources import files
from typing import Any

RECORDS = {
    "apc": "headrace.apc.ApcPacket",
    "rtes": "headrace.rtes.RtesEvent",
    "saop": "headrace.saop.SaopTurn",
    "saop/rewinds": "headrace.saop.SaopRewind",
    "saop/controls": "headrace.saop.SaopControl",
    "sap/tasks": "headrace.sap.SapTask",
    "sap/results": "headrace.sap.SapResult",
    "sap/signals": "headrace.sap.SapSignal",
    "otel": "headrace.otel.OtelSpan",
    "summit/calls": "headrace.summit.SummitCall",
    "summit/replies": "headrace.summit.SummitReply",
}
KINDS = {
    "apc": "apc.packet",
    "rtes": "rtes.event",
    "saop": "saop.turn",
    "saop/rewinds": "saop.rewind",
    "saop/controls": "saop.control",
    "sap/tasks": "sap.task",
    "sap/results": "sap.result",
    "sap/signals": "sap.signal",
    "asap": "asap.envelope",
    "asap/manifests": "asap.manifest",
    "otel": "otel.span",
    "summit/manifests": "summit.manifest",
    "summit/calls": "summit.call",
    "summit/replies": "summit.reply",
}
CASES = {
    "apc": "packet",
    "rtes": "event",
    "saop": "turn",
    "saop/rewinds": "command",
    "saop/controls": "command",
    "sap/tasks": "envelope",
    "sap/results": "envelope",
    "sap/signals": "envelope",
    "asap": "envelope",
    "asap/manifests": "manifest",
    "otel": "span",
    "summit/manifests": "manifest",
    "summit/calls": "call",
    "summit/replies": "reply",
}
"""The member of an invalid example that holds the value."""


def valid(protocol: str) -> dict[str, dict[str, Any]]:
    return _read(protocol)


def invalid(protocol: str) -> dict[str, dict[str, Any]]:
    return _read(f"{protocol}/invalid")


def changed(base: dict[str, Any], **members: Any) -> dict[str, Any]:
    """A copy with members at places like `payload__input`; `...` takes one out."""
    value = copy.deepcopy(base)
    for place, member in members.items():
        *owners, name = place.split("__")
        owner = value
        for step in owners:
            owner = owner.setdefault(step, {})
        if member is ...:
            del owner[name]
        else:
            owner[name] = member
    return value


def _read(folder: str) -> dict[str, dict[str, Any]]:
    entries = files("schemas").joinpath(f"examples/{folder}").iterdir()
    texts = {file.name: file.read_text("utf-8") for file in entries if file.name.endswith(".json")}
    return {name.removesuffix(".json"): json.loads(text) for name, text in sorted(texts.items())}
