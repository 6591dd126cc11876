"""The console's part of the OpenAPI document, its access rules and its codes."""

from __future__ import annotations

from streams.access.callers import OPEN, AccessRule, Role
from streams.api.description import DescribeParameter, Description
from streams.api.media import JSON_TYPE
from streams.api.openapi import TEXT, Json, closed_object, json_response, problem_responses, ref
from streams.api.problems import Code
from streams.doors.console.views import MAX_NAME, PARAMETERS, PATH

SESSION = "/v1/session"
ALL_BELOW = "/console/{path}"
REDIRECTS = ("/", "/console")
_TAG = "console"
_NOT_MODIFIED: Json = {
    "304": {
        "description": "The answer that the client has, by `If-None-Match`, is the current one."
    }
}


def _paths(describe: DescribeParameter) -> Json:
    return {
        **{path: {"get": _redirect(path)} for path in REDIRECTS},
        ALL_BELOW: {"get": _page()},
        SESSION: {"post": _sign_in(), "delete": _sign_out()},
        PATH: {"get": _list_views(describe)},
    }


def _redirect(path: str) -> Json:
    name = "get_root" if path == "/" else "get_console"
    location = {"Location": {"description": "The address of the console.", "schema": TEXT}}
    return {
        "operationId": name,
        "summary": "Go to the console",
        "tags": [_TAG],
        "responses": {"302": {"description": "The console is there.", "headers": location}},
    }


def _page() -> Json:
    path = {"name": "path", "in": "path", "required": True, "schema": TEXT, "example": "verdicts"}
    return {
        "operationId": "get_page",
        "summary": "A file of the console; for any path that is no file, the page",
        "tags": [_TAG],
        "parameters": [path],
        "responses": {
            "200": json_response(TEXT, "The page, or a file of it.", "text/html"),
            **_NOT_MODIFIED,
            **problem_responses(404, 503),
        },
    }


def _sign_in() -> Json:
    body = {"schema": ref("console.sign-in"), "example": {"token": "hr_x2k9qd07_8Qn3"}}
    cookie = {"Set-Cookie": {"description": "The cookie of the session.", "schema": TEXT}}
    return {
        "operationId": "sign_in",
        "summary": "Exchange a token for a cookie that scripts of a page cannot read",
        "tags": [_TAG],
        "requestBody": {"required": True, "content": {JSON_TYPE: body}},
        "responses": {
            "204": {"description": "Signed in.", "headers": cookie},
            **problem_responses(400, 401, 403, 408, 409, 413, 415, 422),
        },
    }


def _sign_out() -> Json:
    return {
        "operationId": "sign_out",
        "summary": "Clear the cookie",
        "tags": [_TAG],
        "responses": {"204": {"description": "Signed out."}, **problem_responses(403)},
    }


def _list_views(describe: DescribeParameter) -> Json:
    return {
        "operationId": "list_saved_views",
        "summary": "The views that the team has saved, of HEADRACE_CONSOLE_VIEWS",
        "tags": [_TAG],
        "parameters": [describe(parameter) for parameter in PARAMETERS],
        "responses": {
            "200": json_response(ref("SavedViewPage"), "The answer."),
            **_NOT_MODIFIED,
            **problem_responses(422),
        },
    }


def _components() -> Json:
    token = {"type": "string", "minLength": 1, "maxLength": 1024}
    view = {
        "name": {"type": "string", "minLength": 1, "maxLength": MAX_NAME},
        "path": {"type": "string", "pattern": "^/console/"},
    }
    following = {"type": ["string", "null"], "description": "The cursor of the next page."}
    items = {"type": "array", "items": ref("SavedView")}
    return {
        "console.sign-in": closed_object({"token": token}),
        "SavedView": closed_object(view),
        "SavedViewPage": closed_object({"items": items, "next": following}),
    }


DESCRIPTION = Description(
    tags={_TAG: "Signing in and out in a browser, and saved views."},
    paths=_paths,
    components=_components,
    needs={
        **{("GET", path): OPEN for path in (*REDIRECTS, ALL_BELOW)},
        ("POST", SESSION): OPEN,
        ("DELETE", SESSION): OPEN,
        ("GET", PATH): AccessRule((Role.READER,)),
    },
    http_rules=(
        Code("session_origin", 403, "Browsers may not sign in at this address, or from there."),
        Code("csrf", 403, "A page from elsewhere sends a request with a session's cookie."),
        Code("session_not_needed", 409, "The gateway takes no tokens, so nobody signs in."),
        Code("console_missing", 503, "The files of the console are missing, or are other ones."),
    ),
)
