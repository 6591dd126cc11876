"""The committed examples."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

RECORDS = {
    "apc": "headrace.apc.ApcPacket",
    "rtes": "headrace.rtes.RtesEvent",
    "saop": "headrace.saop.SaopTurn",
    "saop/rewinds": "headrace.saop.SaopRewind",
    "sap/tasks": "headrace.sap.SapTask",
    "sap/results": "headrace.sap.SapResult",
    "sap/signals": "headrace.sap.SapSignal",
}
KINDS = {
    "apc": "apc.packet",
    "rtes": "rtes.event",
    "saop": "saop.turn",
    "saop/rewinds": "saop.rewind",
    "sap/tasks": "sap.task",
    "sap/results": "sap.result",
    "sap/signals": "sap.signal",
    "asap": "asap.envelope",
    "asap/manifests": "asap.manifest",
}
CASES = {
    "apc": "packet",
    "rtes": "event",
    "saop": "turn",
    "saop/rewinds": "command",
    "sap/tasks": "envelope",
    "sap/results": "envelope",
    "sap/signals": "envelope",
    "asap": "envelope",
    "asap/manifests": "manifest",
}
"""The member of an invalid example that holds the value."""


def valid(protocol: str) -> dict[str, dict[str, Any]]:
    return _read(protocol)


def invalid(protocol: str) -> dict[str, dict[str, Any]]:
    return _read(f"{protocol}/invalid")


def _read(folder: str) -> dict[str, dict[str, Any]]:
    found = files("schemas").joinpath(f"examples/{folder}").iterdir()
    texts = {file.name: file.read_text("utf-8") for file in found if file.name.endswith(".json")}
    return {name.removesuffix(".json"): json.loads(text) for name, text in sorted(texts.items())}
