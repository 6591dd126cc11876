"""JSON Schemas of the models: by name, and as files (ASAP guide, 2.9)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from schemas.asap import entities, parts
from schemas.asap.envelope import Envelope
from schemas.asap.parts import Part
from schemas.asap.payloads import PAYLOADS
from schemas.asap.spelling import kebab, snake

JsonSchema = dict[str, Any]

_FOLDERS: dict[str, tuple[type[BaseModel], ...]] = {
    "entities": (
        entities.Agent,
        entities.Manifest,
        entities.Conversation,
        entities.Task,
        entities.Message,
        entities.Artifact,
        entities.StateSnapshot,
    ),
    "parts": (
        parts.TextPart,
        parts.DataPart,
        parts.FilePart,
        parts.ResourcePart,
        parts.TemplatePart,
    ),
    "payloads": tuple(PAYLOADS.values()),
    "": (Envelope,),
}
SCHEMA_REGISTRY: dict[str, type[BaseModel]] = {
    snake(model.__name__): model for models in _FOLDERS.values() for model in models
}
"""The models by the names of their schemas."""
TOTAL_SCHEMA_COUNT = len(SCHEMA_REGISTRY)

_FILES = {
    snake(model.__name__): Path(folder, f"{kebab(model.__name__)}.schema.json")
    for folder, models in _FOLDERS.items()
    for model in models
}
PART_FILE = Path("entities", "part.schema.json")


def get_schema_json(name: str) -> JsonSchema:
    """Return the schema of a name of the registry, or of `part`.  Raises ValueError for another."""
    if name == "part":
        return Part.model_json_schema()
    if name not in SCHEMA_REGISTRY:
        known = ", ".join(sorted(SCHEMA_REGISTRY))
        raise ValueError(f"Unknown schema name: {name}. Known: {known}, part")
    return SCHEMA_REGISTRY[name].model_json_schema()


def schema_text(schema: JsonSchema) -> str:
    """Return the text of a schema file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def export_schema(model_class: type[BaseModel], path: str | Path) -> Path:
    """Write the schema of a model; create its folder if needed."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(schema_text(model_class.model_json_schema()), "utf-8")
    return target


def export_all_schemas(folder: str | Path) -> list[Path]:
    """Write every schema of the registry, and return their paths."""
    return [
        export_schema(SCHEMA_REGISTRY[name], path) for name, path in list_schema_entries(folder)
    ]


def list_schema_entries(folder: str | Path) -> list[tuple[str, Path]]:
    """Return the names of the registry with the paths that `export_all_schemas` writes."""
    return [(name, Path(folder) / path) for name, path in _FILES.items()]
