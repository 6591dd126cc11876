"""Calls of a real MCP server's tools and resources, and the ways in which they fail."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NoReturn

from mcp_types import CallToolResult, ReadResourceResult

from schemas.canonical import canonical_json

MAX_RESULT_BYTES = 393_216
MAX_ERROR_CHARS = 4000
MAX_ERROR_BYTES = 16_384 - 64
"""The most of a tool's own error result that is passed on, since an error's data is bounded."""
Json = dict[str, Any]


class Failure(IntEnum):
    """The reasons why a call has no result; each number is the error code of a Summit run."""

    MCP_TOOL_ERROR = 1
    MCP_ERROR = 2
    MCP_UNREACHABLE = 3
    MCP_TIMEOUT = 4
    MCP_TOO_LARGE = 5
    MCP_NOT_IJSON = 6
    MCP_INPUT_REQUIRED = 7
    MCP_CHANGED = 8
    MCP_IN_DOUBT = 9

    @property
    def reason(self) -> str:
        """Return the name as runs and envelopes spell it."""
        return self.name.lower()


class CallFailed(Exception):
    """A call without a result.  data: more of what the server has said."""

    def __init__(
        self, failure: Failure, message: str, data: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.failure = failure
        self.data = dict(data or {})


def tool_output(result: CallToolResult) -> Json:
    """Return a result as JSON: content, structuredContent if there is one, isError.

    Raises CallFailed for one that says that the tool has failed, is too large, or is no I-JSON.
    """
    output: Json = {"content": _dump_all(result.content)}
    if "structured_content" in result.model_fields_set:
        output["structuredContent"] = result.structured_content
    output["isError"] = result.is_error
    size = _check_size(output)
    if result.is_error:
        mcp = output if size <= MAX_ERROR_BYTES else {"isError": True, "truncated": True}
        raise CallFailed(Failure.MCP_TOOL_ERROR, _text(result), {"mcp": mcp})
    return output


def resource_content(result: ReadResourceResult) -> Json:
    """Return the contents of a resource as JSON.  Raises CallFailed as `tool_output`."""
    content: Json = {"contents": _dump_all(result.contents)}
    _check_size(content)
    return content


def _dump_all(models: list[Any]) -> list[Json]:
    return [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in models]


def _check_size(value: Json) -> int:
    """Return the bytes of a value as canonical JSON.  Raises CallFailed."""
    try:
        size = len(canonical_json(value))
    except (ValueError, RecursionError) as exc:
        raise CallFailed(Failure.MCP_NOT_IJSON, f"The result is not I-JSON: {exc}.") from exc
    if size > MAX_RESULT_BYTES:
        message = f"The result has {size} bytes; {MAX_RESULT_BYTES} are taken."
        raise CallFailed(Failure.MCP_TOO_LARGE, message)
    return size


def _text(result: CallToolResult) -> str:
    texts = [each.text for each in result.content if each.type == "text"]
    return "\n".join(texts)[:MAX_ERROR_CHARS] or "The tool has failed."


def raise_input_required() -> NoReturn:
    message = "The server asks for elicitation, sampling or roots, which a bridge does not have."
    raise CallFailed(Failure.MCP_INPUT_REQUIRED, message)
