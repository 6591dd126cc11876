"""The committed examples."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

RECORDS = {"apc": "headrace.apc.ApcPacket", "rtes": "headrace.rtes.RtesEvent"}
KINDS = {"apc": "apc.packet", "rtes": "rtes.event"}


def valid(protocol: str) -> dict[str, dict[str, Any]]:
    return _read(protocol)


def invalid(protocol: str) -> dict[str, dict[str, Any]]:
    return _read(f"{protocol}/invalid")


def _read(folder: str) -> dict[str, dict[str, Any]]:
    found = files("schemas").joinpath(f"examples/{folder}").iterdir()
    texts = {file.name: file.read_text("utf-8") for file in found if file.name.endswith(".json")}
    return {name.removesuffix(".json"): json.loads(text) for name, text in sorted(texts.items())}
