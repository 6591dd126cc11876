"""OpenAPI operations of the schema registry's read API, which `registry.yaml` describes."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import yaml

from streams.api.openapi import TEXT, Json
from streams.registry.subjects import subjects
from topology.apc import APC_PACKETS

TAG = "registry"


def paths(prefix: str) -> Json:
    """Return the registry's paths.  prefix: the prefix of topic names."""
    examples = {
        "subject": f"{prefix}{APC_PACKETS.name}-value",
        "version": "latest",
        "id": next(iter(subjects().values())).entries[0].id,
    }
    return {
        path: {method: _add_examples(operation, examples) for method, operation in item.items()}
        for path, item in _load_paths().items()
    }


def components() -> Json:
    """Return the registry's component schemas by name."""
    return {
        "RegistryFault": {
            "type": "object",
            "properties": {"error_code": {"type": "integer"}, "message": TEXT},
            "required": ["error_code", "message"],
            "additionalProperties": False,
        }
    }


@cache
def _load_paths() -> Json:
    text = files("streams.gateway.openapi").joinpath("registry.yaml").read_text()
    described: Json = yaml.safe_load(text)
    paths: Json = described["paths"]
    return paths


def _add_examples(operation: Json, examples: Json) -> Json:
    """Return a copy of the operation whose path parameters have examples."""
    parameters = [
        {**each, "example": examples[each["name"]]} if each["in"] == "path" else each
        for each in operation["parameters"]
    ]
    responses = dict(operation["responses"])
    return {**operation, "parameters": parameters, "responses": responses}
