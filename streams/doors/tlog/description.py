"""The part of the OpenAPI document for `/tlog/`, its access rules and its codes."""

from __future__ import annotations

from streams.access.callers import AccessRule, Role
from streams.api.description import DescribeParameter, Description
from streams.api.openapi import TEXT, Json, json_response, problem_responses
from streams.api.problems import Code
from streams.views.query_params import Parameter, ValueForm

CHECKPOINT = "/tlog/checkpoint"
TILES = "/tlog/tile/{path}"
PATHS = (CHECKPOINT, TILES)
"""The paths of the log itself, which anybody may read where it is open."""
RECEIPTS = "/v1/audit/receipts/{topic}/{partition}/{offset}"
MAX_WAIT_S = 60
WAIT = Parameter(
    "wait",
    "seconds to wait until the record's entry is published",
    ValueForm.WHOLE,
    high=MAX_WAIT_S,
    default=0,
)
TEXT_TYPE = "text/plain; charset=utf-8"
TILE_TYPE = "application/octet-stream"
_TAG = "tlog"
_BYTES: Json = {"type": "string", "format": "binary"}


def _paths(describe: DescribeParameter) -> Json:
    return {
        CHECKPOINT: {"get": _get_checkpoint()},
        TILES: {"get": _get_tile()},
        RECEIPTS: {"get": _get_receipt(describe)},
    }


def _get_checkpoint() -> Json:
    current = {"description": "The checkpoint that the client has, by `If-None-Match`."}
    return {
        "operationId": "get_checkpoint",
        "summary": "The newest checkpoint of the transparency log that the policy accepts",
        "tags": [_TAG],
        "responses": {
            "200": json_response(TEXT, "A signed note.", TEXT_TYPE),
            "304": current,
            **problem_responses(404, 503),
        },
    }


def _get_tile() -> Json:
    path = {
        "name": "path",
        "in": "path",
        "required": True,
        "schema": {"type": "string", "maxLength": 64},
        "example": "0/000.p/3",
    }
    return {
        "operationId": "get_tile",
        "summary": "A tile of hashes, or a bundle of entries (`entries/…`), of the published tree",
        "tags": [_TAG],
        "parameters": [path],
        "responses": {
            "200": json_response(_BYTES, "The tile as tlog-tiles has it.", TILE_TYPE),
            **problem_responses(404, 503),
        },
    }


def _get_receipt(describe: DescribeParameter) -> Json:
    ids = [
        {"name": name, "in": "path", "required": True, "schema": TEXT, "example": example}
        for name, example in (("topic", "apc.events"), ("partition", "0"), ("offset", "17"))
    ]
    return {
        "operationId": "get_receipt",
        "summary": "The receipt of a record: that it is in the transparency log",
        "tags": [_TAG],
        "parameters": [*ids, describe(WAIT)],
        "responses": {
            "200": json_response(TEXT, "A file of tlog-proof.", TEXT_TYPE),
            **problem_responses(404, 409, 422, 503),
        },
    }


DESCRIPTION = Description(
    tags={_TAG: "The transparency log in the form of tlog-tiles, for programs that check it."},
    paths=_paths,
    needs={("GET", path): AccessRule((Role.READER,)) for path in (*PATHS, RECEIPTS)},
    http_rules=(
        Code("tlog_off", 404, "The gateway has no policy, and so serves no transparency log."),
        Code("not_published", 404, "No published checkpoint is one that the policy accepts."),
        Code("topic_not_covered", 422, "Records of that topic have no entries in the log."),
        Code("not_logged", 409, "The record has no published entry yet; ask again."),
        Code("tile_unknown", 404, "The published tree has no tile of that name and width."),
    ),
)
