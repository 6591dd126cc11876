"""The tools of headrace, in the order in which `tools/list` shows them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from jsonschema_rs import Draft202012Validator

from schemas.problems import pointer
from streams.access.callers import Caller, Role
from streams.doors.mcp import events, explaining, reading, sending, simulating
from streams.doors.mcp import schemas as s
from streams.doors.mcp.door import ToolCall
from streams.doors.mcp.event_types import TYPES
from streams.doors.mcp.results import Json, refused
from streams.ingress.kinds import KINDS

Run = Callable[[ToolCall], Awaitable[Json]]
READ_ONLY: Json = {"readOnlyHint": True, "openWorldHint": False}
_SENDS: Json = {
    "readOnlyHint": False,
    "destructiveHint": False,
    "idempotentHint": True,
    "openWorldHint": False,
}


@dataclass(frozen=True)
class Tool:
    """A tool.  role: what the caller's token needs.  run: raises ToolRefused.

    takes, returns: the JSON Schemas of the arguments and of `structuredContent`.
    reads_view: the answer is from what the view has applied.
    """

    name: str
    title: str
    description: str
    role: Role
    takes: Json
    returns: Json
    run: Run
    annotations: Mapping[str, Any] = field(default_factory=lambda: READ_ONLY)
    reads_view: bool = False

    def is_for(self, caller: Caller | None) -> bool:
        return caller is None or caller.has((self.role,))

    def fill(self, arguments: Mapping[str, Any]) -> Json:
        """Return valid arguments with their defaults.  Raises ToolRefused."""
        errors = list(_problems(self.takes, arguments))
        if errors:
            first = errors[0]
            detail = f"{first['path'] or 'the arguments'}: {first['message']}"
            raise refused(422, detail, "arguments_invalid", first["path"], errors)
        members = self.takes["properties"]
        defaults = {name: each["default"] for name, each in members.items() if "default" in each}
        return {**defaults, **arguments}


def _problems(schema: Json, value: Mapping[str, Any]) -> Iterator[Json]:
    for error in Draft202012Validator(schema).iter_errors(value):
        path = pointer(*error.instance_path)
        yield {"rule": "arguments_invalid", "path": path, "message": error.message}


_WAIT_S: Json = {"type": "number", "minimum": 0, "default": 10}
TOOLS: tuple[Tool, ...] = (
    Tool(
        "send",
        "Send an envelope",
        "Sends one envelope of a protocol as a governed command, waits for its verdict, and"
        " returns that with the violated rule, whose fault it is, and the fact on the log."
        " Repeat it with the same ids when the outcome is unknown: nothing happens twice."
        " `simulate` tries it without effect, `validate` checks its form.",
        Role.PRODUCER,
        s.closed(
            {
                "topic": s.described(s.TEXT, "The command topic.", enum=list(sending.TOPICS)),
                "envelope": s.described(s.OBJECT, "The envelope in the protocol's JSON."),
                "wait": s.described(
                    s.TEXT,
                    "What to wait for: the verdict, the outcome of a task or run, or nothing.",
                    enum=["verdict", "outcome", "none"],
                    default="verdict",
                ),
                "wait_s": s.described(_WAIT_S, "How many seconds to wait, at most 60."),
            }
        ),
        s.SENT,
        sending.send,
        _SENDS,
    ),
    Tool(
        "explain",
        "Explain a verdict",
        "Says why a record was accepted or refused: the rule and its meaning, whose fault it was,"
        " the figures and checks behind the verdict, the facts that came of it, and whether the"
        " verdict follows again from the log. Takes the position of a command or of a fact, or a"
        " node, whose latest verdict it explains.",
        Role.READER,
        s.closed({"position": s.POSITION, "node": s.NODE}, optional=("position", "node")),
        s.EXPLAINED,
        explaining.explain,
        reads_view=True,
    ),
    Tool(
        "state",
        "Show where a thing stands",
        "Shows a packet, task, run, session, agent's manifest, cached answer or trace by its node:"
        " its state, the steps that led there with their causes, its verdicts, and what it is"
        " linked to; now, or at a past moment of the log.",
        Role.READER,
        s.closed({"node": s.NODE, "as_of": s.AS_OF, "after": s.AFTER}, optional=("as_of", "after")),
        s.STATE,
        reading.read_state,
        reads_view=True,
    ),
    Tool(
        "lineage",
        "Show what came of what",
        "Follows the lineage graph from a node over all protocols: what it came of, what came of"
        " it, or both.",
        Role.READER,
        s.closed(
            {
                "node": s.NODE,
                "direction": {
                    "type": "string",
                    "enum": ["ancestors", "descendants", "both"],
                    "default": "both",
                },
                "depth": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10},
                "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "default": 200},
                "cursor": s.described(s.TEXT, "`next` of the page before.", maxLength=16_384),
            },
            optional=("cursor",),
        ),
        s.OBJECT,
        reading.read_lineage,
        reads_view=True,
    ),
    Tool(
        "query",
        "Ask any route of the API",
        "Answers a GET route of the HTTP API under /v1, such as /v1/verdicts?rule=phase_type or"
        " /v1/search?q=7f0c2f5d. The resource headrace://openapi describes them all.",
        Role.READER,
        s.closed(
            {
                "path": s.described(
                    s.TEXT, "The path with its query, percent-encoded.", maxLength=4096
                ),
                "after": s.AFTER,
                "as_of": s.AS_OF,
            },
            optional=("after", "as_of"),
        ),
        s.closed({"status": {"type": "integer"}, "body": s.ANY}),
        reading.run_query,
        reads_view=True,
    ),
    Tool(
        "events",
        "Poll for events",
        "Returns what happened on the log since a cursor: rtes.event, fact, verdict, inbox"
        " (messages to an agent) and dead_letter. Without a cursor it returns that of now; keep the"
        " cursor of each answer, and a later poll goes on at exactly the next event.",
        Role.READER,
        s.closed(
            {
                "name": s.described(s.TEXT, "The type.", enum=[each.name for each in TYPES]),
                "arguments": s.described(s.OBJECT, "Filters of the type.", default={}),
                "cursor": s.described(s.TEXT, "Of the last answer.", maxLength=16_384),
                "maxEvents": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 20},
                "wait_s": s.described({**_WAIT_S, "default": 0}, "Seconds to wait for an event."),
            },
            optional=("cursor",),
        ),
        s.closed(
            {
                "events": s.OBJECTS,
                "cursor": s.TEXT,
                "truncated": {"type": "boolean"},
                "hasMore": {"type": "boolean"},
                "nextPollMs": {"type": "integer"},
            }
        ),
        events.run_tool,
    ),
    Tool(
        "receipt",
        "Prove a record",
        "Returns the hashes of a record and of the verdict on it, whether that verdict follows"
        " again from the log, which signed checkpoint covers it, and in `proof` the receipt that it"
        " is in the transparency log, if the gateway has one.",
        Role.READER,
        s.closed({"position": s.POSITION}),
        s.RECEIPT,
        explaining.make_receipt,
    ),
    Tool(
        "validate",
        "Check an envelope",
        "Checks the form of an envelope by the rules that the edges apply. Sends nothing.",
        Role.READER,
        s.closed(
            {
                "kind": s.described(s.TEXT, "The kind of envelope.", enum=list(KINDS)),
                "envelope": s.described(s.OBJECT, "The envelope in the protocol's JSON."),
            }
        ),
        s.closed({"valid": {"type": "boolean"}, "errors": s.OBJECTS}),
        reading.validate,
    ),
    Tool(
        "simulate",
        "Try a scenario",
        "Runs lines of `headrace play` through the real processors on a log in memory, with a"
        ' simulated clock: {"topic", "value"} sends, {"advance_ms"} lets time pass, {"query"} asks.'
        " Returns what the service would write and answer. Nothing reaches the real log.",
        Role.READER,
        s.closed(
            {
                "lines": {
                    "type": "array",
                    "items": {"type": ["object", "string"]},
                    "minItems": 1,
                    "maxItems": 200,
                },
                "settings": s.described(
                    s.OBJECT, "Settings of the run, by name without HEADRACE_.", default={}
                ),
            }
        ),
        s.closed({"lines": s.OBJECTS}),
        simulating.simulate,
    ),
)
BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}
