"""One operation of the document."""

from __future__ import annotations

import json
import re

from streams.api.media import JSON_TYPE
from streams.api.openapi import Json, answer, problems, ref, trace_header
from streams.api.route import Compute, Produce, Query, ReplaceCommand, Route, SyncCommand
from streams.gateway.descriptions import BODIES, PATH_IDS
from streams.gateway.openapi import waits
from streams.gateway.openapi.schemas import Components, one_or_many
from streams.routes.table import INPUTS, parameters_of
from streams.views.query_params import AS_OF, Parameter, ValueForm

NDJSON = "application/x-ndjson"
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
    found["responses"] = {**_done(route, components), **problems(*_faults(route))}
    if isinstance(route.action, Produce | ReplaceCommand) and route.action.wait is not None:
        found["responses"] |= waits.responses(route.action.wait, components)
    return found


def _done(route: Route, components: Components) -> Json:
    status = 202 if isinstance(route.action, Produce | ReplaceCommand) else 200
    done = answer(components.answers[route.answer], _DONE[status])
    if isinstance(route.action, Query) and route.action.headers is not None:
        done["headers"] = waits.CORRELATED
    return {str(status): done}


_DONE = {200: "The answer.", 202: "All of it is on the log."}


def _faults(route: Route) -> tuple[int, ...]:
    named = (404,) if "{" in route.template else ()
    match route.action:
        case Query():
            names = {parameter.name for parameter in parameters_of(route)}
            states = (409, 410) if names & {"at", AS_OF.name} else ()
            return (*named, *states, 422, 503, 504)
        case Compute():
            return _BODY_FAULTS
        case SyncCommand():
            faults = _BODY_FAULTS if route.body is not None else (422,)
            return (*sorted({*named, 409, *faults}), 503, 504)
        case ReplaceCommand():
            return (*(_BODY_FAULTS if route.body is not None else (422,)), 503)
        case Produce():
            return (*_BODY_FAULTS, 503)


def _path(name: str) -> Json:
    example, form = PATH_IDS[name]
    schema: Json = {"type": "string", "minLength": 1}
    if form is not None:
        schema["format"] = form
    found = {"name": name, "in": "path", "required": True, "schema": schema}
    return found if example is None else {**found, "example": example}


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
        case ValueForm.WHOLE | ValueForm.NUMBER:
            kind = "integer" if parameter.form is ValueForm.WHOLE else "number"
            schema = {"type": kind, "minimum": parameter.low, "maximum": parameter.high}
        case ValueForm.FLAG:
            schema = {"type": "boolean"}
        case ValueForm.POSITION:
            names = "|".join(re.escape(prefix + topic.name) for topic in INPUTS)
            schema = {"type": "string", "pattern": f"^({names})/[0-9]{{1,18}}/[0-9]{{1,18}}$"}
        case ValueForm.POINT:
            schema = {"type": "string", "minLength": 1}
        case ValueForm.CURSOR:
            schema = {"type": "string", "pattern": "^[A-Za-z0-9_-]+$"}
        case ValueForm.TEXT:
            least = {"minLength": parameter.low} if parameter.low else {}
            schema = {"type": "string", **least}
    if parameter.choices:
        schema["enum"] = list(parameter.choices)
    if parameter.default is not None:
        schema["default"] = parameter.default
    return schema


def _headers(route: Route) -> list[Json]:
    if not isinstance(route.action, Produce | SyncCommand | ReplaceCommand):
        return []
    more = waits.parameters(route.action) if not isinstance(route.action, SyncCommand) else []
    return [trace_header(), *more]


def _content(route: Route, name: str) -> Json:
    own, examples = name.replace("/", "."), BODIES[name].examples()
    if not isinstance(route.action, Produce):
        return {JSON_TYPE: {"schema": ref(own), "examples": examples}}
    lines = "\n".join(json.dumps(each["value"]) for each in list(examples.values())[:2])
    terms = route.action.terms
    several = one_or_many(own, terms.most, terms.empty is None)
    return {
        JSON_TYPE: {"schema": several, "examples": examples},
        NDJSON: {"schema": _text("One envelope on each line."), "example": lines},
        **{each: {"schema": _text("One envelope."), "examples": examples} for each in terms.others},
    }


def _text(meaning: str) -> Json:
    return {"type": "string", "description": meaning}
