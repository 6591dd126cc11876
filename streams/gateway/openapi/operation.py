"""OpenAPI operations, one for each route."""

from __future__ import annotations

import json
import re

from streams.api.media import JSON_TYPE
from streams.api.openapi import Json, json_response, problem_responses, ref, trace_header
from streams.api.route import Compute, Produce, Query, ReplaceCommand, Route, SyncCommand
from streams.gateway.descriptions import BODIES, PATH_IDS
from streams.gateway.openapi import prefer_wait
from streams.gateway.openapi.schemas import Components, one_or_many
from streams.routes.table import INPUTS, parameters_of
from streams.views.query_params import AS_OF, MAX_NUMBER, Parameter, ValueForm

ENTITY_TAG: Json = {
    "ETag": {
        "description": "A weak tag of the answer, for `If-None-Match`.",
        "schema": {"type": "string"},
    }
}
NOT_MODIFIED: Json = {
    "304": {
        "description": "The answer that the client has, by `If-None-Match`, is the current one.",
        "headers": ENTITY_TAG,
    }
}
NDJSON = "application/x-ndjson"
_BODY_ERRORS = (400, 408, 413, 415, 422)


def operation(route: Route, components: Components, prefix: str) -> Json:
    """Return the operation of a route.  prefix: the prefix of topic names."""
    result: Json = {
        "operationId": route.name,
        "summary": route.meaning[0].upper() + route.meaning[1:],
        "tags": [route.tag],
        "parameters": [
            *(_path_parameter(name) for name in re.findall(r"{(\w+)}", route.template)),
            *(query_parameter(parameter, prefix) for parameter in parameters_of(route)),
            *_list_header_parameters(route),
        ],
    }
    if route.body is not None:
        result["requestBody"] = {
            "required": True,
            "content": _make_request_content(route, route.body),
        }
    result["responses"] = {
        **_make_success_response(route, components),
        **problem_responses(*_list_error_statuses(route)),
    }
    if isinstance(route.action, Produce | ReplaceCommand) and route.action.wait is not None:
        result["responses"] |= prefer_wait.responses(route.action.wait, components)
    return result


def _make_success_response(route: Route, components: Components) -> Json:
    status = 202 if isinstance(route.action, Produce | ReplaceCommand) else 200
    response = json_response(components.answers[route.answer], _SUCCESS[status])
    if not isinstance(route.action, Query):
        return {str(status): response}
    more = {} if route.action.headers is None else prefer_wait.CORRELATED
    response["headers"] = {**more, **ENTITY_TAG}
    return {str(status): response, **NOT_MODIFIED}


_SUCCESS = {200: "The answer.", 202: "All of it is on the log."}


def _list_error_statuses(route: Route) -> tuple[int, ...]:
    named = (404,) if "{" in route.template else ()
    match route.action:
        case Query():
            names = {parameter.name for parameter in parameters_of(route)}
            states = (409, 410) if names & {"at", AS_OF.name} else ()
            waits = (504,) if route.reads else ()
            from_kafka = route.reads or route.action.asks_kafka
            unavailable = (503,) if from_kafka else ()
            return tuple(sorted({*named, *states, *route.errors, 422, *unavailable, *waits}))
        case Compute(asks_kafka=asks_kafka):
            unavailable = (503,) if asks_kafka else ()
            return (*sorted({*route.errors, *_BODY_ERRORS}), *unavailable)
        case SyncCommand():
            faults = _BODY_ERRORS if route.body is not None else (422,)
            return (*sorted({*named, 409, *faults}), 503, 504)
        case ReplaceCommand():
            return (*(_BODY_ERRORS if route.body is not None else (422,)), 503)
        case Produce():
            return (*_BODY_ERRORS, 503)


def _path_parameter(name: str) -> Json:
    example, form, pattern = PATH_IDS[name]
    schema: Json = {"type": "string", "minLength": 1}
    keywords = {"format": form, "pattern": pattern}
    schema |= {keyword: text for keyword, text in keywords.items() if text is not None}
    parameter = {"name": name, "in": "path", "required": True, "schema": schema}
    return parameter if example is None else {**parameter, "example": example}


def query_parameter(parameter: Parameter, prefix: str) -> Json:
    """Return the OpenAPI form of a query parameter.  prefix: the prefix of topic names."""
    result = {
        "name": parameter.name,
        "in": "query",
        "required": parameter.required,
        "description": parameter.meaning[0].upper() + parameter.meaning[1:] + ".",
        "schema": schema_of(parameter, prefix),
    }
    return result if parameter.example is None else {**result, "example": parameter.example}


def schema_of(parameter: Parameter, prefix: str) -> Json:
    """Return the JSON Schema of a query parameter's values."""
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
            length = {"minLength": parameter.low} if parameter.low else {}
            if parameter.high != MAX_NUMBER:
                length["maxLength"] = parameter.high
            schema = {"type": "string", **length}
        case ValueForm.TIME:
            schema = {"type": "string", "format": "date-time"}
    if parameter.choices:
        schema["enum"] = list(parameter.choices)
    if parameter.default is not None:
        schema["default"] = parameter.default
    return schema


def _list_header_parameters(route: Route) -> list[Json]:
    if not isinstance(route.action, Produce | SyncCommand | ReplaceCommand):
        return []
    more = prefer_wait.parameters(route.action) if not isinstance(route.action, SyncCommand) else []
    return [trace_header(), *more]


def _make_request_content(route: Route, name: str) -> Json:
    component, examples = name.replace("/", "."), BODIES[name].examples()
    if not isinstance(route.action, Produce):
        return {JSON_TYPE: {"schema": ref(component), "examples": examples}}
    lines = "\n".join(json.dumps(each["value"]) for each in list(examples.values())[:2])
    terms = route.action.terms
    batch = one_or_many(component, terms.max_values, terms.empty is None)
    return {
        JSON_TYPE: {"schema": batch, "examples": examples},
        NDJSON: {"schema": _text_schema("One envelope on each line."), "example": lines},
        **{
            each: {"schema": _text_schema("One envelope."), "examples": examples}
            for each in terms.others
        },
    }


def _text_schema(meaning: str) -> Json:
    return {"type": "string", "description": meaning}
