"""Reads JSON values that may have any shape: what does not fit is left out."""

from __future__ import annotations

from typing import Any

from streams.protocols.sap.constitution.words import Json


def record(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def array(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def objects(value: Any) -> list[Json]:
    return [item for item in array(value) if isinstance(item, dict)]


def strings(value: Any) -> list[str]:
    return [item for item in array(value) if isinstance(item, str)]
