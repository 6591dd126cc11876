"""The components of the document: rows, composed answers, bodies."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from pydantic.json_schema import models_json_schema

from schemas.model import JsonSchema as WithoutNulls
from schemas.row_schema import RowSchemas
from streams.gateway.answers import service
from streams.gateway.answers.shapes import RECORD, Answer, Extended, Page, Row
from streams.gateway.answers.table import ANSWERS
from topology.apc import APC_COORDINATION, APC_DECISIONS, APC_EVENTS, APC_PACKET_STATES
from topology.asap import ASAP_ENVELOPES, ASAP_EVENTS, ASAP_MANIFESTS
from topology.core import LINEAGE_EDGES
from topology.saop import SAOP_REWIND_LOG
from topology.sap import (
    SAP_ACKS,
    SAP_CACHE,
    SAP_HEURISTICS,
    SAP_KNOWLEDGE,
    SAP_LEARNING,
    SAP_OUTCOMES,
    SAP_TASKS,
)
from topology.summit import SUMMIT_EVENTS

Json = dict[str, Any]
BASE = "#/components/schemas/"
_ROWS = (
    APC_EVENTS,
    APC_PACKET_STATES,
    APC_COORDINATION,
    APC_DECISIONS,
    LINEAGE_EDGES,
    SAOP_REWIND_LOG,
    SAP_TASKS,
    SAP_OUTCOMES,
    SAP_ACKS,
    SAP_CACHE,
    SAP_LEARNING,
    SAP_HEURISTICS,
    SAP_KNOWLEDGE,
    ASAP_ENVELOPES,
    ASAP_EVENTS,
    ASAP_MANIFESTS,
    SUMMIT_EVENTS,
)
"""Topics whose records, or parts of them, stand in composed answers."""
_FILLED_IN = {"apc/packet": "created_at"}
"""What an edge fills in, and so may be left out of a body."""


def ref(name: str) -> Json:
    return {"$ref": f"{BASE}{name}"}


class Components:
    """schemas: by name.  answers: the schema of each answer by the route table's names."""

    def __init__(self) -> None:
        rows = RowSchemas(BASE)
        for topic in _ROWS:
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
    packet, event, turn = _body("apc/packet"), _body("rtes/event"), _body("saop/turn")
    task, result, signal = _body("sap/task"), _body("sap/result"), _body("sap/signal")
    envelope = _body("asap/envelope", "asap/envelope.schema")
    manifest = _body("asap/manifest", "asap/entities/manifest.schema")
    metrics = {**packet["apc.packet.MetricSet"], "title": "Metrics"}
    metrics.pop("required")
    wrapped = {"type": "object", "properties": {"metric_set": ref("Metrics")}}
    several = {"type": "array", "items": {}}
    return {
        **packet,
        **event,
        **turn,
        **task,
        **result,
        **signal,
        **envelope,
        **manifest,
        **_body("summit/manifest"),
        **_body("summit/call"),
        **_body("summit/reply"),
        "RewindOrder": _rewind_order(),
        "Metrics": metrics,
        "metrics": {
            "anyOf": [
                ref("apc.packet.EvalPacket"),
                ref("Metrics"),
                {**wrapped, "required": ["metric_set"], "additionalProperties": False},
            ]
        },
        "transfers": {
            "anyOf": [
                several,
                {"type": "object", "properties": {"packets": several}, "required": ["packets"]},
            ]
        },
    }


def _rewind_order() -> Json:
    """The members of a SaopRewind that the path does not say; one of task and commit is named."""
    text = files("schemas").joinpath("json", "saop", "rewind.json").read_text("utf-8")
    own = json.loads(text)["properties"]
    names = ("task_id", "git_hash", "rewind_id", "reason")
    phase = {"type": "string", "enum": ["apply", "prepare"], "default": "apply"}
    said = {"task_id": {"type": "string"}, "git_hash": {"type": "null"}}
    other = {"task_id": {"type": "null"}, "git_hash": {"type": "string"}}
    return {
        "type": "object",
        "properties": {**{name: own[name] for name in names}, "phase": phase},
        "anyOf": [
            {"properties": said, "required": ["task_id"]},
            {"properties": other, "required": ["git_hash"]},
        ],
    }


def _body(name: str, file: str | None = None) -> Json:
    """The JSON Schema of an envelope and its parts, as components.

    file: that holds it, if it is not called so.
    """
    text = files("schemas").joinpath("json", f"{file or name}.json").read_text("utf-8")
    own = name.replace("/", ".")
    schema = json.loads(text.replace('"#/$defs/', f'"{BASE}{own}.'))
    parts = schema.pop("$defs", {})
    schema.pop("$schema", None)
    optional = _FILLED_IN.get(name)
    for part in (schema, *parts.values()):
        if optional in part.get("required", ()):
            part["required"].remove(optional)
    return {own: schema, **{f"{own}.{part}": found for part, found in parts.items()}}


def one_or_many(name: str, most: int, none: bool = True) -> Json:
    """A body of one envelope, or of a list of at most so many.  none: the list may be empty."""
    least = {} if none else {"minItems": 1}
    many = {"type": "array", "items": ref(name), **least, "maxItems": most}
    return {"anyOf": [ref(name), many]}
