"""The tables of the ASAP guide, 2.2, 2.3 and 2.5, as data; values that fit their types or do not.

`name type` is required, `=x` gives a default, `?` means "or null, default null", `+` at least one.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

from schemas import asap

TABLES = {
    "Agent": "id urn, manifest_uri str, capabilities list[str]+",
    "Manifest": "id urn, name str, version version, description str, capabilities Capability, "
    "endpoints Endpoint, auth AuthScheme?, signature str?",
    "Capability": "asap_version str =0.1, skills list[Skill] =[], state_persistence bool =false, "
    "streaming bool =false, mcp_tools list[str] =[]",
    "Skill": "id str, description str, input_schema obj?, output_schema obj?",
    "Endpoint": "asap str, events str?",
    "AuthScheme": "schemes list[str], oauth2 obj?",
    "Conversation": "id str, participants list[str]+, created_at dt, metadata obj?",
    "Task": "id str, conversation_id str, parent_task_id str?, status TaskStatus, progress obj?, "
    "created_at dt, updated_at dt",
    "Message": "id str, task_id str, sender str, role MessageRole, parts list[item], timestamp dt",
    "Artifact": "id str, task_id str, name str, parts list[item], created_at dt",
    "StateSnapshot": "id str, task_id str, version positive, data obj, checkpoint bool =false, "
    "created_at dt",
    "TextPart": "type =text!, content str",
    "DataPart": "type =data!, data obj, schema_uri str?",
    "FilePart": "type =file!, uri str, mime_type mime, inline_data base64?",
    "ResourcePart": "type =resource!, resource_uri str",
    "TemplatePart": "type =template!, template str, variables obj",
    "TaskRequest": "conversation_id str, parent_task_id str?, skill_id str, input obj, config obj?",
    "TaskResponse": "task_id str, status TaskStatus, result obj?, final_state obj?, metrics obj?",
    "TaskUpdate": "task_id str, update_type UpdateType, status TaskStatus, progress progress?, "
    "input_request obj?",
    "TaskCancel": "task_id str, reason str?",
    "MessageSend": "task_id str, message_id str, sender str, role MessageRole, parts list[item]",
    "StateQuery": "task_id str, version int?",
    "StateRestore": "task_id str, snapshot_id str",
    "ArtifactNotify": "artifact_id str, task_id str, name str?",
    "McpToolCall": "request_id str, tool_name str, arguments obj, mcp_context obj?",
    "McpToolResult": "request_id str, success bool, result obj?, error str?",
    "McpResourceFetch": "resource_uri str",
    "McpResourceData": "resource_uri str, content obj",
}
PAYLOADS = tuple(TABLES)[-12:]

_URN = "urn:asap:agent:"
_NO_TEXT: tuple[Any, ...] = (None, 1, 1.5, True, [], {})
_NO_OBJECT: tuple[Any, ...] = (None, 1, True, "{}", [], [["a", 1]])
_NO_LIST: tuple[Any, ...] = (None, 1, "ab", {})

GOOD: dict[str, tuple[Any, ...]] = {
    "str": ("", "a", "é\n", "x" * 10_000),
    "int": (1, 0, -3, 10**12, "3", 1.0, True),
    "bool": (True, False, "true", 0),
    "obj": ({}, {"a": {"b": [None, 1.5, "x"]}}),
    "dt": (
        "2026-11-21T10:00:00Z",
        "2026-11-21T12:00:00.25+02:00",
        "2026-11-21T10:00:00",
        1_790_000_000,
        datetime(2026, 11, 21, tzinfo=UTC),
    ),
    "urn": (
        *(_URN + name for name in ("a", "a-1", "-", "a:b", "0:0-", "x" * 241)),
        _URN + "x" * 120 + ":" + "y" * 120,
    ),
    "version": ("2.3.0", "v2.1", "3.0.0-rc.2", "1!2.0.post1"),
    "positive": (1, 2**40, "3"),
    "mime": ("text/csv", "Image/PNG", "application/vnd.api+json", "x-a/1.0-b"),
    "base64": ("", "aWQ=", "aWQsdXJs", "+/+/"),
    "progress": ({}, *({"percent": p} for p in (0, 100, 0.5, True)), {"step": "x"}),
    "item": (
        "",
        "part-1",
        {"type": "text", "content": ""},
        {"type": "template", "template": "{{a}}", "variables": {}},
    ),
    "TaskStatus": tuple(asap.TaskStatus),
    "MessageRole": ("user", "assistant", "system"),
    "UpdateType": ("progress", "input_required", "status_change"),
    "Capability": ({}, {"skills": [{"id": "", "description": ""}], "mcp_tools": ["t"]}),
    "Endpoint": ({"asap": "no URL"}, {"asap": "", "events": ""}),
    "AuthScheme": ({"schemes": []}, {"schemes": ["Bearer", "odd"], "oauth2": {"a": 1}}),
    "Skill": ({"id": "s", "description": "", "input_schema": {"type": 7}},),
}
BAD: dict[str, tuple[Any, ...]] = {
    "str": _NO_TEXT,
    "int": (None, "x", 1.5, [], {}),
    "bool": (None, "maybe", 2, [], {}),
    "obj": _NO_OBJECT,
    "dt": (None, "soon", [], {}, "2026-13-01T00:00:00Z"),
    "urn": (
        *_NO_TEXT,
        "",
        "a",
        _URN,
        *(_URN + name for name in ("A", "a_b", "a:b:c", "a:", "a\n", "é", " a", "x" * 242)),
        f" {_URN}a",
        "URN:asap:agent:a",
    ),
    "version": (*_NO_TEXT, "", "two", "1.x", "1 2"),
    "positive": (None, 0, -1, "0", 1.5),
    "mime": (*_NO_TEXT, "", "text", "text/", "/csv", "text/csv; a=b", "a/b\n", "a b/c", "ü/x"),
    "base64": (
        1,
        True,
        [],
        {},
        "aWQ",
        "a",
        "aW Q=",
        "aWQ=\n",
        "aWQ==",
        "aWQs=",
        "aWQs====",
        "====",
        "aW-_",
        "é",
    ),
    "progress": (
        *(item for item in _NO_OBJECT if item is not None),
        *(
            {"percent": p}
            for p in (-1, 100.01, float("nan"), float("inf"), 10**400, "40", None, [1])
        ),
    ),
    "item": (
        None,
        1,
        [],
        {},
        {"content": ""},
        {"type": "sound"},
        {"type": "text"},
        {"type": "text", "content": 1},
        {"type": "text", "content": "", "more": 1},
        {"type": "data", "data": []},
        {"type": None},
        {"type": []},
    ),
    "TaskStatus": (None, "", "done", "COMPLETED", 1),
    "MessageRole": (None, "User", "operator", 1),
    "UpdateType": (None, "status", "STATUS_CHANGE", 1),
    "Capability": (None, [], {"skills": {}}, {"more": 1}, {"asap_version": 1}),
    "Endpoint": (None, {}, {"asap": None}, {"asap": "", "more": 1}),
    "AuthScheme": (1, {}, {"schemes": None}, {"schemes": [1]}, {"schemes": [], "more": 1}),
    "Skill": (None, {}, {"id": "s"}, {"id": "s", "description": "", "more": 1}),
}


class Field(NamedTuple):
    """default: `...` for none.  tag: the only value that a discriminator may have."""

    name: str
    type: str
    default: Any = ...
    nullable: bool = False
    items: bool = False
    min_items: int = 0
    tag: str | None = None

    def good(self) -> tuple[Any, ...]:
        if self.tag is not None:
            return (self.tag,)
        values = GOOD[self.type]
        if self.items:
            return (*([] if self.min_items else [[]]), *([value] for value in values), list(values))
        return (*values, None) if self.nullable else values

    def bad(self) -> tuple[Any, ...]:
        if self.tag is not None:
            return ("other", None, 1, self.tag.upper())
        values = BAD[self.type]
        if self.items:
            return (*_NO_LIST, *([[]] if self.min_items else []), *([value] for value in values))
        return tuple(value for value in values if value is not None or not self.nullable)


_DEFAULTS = {"0.1": "0.1", "[]": [], "false": False}


def _field(text: str) -> Field:
    name, kind, *defaults = text.split()
    if kind.endswith("!"):
        return Field(name, "tag", tag=kind[1:-1])
    default = _DEFAULTS[defaults[0][1:]] if defaults else ...
    min_items, kind = int(kind.endswith("+")), kind.removesuffix("+")
    nullable, kind = kind.endswith("?"), kind.removesuffix("?")
    items = kind.startswith("list[")
    kind = kind[5:-1] if items else kind
    return Field(name, kind, None if nullable else default, nullable, items, min_items)


FIELDS = {name: [_field(text) for text in row.split(", ")] for name, row in TABLES.items()}


def example(name: str) -> dict[str, Any]:
    """A valid object of the class named, with all its members."""
    made = {field.name: field.good()[0] for field in FIELDS[name]}
    if name == "McpToolResult":
        made["error"] = None
    return made
