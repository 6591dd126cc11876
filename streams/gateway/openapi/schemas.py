"""The components of the document: rows, composed answers, bodies."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import models_json_schema

from schemas.json_mapping.row_schema import RowSchemas
from schemas.model import JsonSchema as WithoutNulls
from streams.api.openapi import BASE, Json, ref
from streams.gateway.answers import service
from streams.gateway.answers.shapes import RECORD, Answer, Extended, Page, Row
from streams.gateway.answers.table import ANSWERS
from streams.gateway.descriptions import DESCRIPTIONS


class Components:
    """schemas: by name.  answers: the schema of each answer by the route table's names."""

    def __init__(self) -> None:
        rows = RowSchemas(BASE)
        for topic in (topic for each in DESCRIPTIONS for topic in each.records):
            rows.add(topic.record or "")
        self.answers = {name: self._answer(name, rows) for name in ANSWERS}
        models = _models()
        self.schemas: Json = {**models, **rows.found, **_extended(rows, models), **_bodies()}

    def _answer(self, name: str, rows: RowSchemas) -> Json:
        match ANSWERS[name]:
            case Row(record):
                return rows.add(record)
            case Extended(component, record):
                rows.add(record)
                return ref(component)
            case Page(record):
                return _page(rows.add(record))
            case tuple() as several:
                return {"anyOf": [ref(each.__name__) for each in several]}
            case model:
                return ref(model.__name__)


def _extended(rows: RowSchemas, models: Json) -> Json:
    """Records with the members of a model in addition, or instead of their own."""
    found: Json = {}
    for shape in ANSWERS.values():
        if isinstance(shape, Extended):
            own, more = rows.found[shape.record], models[shape.more.__name__]
            members = {**own["properties"], **more["properties"]}
            required = dict.fromkeys([*own["required"], *more["required"]])
            found[shape.name] = {
                **own,
                "title": shape.name,
                "properties": {k: v for k, v in members.items() if k not in shape.without},
                "required": [name for name in required if name not in shape.without],
            }
    return found


def _page(item: Json) -> Json:
    following = {"type": ["string", "null"], "description": "The cursor of the next page."}
    return {
        "type": "object",
        "properties": {"items": {"type": "array", "items": item}, "next": following},
        "required": ["items", "next"],
        "additionalProperties": False,
    }


def _models() -> Json:
    answers: list[type[Answer]] = [service.Alive, service.Readiness]
    for shape in ANSWERS.values():
        match shape:
            case Row() | Page():
                pass
            case Extended():
                answers.append(shape.more)
            case tuple() as several:
                answers += several
            case model:
                answers.append(model)
    template = BASE + "{model}"
    _, found = models_json_schema(
        [(model, "serialization") for model in dict.fromkeys(answers)], ref_template=template
    )
    problem = service.Problem.model_json_schema(
        ref_template=template, schema_generator=WithoutNulls
    )
    inner = problem.pop("$defs")
    models: Json = _with_records({**found["$defs"], "Problem": problem, **inner})
    return models


def _with_records(schema: Any) -> Any:
    """With references in place of what stands for records."""
    if isinstance(schema, dict):
        if RECORD in schema:
            return ref(schema[RECORD])
        return {name: _with_records(member) for name, member in schema.items()}
    return [_with_records(item) for item in schema] if isinstance(schema, list) else schema


def _bodies() -> Json:
    """Those that are composed follow the others, those of the last protocol first."""
    plain = [body for each in DESCRIPTIONS for body in each.bodies if not body.composed]
    composed = [body for each in reversed(DESCRIPTIONS) for body in each.bodies if body.composed]
    return {k: v for body in (*plain, *composed) for k, v in body.components().items()}


def one_or_many(name: str, most: int, none: bool = True) -> Json:
    """A body of one envelope, or of a list of at most so many.  none: the list may be empty."""
    least = {} if none else {"minItems": 1}
    many = {"type": "array", "items": ref(name), **least, "maxItems": most}
    return {"anyOf": [ref(name), many]}
