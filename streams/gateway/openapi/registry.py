"""OpenAPI operations of the schema registry's read API."""

from __future__ import annotations

import re

from streams.api.media import PROBLEM_TYPE
from streams.api.openapi import TEXT, Json, json_response, ref
from streams.gateway import registry
from streams.registry.reading import COMPATIBILITY, MEDIA, MODE
from streams.registry.subjects import subjects
from topology.apc import APC_PACKETS

TAG = "registry"
_WHOLE: Json = {"type": "integer"}
_NUMBER: Json = {"type": "integer", "minimum": 0}
_SUBJECTS: Json = {"type": "array", "items": TEXT}
_AVRO: Json = {"type": "object", "required": ["type", "name"]}
_ERRORS = {
    "404": "There is no such subject, version or schema.",
    "422": "The version or a query parameter is not allowed.",
}


def _object(**members: Json) -> Json:
    return {
        "type": "object",
        "properties": members,
        "required": list(members),
        "additionalProperties": False,
    }


_OPERATIONS: dict[str, tuple[str, str, Json]] = {
    "/subjects": ("list_subjects", "Names of all subjects", _SUBJECTS),
    registry.VERSIONS_PATH: (
        "list_versions",
        "Versions of a subject",
        {"type": "array", "items": _NUMBER},
    ),
    f"{registry.VERSIONS_PATH}/{{version}}": (
        "get_version",
        "One version of a subject",
        _object(subject=TEXT, version=_NUMBER, id=_NUMBER, schema=TEXT),
    ),
    f"{registry.VERSIONS_PATH}/{{version}}/schema": (
        "get_version_schema",
        "The schema of one version of a subject",
        _AVRO,
    ),
    "/schemas/types": (
        "list_schema_types",
        "Kinds of schemas",
        {"type": "array", "items": {"type": "string", "enum": registry.TYPES}},
    ),
    registry.ID_PATH: ("get_schema", "The schema of an id, as text", _object(schema=TEXT)),
    f"{registry.ID_PATH}/schema": ("get_raw_schema", "The schema of an id", _AVRO),
    f"{registry.ID_PATH}/subjects": (
        "list_subjects_of_schema",
        "Subjects that have the schema of an id",
        _SUBJECTS,
    ),
    f"{registry.ID_PATH}/versions": (
        "list_versions_of_schema",
        "Subjects and versions that have the schema of an id",
        {"type": "array", "items": _object(subject=TEXT, version=_NUMBER)},
    ),
}
_LEVEL = _object(compatibilityLevel={"type": "string", "enum": [COMPATIBILITY]})
_MODE = _object(mode={"type": "string", "enum": [MODE]})
for _of, _subject_too in (("", ""), ("_of_subject", " of a subject")):
    _path = "/{subject}" if _of else ""
    _OPERATIONS[f"/config{_path}"] = (
        f"get_compatibility{_of}",
        f"How versions{_subject_too} are kept compatible",
        _LEVEL,
    )
    _OPERATIONS[f"/mode{_path}"] = (
        f"get_mode{_of}",
        f"Whether schemas{_subject_too} are added",
        _MODE,
    )


def paths(prefix: str) -> Json:
    """Return the registry's paths.  prefix: the prefix of topic names."""
    items: Json = {path: {"get": _make_operation(path, prefix)} for path in registry.READS}
    names = {
        registry.SUBJECT_PATH: ("look_up_schema", "Refused: the catalogue is read only"),
        registry.VERSIONS_PATH: ("register_schema", "Refused: the catalogue is read only"),
    }
    for path in registry.WRITES:
        name, summary = names[path]
        items.setdefault(path, {})["post"] = {
            "operationId": name,
            "summary": summary,
            "tags": [TAG],
            "parameters": _list_parameters(path, prefix),
            "responses": {
                "422": _make_error_response("Schemas are added with releases only."),
                **_make_default_response(),
            },
        }
    return items


def components() -> Json:
    """Return the registry's component schemas by name."""
    return {"RegistryFault": _object(error_code=_WHOLE, message=TEXT)}


def _make_operation(path: str, prefix: str) -> Json:
    name, summary, schema = _OPERATIONS[path]
    faults = _ERRORS if "{" in path or path == "/subjects" else {}
    return {
        "operationId": name,
        "summary": summary,
        "tags": [TAG],
        "parameters": _list_parameters(path, prefix),
        "responses": {
            "200": json_response(schema, "The answer.", MEDIA),
            **{status: _make_error_response(meaning) for status, meaning in faults.items()},
            **_make_default_response(),
        },
    }


def _make_error_response(meaning: str) -> Json:
    return json_response(ref("RegistryFault"), meaning, MEDIA)


def _make_default_response() -> Json:
    """Return the default response; limits that hold for every request respond with a problem."""
    other = _make_error_response("Another fault.")
    other["content"] |= json_response(ref("Problem"), "", PROBLEM_TYPE)["content"]
    return {"default": other}


def _list_parameters(path: str, prefix: str) -> list[Json]:
    examples = {
        "subject": f"{prefix}{APC_PACKETS.name}-value",
        "version": "latest",
        "id": next(iter(subjects().values())).entries[0].id,
    }
    forms: Json = {
        "subject": {"type": "string", "minLength": 1},
        "version": {"type": "string", "pattern": "^(latest|-1|[1-9][0-9]{0,8})$"},
        "id": _NUMBER,
    }
    parameters = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": forms[name],
            "example": examples[name],
        }
        for name in re.findall(r"{(\w+)}", path)
    ]
    if path == "/subjects":
        limits = {"minimum": -1, "maximum": 2**31 - 1}
        parameters += [
            _query_parameter("subjectPrefix", "What their names begin with", TEXT),
            _query_parameter("offset", "How many to leave out", {**_WHOLE, **limits, "minimum": 0}),
            _query_parameter("limit", "How many to name at most; -1: all", {**_WHOLE, **limits}),
        ]
    return parameters


def _query_parameter(name: str, meaning: str, schema: Json) -> Json:
    described = f"{meaning}."
    return {
        "name": name,
        "in": "query",
        "required": False,
        "description": described,
        "schema": schema,
    }
