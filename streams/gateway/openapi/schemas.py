"""Component schemas of the document: records, composed responses, bodies."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import models_json_schema

from schemas.json_mapping.row_schema import RowSchemas
from schemas.model import JsonSchema as WithoutNulls
from streams.api.openapi import BASE, Json, ref
from streams.gateway.descriptions import DESCRIPTIONS, RESPONSES
from streams.gateway.host_responses import Service
from streams.gateway.responses import (
    RECORD,
    Alive,
    Extended,
    Page,
    Problem,
    Readiness,
    ResponseModel,
    Row,
)


class Components:
    """The component schemas of the document.

    schemas: by name.  answers: the schema of each response, by its name in the route table.
    """

    def __init__(self) -> None:
        rows = RowSchemas(BASE)
        for topic in (topic for each in DESCRIPTIONS for topic in each.records):
            rows.add(topic.record or "")
        self.answers = {name: self._answer(name, rows) for name in RESPONSES}
        models = _make_model_schemas()
        self.schemas: Json = {
            **models,
            **rows.found,
            **_make_extended_schemas(rows, models),
            **_make_body_schemas(),
        }

    def _answer(self, name: str, rows: RowSchemas) -> Json:
        match RESPONSES[name]:
            case Row(record):
                return rows.add(record)
            case Extended(component, record):
                rows.add(record)
                return ref(component)
            case Page(record):
                return _page_schema(rows.add(record))
            case tuple() as several:
                return {"anyOf": [ref(each.__name__) for each in several]}
            case model:
                return ref(model.__name__)


def _make_extended_schemas(rows: RowSchemas, models: Json) -> Json:
    """Return the schemas of records with members of a model added or replaced."""
    schemas: Json = {}
    for shape in RESPONSES.values():
        if isinstance(shape, Extended):
            base, more = rows.found[shape.record], models[shape.more.__name__]
            members = {**base["properties"], **more["properties"]}
            required = dict.fromkeys([*base["required"], *more["required"]])
            schemas[shape.name] = {
                **base,
                "title": shape.name,
                "properties": {k: v for k, v in members.items() if k not in shape.without},
                "required": [name for name in required if name not in shape.without],
            }
    return schemas


def _page_schema(item: Json) -> Json:
    following = {"type": ["string", "null"], "description": "The cursor of the next page."}
    return {
        "type": "object",
        "properties": {"items": {"type": "array", "items": item}, "next": following},
        "required": ["items", "next"],
        "additionalProperties": False,
    }


def _make_model_schemas() -> Json:
    models_used: list[type[ResponseModel]] = [Alive, Readiness, Service]
    for shape in RESPONSES.values():
        match shape:
            case Row() | Page():
                pass
            case Extended():
                models_used.append(shape.more)
            case tuple() as union:
                models_used += union
            case model:
                models_used.append(model)
    template = BASE + "{model}"
    _, generated = models_json_schema(
        [(model, "serialization") for model in dict.fromkeys(models_used)], ref_template=template
    )
    problem = Problem.model_json_schema(ref_template=template, schema_generator=WithoutNulls)
    inner = problem.pop("$defs")
    models: Json = _resolve_records({**generated["$defs"], "Problem": problem, **inner})
    return models


def _resolve_records(schema: Any) -> Any:
    """Replace the placeholders of records by references."""
    if isinstance(schema, dict):
        if RECORD in schema:
            return ref(schema[RECORD])
        return {name: _resolve_records(member) for name, member in schema.items()}
    return [_resolve_records(item) for item in schema] if isinstance(schema, list) else schema


def _make_body_schemas() -> Json:
    """Return the schemas of bodies.

    Composed bodies follow the others, those of the last protocol first.
    """
    plain = [body for each in DESCRIPTIONS for body in each.bodies if not body.composed]
    composed = [body for each in reversed(DESCRIPTIONS) for body in each.bodies if body.composed]
    return {k: v for body in (*plain, *composed) for k, v in body.components().items()}


def one_or_many(name: str, max_items: int, may_be_empty: bool = True) -> Json:
    """Return the schema of a body with one envelope, or with a list of them.

    max_items: the maximum length of the list.
    """
    min_items = {} if may_be_empty else {"minItems": 1}
    many = {"type": "array", "items": ref(name), **min_items, "maxItems": max_items}
    return {"anyOf": [ref(name), many]}
