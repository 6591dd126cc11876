"""The results of tools in the form of MCP, and refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams.api.problems import Response, problem
from streams.gateway.http_response import dump_json

Json = dict[str, Any]
RESULT_TOO_LARGE = "result_too_large"
FORBIDDEN = -32012
"""The code of JSON-RPC for events that are not the caller's, or not any more."""
META = "dev.headrace/"
"""The beginning of headrace's own names in `_meta`."""
_OF_PROBLEM = ("type", "title")


class ToolRefused(Exception):
    """A tool was refused.  body: as problem details have it."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        super().__init__(body.get("detail"))
        self.body = body


def refused(
    status: int, detail: str, rule: str, path: str | None = None, errors: Sequence[Json] = ()
) -> ToolRefused:
    response = problem(status, detail, rule, path)
    return ToolRefused({**response.body, "errors": list(errors)} if errors else response.body)


def refused_by(response: Response) -> ToolRefused:
    """Return the refusal for a response of the gateway."""
    return ToolRefused(response.body)


def refusal_json(body: Mapping[str, Any]) -> Json:
    """Return what a refused call answers: rule, detail, path and errors, and what else is there."""
    more = {name: value for name, value in body.items() if name not in _OF_PROBLEM}
    return {"rule": None, "detail": None, "path": None, "errors": [], **more}


def tool_result(
    structured: Mapping[str, Any],
    *,
    is_error: bool = False,
    links: Sequence[Json] = (),
    meta: Mapping[str, Any] | None = None,
) -> Json:
    """Return the result of a call; `content` repeats it as text for older clients."""
    text = dump_json(structured).decode()
    return {
        "resultType": "complete",
        "content": [{"type": "text", "text": text}, *links],
        "structuredContent": dict(structured),
        "isError": is_error,
        **({"_meta": dict(meta)} if meta else {}),
    }


def refusal_result(body: Mapping[str, Any]) -> Json:
    return tool_result(refusal_json(body), is_error=True)


def bounded(result: Json, most_bytes: int) -> Json:
    """Return the result, or a refusal if its content is above the limit."""
    if "content" not in result:  # a task, whose result comes later
        return result
    size = sum(map(_size, result["content"]))
    if size <= most_bytes:
        return result
    detail = f"the answer has {size} bytes, and {most_bytes} are allowed; ask for less by `limit`"
    return refusal_result(refused(413, detail, RESULT_TOO_LARGE).body)


def _size(block: Json) -> int:
    """Return the bytes of a part of the content: of a text without the signs that JSON adds."""
    text = block.get("text")
    return len(text.encode()) if isinstance(text, str) else len(dump_json(block))


def resource_link(uri: str, name: str) -> Json:
    return {"type": "resource_link", "uri": uri, "name": name, "mimeType": "application/json"}
