"""A JSON Schema of an object for people: its properties, one a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.cli import common
from streams.cli.text import Page

_IN_COLUMNS = ("type", "description")


def show_schema(schema: Any, page: Page, indent: int = 0) -> None:
    """Print the properties of an object; another schema as JSON."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        page.line(page.message(schema), indent=indent)
        return
    required = schema.get("required") or []
    rows = [
        (
            page.plain(name),
            page.plain(_type_of(each)),
            page.plain("yes" if name in required else "no"),
            page.message(_rest_of(each)),
        )
        for name, each in properties.items()
    ]
    page.table(("property", "type", "required", "more"), rows, indent=indent)


def _type_of(schema: Any) -> Any:
    return schema.get("type") if isinstance(schema, Mapping) else None


def _rest_of(schema: Any) -> str | None:
    """Return the description, and what else the schema says."""
    if not isinstance(schema, Mapping):
        return common.json_line(schema)
    others = [
        f"{name} {_in_words(value)}" for name, value in schema.items() if name not in _IN_COLUMNS
    ]
    parts = [schema.get("description"), ", ".join(others)]
    return " ".join(str(part) for part in parts if part) or None


def _in_words(value: Any) -> str:
    """Return a value of a schema: simple ones and their lists as words, others as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, str | int | float) for each in value):
        return " | ".join(map(_in_words, value))
    if isinstance(value, Mapping) and list(value) == ["type"]:
        return _in_words(value["type"])
    return common.json_line(value)
