"""The files about policies made from the settings that decide: a JSON Schema and the defaults."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from streams.policy.schema import policy_schema
from streams.policy.toml_text import default_toml

_ROOT = Path(__file__).resolve().parents[2]
SCHEMA = _ROOT / "schemas/json/policy/bundle.schema.json"
DEFAULT = _ROOT / "topology/policy/default.toml"


def schema_text() -> str:
    return json.dumps(policy_schema(), indent=2, ensure_ascii=False) + "\n"


FILES: Mapping[Path, Callable[[], str]] = {SCHEMA: schema_text, DEFAULT: default_toml}
"""The text of each file."""


def drift() -> list[str]:
    """Return the names of the files that differ from the settings declared here."""
    return [path.name for path, text in FILES.items() if _content(path) != text()]


def _content(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def write() -> None:
    for path, text in FILES.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text(), encoding="utf-8")
