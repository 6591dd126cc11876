"""The JSON Schema of policy files in schemas/json/policy, made from the settings that decide."""

from __future__ import annotations

import json
from pathlib import Path

from streams.policy.schema import policy_schema

PATH = Path(__file__).resolve().parents[2] / "schemas/json/policy/bundle.schema.json"


def text() -> str:
    return json.dumps(policy_schema(), indent=2, ensure_ascii=False) + "\n"


def drift() -> list[str]:
    """Return the name of the file in a list if it differs from the settings declared here."""
    there = PATH.read_text(encoding="utf-8") if PATH.exists() else None
    return [] if there == text() else [PATH.name]


def write() -> None:
    PATH.parent.mkdir(parents=True, exist_ok=True)
    PATH.write_text(text(), encoding="utf-8")
