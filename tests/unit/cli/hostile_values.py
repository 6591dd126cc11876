"""Values of any record with a hostile text in every free member."""

from __future__ import annotations

import json
from typing import Any

from schemas import CATALOGUE, to_json
from schemas.sources import full_name

HOSTILE = (
    "[red]a[/red]\x1b[31m\x1b]0;owned\x07\x9b31m\x7f\u202eb\u2066\r\n\tFORGED  ✔ accepted\x85\u2028"
)
"""Markup, ANSI sequences, C0 and C1 controls, bidi controls, and what looks like a line of ours."""
PRIMITIVES: dict[str, Any] = {
    "string": HOSTILE,
    "int": 3,
    "long": 1_700_000_000_123,
    "double": 0.1,
    "boolean": True,
    "bytes": HOSTILE.encode(),
}


def hostile_values(record: str) -> list[Any]:
    """Return values as JSON: with every member, for each branch of its unions, and with nulls."""
    schema = CATALOGUE.latest(record).schema
    return [to_json(record, _Maker(branch).value(schema)) for branch in range(-1, 14)]


class _Maker:
    """branch: which of a union's branches is taken; -1 takes null where it may."""

    def __init__(self, branch: int) -> None:
        self._branch = branch
        self._named: dict[str, Any] = {}

    def value(self, schema: Any) -> Any:
        if isinstance(schema, list):
            return self._union(schema)
        if isinstance(schema, str):
            return PRIMITIVES[schema] if schema in PRIMITIVES else self.value(self._named[schema])
        kind = schema["type"]
        if kind == "array":
            item = self.value(schema["items"])
            return [] if self._branch < 0 else [item]
        if kind == "map":
            member = self.value(schema["values"])
            return {} if self._branch < 0 else {HOSTILE: member}
        if kind in ("record", "enum"):
            self._named[full_name(schema["name"], schema["namespace"])] = schema
        if kind == "enum":
            return schema["symbols"][self._branch % len(schema["symbols"])]
        if kind == "record":
            return {field["name"]: self._member(field) for field in schema["fields"]}
        return PRIMITIVES[kind]

    def _member(self, field: dict[str, Any]) -> Any:
        value = self.value(field["type"])
        is_text = field["name"].endswith("_json") and isinstance(value, str)
        return json.dumps({"a": HOSTILE}, separators=(",", ":")) if is_text else value

    def _union(self, schema: list[Any]) -> Any:
        branches = [branch for branch in schema if branch != "null"]
        values = [(branch, self.value(branch)) for branch in branches]
        if len(branches) < len(schema) and self._branch < 0:
            return None
        branch, value = values[self._branch % len(values)]
        if len(branches) == 1 or not isinstance(value, dict):
            return value
        name = branch if isinstance(branch, str) else full_name(branch["name"], branch["namespace"])
        return name, value
