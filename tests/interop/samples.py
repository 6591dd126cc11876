"""A value of any record, with something in every member."""

from __future__ import annotations

from typing import Any

from schemas import CATALOGUE
from schemas.sources import full_name

PRIMITIVES: dict[str, Any] = {
    "string": "zwölf £",
    "int": -12,
    "long": 1_700_000_000_123,
    "double": 0.1,
    "boolean": True,
    "bytes": b"\0\xff",
}


def sample(record: str) -> dict[str, Any]:
    """In the codec's form: of several branches of a union the last, a record as (name, value)."""
    made: dict[str, Any] = _Maker().value(CATALOGUE.latest(record).schema)
    return made


class _Maker:
    def __init__(self) -> None:
        self._named: dict[str, Any] = {}

    def value(self, schema: Any) -> Any:
        if isinstance(schema, list):
            return self._union(schema)
        if isinstance(schema, str):
            return PRIMITIVES[schema] if schema in PRIMITIVES else self.value(self._named[schema])
        kind = schema["type"]
        if kind == "array":
            return [self.value(schema["items"])]
        if kind == "map":
            return {"some": self.value(schema["values"])}
        if kind in ("record", "enum"):
            self._named[full_name(schema["name"], schema["namespace"])] = schema
        if kind == "enum":
            return schema["symbols"][-1]
        if kind == "record":
            return {field["name"]: self.value(field["type"]) for field in schema["fields"]}
        return PRIMITIVES[kind]

    def _union(self, schema: list[Any]) -> Any:
        branches = [branch for branch in schema if branch != "null"]
        values = [(branch, self.value(branch)) for branch in branches]
        branch, value = values[-1]
        if len(branches) == 1 or not isinstance(value, dict):
            return value
        name = branch if isinstance(branch, str) else full_name(branch["name"], branch["namespace"])
        return name, value
