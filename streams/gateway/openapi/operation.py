"""One operation of the document."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

from streams.api.problems import TITLES
from streams.api.route import Compute, Order, Produce, Put, Query, Route
from streams.engine.headers import TRACEPARENT
from streams.gateway.answer import JSON, PROBLEM
from streams.gateway.openapi import waits
from streams.gateway.openapi.parts import answer
from streams.gateway.openapi.schemas import Components, Json, one_or_many, ref
from streams.routes.table import INPUTS, parameters_of
from streams.views.parameters import AS_OF, PACKET_ID, PROTOCOL_ID, SESSION_ID, Form, Parameter

NDJSON = "application/x-ndjson"
_REWIND_ID = Parameter("rewind_id", "this rewind", example="0f5f9d0e-8a52-4d6b-9d1d-7f0c2f5d0f76")
_TASK_ID = Parameter("taskId", "this task", example="7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a")
_CACHE_KEY = Parameter(
    "cacheKey",
    "answers under this key",
    example="591a42479351258326c4e1b6dd4c01bb5314daebe28167c1c5ee45dbb49b303f",
)
_IDS = {
    parameter.name: parameter
    for parameter in (
        *(SESSION_ID, PACKET_ID, PROTOCOL_ID, _REWIND_ID, _TASK_ID, _CACHE_KEY),
        Parameter("id", "of this id", example="01M7YRRRS4RFVVVX9QRHKJ8E9C"),
        Parameter("envelope_id", "with this id", example="01M7YRRRS4RFVVVX9QRHKJ8E9C"),
        Parameter("key", "the call with this key", example="call-1"),
        Parameter("urn", "this agent", example="urn:asap:agent:indexer:eu"),
        Parameter("version", "a number, `latest` or `checkpoint`", example="latest"),
        Parameter("agentId", "this agent", example="word-stats"),
        Parameter("runId", "this run", example="run-7f2"),
    )
}
_BODY_FAULTS = (400, 408, 413, 415, 422)


def operation(route: Route, components: Components, prefix: str) -> Json:
    """prefix: of topic names."""
    found: Json = {
        "operationId": route.name,
        "summary": route.meaning[0].upper() + route.meaning[1:],
        "tags": [route.tag],
        "parameters": [
            *(_path(name) for name in re.findall(r"{(\w+)}", route.template)),
            *(query_parameter(parameter, prefix) for parameter in parameters_of(route)),
            *_headers(route),
        ],
    }
    if route.body is not None:
        found["requestBody"] = {"required": True, "content": _content(route, route.body)}
    found["responses"] = {**_done(route, components), **problems(_faults(route))}
    if isinstance(route.action, Produce | Put) and route.action.wait is not None:
        found["responses"] |= waits.responses(route.action.wait, components)
    return found


def _done(route: Route, components: Components) -> Json:
    status = 202 if isinstance(route.action, Produce | Put) else 200
    done = answer(components.answers[route.answer], _DONE[status])
    if isinstance(route.action, Query) and route.action.headers is not None:
        done["headers"] = waits.CORRELATED
    return {str(status): done}


_DONE = {200: "The answer.", 202: "All of it is on the log."}


def problems(statuses: tuple[int, ...]) -> Json:
    """Responses by status, and one for every other."""
    named = {
        str(status): answer(ref("Problem"), f"{TITLES[status]}.", PROBLEM) for status in statuses
    }
    return {**named, "default": answer(ref("Problem"), "Another problem.", PROBLEM)}


def _faults(route: Route) -> tuple[int, ...]:
    named = (404,) if "{" in route.template else ()
    match route.action:
        case Query():
            names = {parameter.name for parameter in parameters_of(route)}
            states = (409, 410) if names & {"at", AS_OF.name} else ()
            return (*named, *states, 422, 503, 504)
        case Compute():
            return _BODY_FAULTS
        case Order():
            faults = _BODY_FAULTS if route.body is not None else (422,)
            return (*sorted({*named, 409, *faults}), 503, 504)
        case Put():
            return (*(_BODY_FAULTS if route.body is not None else (422,)), 503)
        case Produce():
            return (*_BODY_FAULTS, 503)


def _path(name: str) -> Json:
    declared = _IDS[name]
    schema: Json = {"type": "string", "minLength": 1}
    if declared is _REWIND_ID:
        schema["format"] = "uuid"
    found = {"name": name, "in": "path", "required": True, "schema": schema}
    return found if declared.example is None else {**found, "example": declared.example}


def query_parameter(parameter: Parameter, prefix: str) -> Json:
    """prefix: of topic names."""
    found = {
        "name": parameter.name,
        "in": "query",
        "required": parameter.required,
        "description": parameter.meaning[0].upper() + parameter.meaning[1:] + ".",
        "schema": schema_of(parameter, prefix),
    }
    return found if parameter.example is None else {**found, "example": parameter.example}


def schema_of(parameter: Parameter, prefix: str) -> Json:
    """What a value of a query parameter may be."""
    schema: Json = {}
    match parameter.form:
        case Form.WHOLE | Form.NUMBER:
            kind = "integer" if parameter.form is Form.WHOLE else "number"
            schema = {"type": kind, "minimum": parameter.low, "maximum": parameter.high}
        case Form.FLAG:
            schema = {"type": "boolean"}
        case Form.POSITION:
            names = "|".join(re.escape(prefix + topic.name) for topic in INPUTS)
            schema = {"type": "string", "pattern": f"^({names})/[0-9]{{1,18}}/[0-9]{{1,18}}$"}
        case Form.POINT:
            schema = {"type": "string", "minLength": 1}
        case Form.CURSOR:
            schema = {"type": "string", "pattern": "^[A-Za-z0-9_-]+$"}
        case Form.TEXT:
            least = {"minLength": parameter.low} if parameter.low else {}
            schema = {"type": "string", **least}
    if parameter.choices:
        schema["enum"] = list(parameter.choices)
    if parameter.default is not None:
        schema["default"] = parameter.default
    return schema


def _headers(route: Route) -> list[Json]:
    if not isinstance(route.action, Produce | Order | Put):
        return []
    described = "W3C trace context, which the records carry on."
    more = waits.parameters(route.action) if not isinstance(route.action, Order) else []
    return [waits.header(TRACEPARENT, described), *more]


def _content(route: Route, name: str) -> Json:
    own = name.replace("/", ".")
    if not isinstance(route.action, Produce):
        return {JSON: {"schema": ref(own), "examples": _examples(name)}}
    examples = _examples(name)
    lines = "\n".join(json.dumps(each["value"]) for each in list(examples.values())[:2])
    terms = route.action.terms
    several = one_or_many(own, terms.most, terms.empty is None)
    return {
        JSON: {"schema": several, "examples": examples},
        NDJSON: {"schema": _text("One envelope on each line."), "example": lines},
        **{each: {"schema": _text("One envelope."), "examples": examples} for each in terms.others},
    }


def _text(meaning: str) -> Json:
    return {"type": "string", "description": meaning}


def _examples(name: str) -> Json:
    """By file name, from schemas/examples."""
    if name == "RewindOrder":
        return {"to_a_task": {"value": {"task_id": "paint-7", "reason": "a wrong turn"}}}
    folder, only = {
        "apc/packet": ("apc", None),
        "rtes/event": ("rtes", None),
        "saop/turn": ("saop", None),
        "sap/task": ("sap/tasks", None),
        "sap/result": ("sap/results", None),
        "sap/signal": ("sap/signals", None),
        "asap/envelope": ("asap", None),
        "asap/manifest": ("asap/manifests", None),
        "summit/manifest": ("summit/manifests", None),
        "summit/call": ("summit/calls", None),
        "summit/reply": ("summit/replies", None),
        "metrics": ("apc", "eval.json"),
        "transfers": ("apc", "transfer.json"),
    }[name]
    found: Json = {}
    for path in sorted(
        files("schemas").joinpath("examples", folder).iterdir(), key=lambda path: path.name
    ):
        if path.name.endswith(".json") and only in (None, path.name):
            value: Any = json.loads(path.read_text("utf-8"))
            shown = [value] if name == "transfers" else value
            found[path.name.removesuffix(".json")] = {"value": shown}
    return found
