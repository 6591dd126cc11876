"""The objects of Summit that are sent, for programs (Summit guide, 2, 6.5).

Attributes are the members as on the wire; None means an absent member, or ABSENT where null is a
value.  They accept any value; `check()` returns the problems.  The Avro sources of the records are
made from the models (`export`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self

from schemas.json_mapping.avro_form import from_json
from schemas.json_mapping.json_form import to_json
from schemas.objects import ABSENT, JsonObject, Member, WireObject
from schemas.problems import Problem
from schemas.summit import calls, manifests, replies, rules
from schemas.summit.avro_types import (
    AvroType,
    DeliveryKind,
    Doc,
    Int,
    ReplyKind,
    Time,
    VerificationStatus,
)
from schemas.summit.calls import check_call
from schemas.summit.checker import ANY_ORDER, Checker, JsonPath
from schemas.summit.manifests import check_manifest, manifest_form, mcp_tool, tool_form
from schemas.summit.mapping import PARAMS, SUMMIT
from schemas.summit.replies import check_reply
from schemas.summit.words import API_VERSION, JSONRPC, MANIFEST_KIND


@dataclass(kw_only=True)
class SummitObject(WireObject):
    """The base class of the objects of Summit.

    IS_OPEN: it may have members that Summit does not define.
    """

    IS_OPEN: ClassVar[bool] = False
    BAD_JSON = rules.JSON_INVALID.code
    BAD_TYPE = rules.PARAMS_SHAPE.code

    def check(self) -> list[Problem]:
        """Return the problems by the rules of the edges, the deciding one first.

        Paths begin at this object.
        """
        return _check_part(type(self).__name__, self.to_json())

    def to_avro(self) -> JsonObject:
        """Return the Avro value.  Raises ShapeError for values that Avro cannot represent."""
        return from_json(f"{SUMMIT}{type(self).__name__}", self.to_json())

    @classmethod
    def from_avro(cls, value: JsonObject) -> Self:
        """Create the object from its Avro value; unreadable open JSON becomes `UnparsableJson`."""
        return cls.from_json(to_json(f"{SUMMIT}{cls.__name__}", value))


@dataclass(kw_only=True)
class Metadata(SummitObject):
    """The metadata of a manifest.

    extra: members that Summit does not define.
    """

    IS_OPEN = True

    name: str
    version: str
    description: str | None = None


@dataclass(kw_only=True)
class Interface(SummitObject):
    inputSchema: JsonObject
    outputSchema: JsonObject


@dataclass(kw_only=True)
class ToolDefinition(SummitObject):
    """A tool that an agent offers.

    arguments: a JSON Schema.  In JSON it may be called `inputSchema`.
    """

    name: str
    description: str
    arguments: Annotated[JsonObject, Doc("JSON Schema")]

    @classmethod
    def from_json(cls, value: Any) -> Self:
        tool = cls._parsed(value) if isinstance(value, (str, bytes)) else value
        return super().from_json(tool_form(tool))

    def to_mcp(self) -> JsonObject:
        """Return the tool in the form of the Model Context Protocol."""
        return mcp_tool(self.to_json())


@dataclass(kw_only=True)
class Spec(SummitObject):
    role: str
    capabilities: list[str]
    resources: dict[str, str] = field(default_factory=dict)
    interface: Interface
    tools: list[ToolDefinition] = field(default_factory=list)


@dataclass(kw_only=True)
class SummitManifest(SummitObject):
    """The declaration that an agent makes of itself."""

    apiVersion: str = API_VERSION
    kind: str = MANIFEST_KIND
    metadata: Metadata
    spec: Spec

    BAD_TYPE = rules.MANIFEST_SHAPE.code

    def check(self) -> list[Problem]:
        return check_manifest(self.to_json())

    def to_json(self) -> JsonObject:
        return manifest_form(super().to_json())


@dataclass(kw_only=True)
class Budget(SummitObject):
    usd: float | None = None
    tokens: int | None = None
    seconds: float | None = None


@dataclass(kw_only=True)
class Context(SummitObject):
    """The context of a call.

    extra: members that Summit does not define.
    """

    IS_OPEN = True

    traceId: str | None = None
    parentRunId: str | None = None
    budget: Budget | None = None


@dataclass(kw_only=True)
class ToolCall(SummitObject):
    id: Annotated[str, Doc("the caller's own, echoed")]
    name: str
    arguments: JsonObject


@dataclass(kw_only=True)
class InvokeParams(SummitObject):
    agentId: str
    inputs: JsonObject
    runId: str
    context: Context | None = None


@dataclass(kw_only=True)
class ToolCallParams(SummitObject):
    """The params of `tool.call`."""

    agentId: Annotated[str, Doc("the agent that offers the tool")]
    runId: str
    context: Context | None = None
    toolCall: ToolCall


@dataclass(kw_only=True)
class CancelParams(SummitObject):
    runId: str
    agentId: str | None = None
    reason: str | None = None


Params = InvokeParams | ToolCallParams | CancelParams
_PARAMS: dict[str, type[Params]] = {
    f"{SUMMIT}{model.__name__}": model for model in (InvokeParams, ToolCallParams, CancelParams)
}


@dataclass(kw_only=True)
class Delivery(SummitObject):
    """The data that the service adds to a call for the agent.

    dueAt: as text, in UTC.
    """

    kind: DeliveryKind
    agentVersion: str
    manifestHash: str
    callPosition: str
    dueAt: Time
    reason: Annotated[str | None, Doc("of a stop: the rule that ended the run")] = None


@dataclass(kw_only=True)
class SummitCall(SummitObject):
    """A JSON-RPC request on the log.

    id: ABSENT for a notification.
    """

    jsonrpc: str = JSONRPC
    id: Annotated[str | int | Any, AvroType(("long", "string"))] = ABSENT
    method: str
    params: Params
    caller: str | None = None
    delivery: Annotated[Delivery | None, Doc("set by the service, on the inbox only")] = None

    BAD_TYPE = rules.RPC_SHAPE.code

    def check(self) -> list[Problem]:
        return check_call(self.to_json())

    @classmethod
    def from_json(cls, value: Any) -> Self:
        call = super().from_json(value)
        model = _PARAMS.get(PARAMS.get(str(call.method), ""))
        params: Any = call.params
        if model is not None and isinstance(params, WireObject):
            call.params = model.from_json(params.to_json())
        return call

    @classmethod
    def _read(cls, member: Member, value: Any) -> Any:
        if member.name == "params" and isinstance(value, dict):
            return SummitObject.from_json(value)
        return super()._read(member, value)


@dataclass(kw_only=True)
class Metrics(SummitObject):
    tokens: int
    cost_usd: float
    latency_ms: float | None = None


@dataclass(kw_only=True)
class Provenance(SummitObject):
    """The model that produced an output, and when.

    extra: members that Summit does not define.
    """

    IS_OPEN = True

    model: str
    timestamp: str


@dataclass(kw_only=True)
class Check(SummitObject):
    name: str
    passed: bool


@dataclass(kw_only=True)
class Verification(SummitObject):
    status: VerificationStatus
    score: float | None = None
    checks: list[Check] = field(default_factory=list)


@dataclass(kw_only=True)
class RunError(SummitObject):
    code: Int
    message: str
    data: Any = ABSENT


@dataclass(kw_only=True)
class SummitReply(SummitObject):
    replyId: str
    runId: str
    agentId: str
    kind: ReplyKind
    status: str | None = None
    output: Any = ABSENT
    error: RunError | None = None
    metrics: Metrics | None = None
    provenance: Provenance | None = None
    verification: Verification | None = None
    message: str | None = None

    BAD_TYPE = rules.REPLY_SHAPE.code

    def check(self) -> list[Problem]:
        return check_reply(self.to_json())


_PART_CHECKS: dict[str, Callable[[Checker, Any, JsonPath], None]] = {
    "Context": calls.check_context,
    "Budget": calls.check_budget,
    "ToolCall": calls.check_tool_call,
    "InvokeParams": calls.check_invoke,
    "ToolCallParams": calls.check_tool_params,
    "CancelParams": calls.check_cancel,
    "ToolDefinition": manifests.check_tool,
    "Metadata": manifests.check_metadata,
    "Spec": manifests.check_spec,
    "Interface": manifests.check_interface,
    "Metrics": replies.check_metrics,
    "Provenance": replies.check_provenance,
    "Verification": replies.check_verification,
    "Check": replies.check_check,
    "RunError": replies.check_error,
}
_CLOSED = {
    "Metrics": replies.CLOSED["metrics"],
    "Verification": replies.CLOSED["verification"],
    "Check": ("name", "passed"),
    "RunError": replies.CLOSED["error"],
}


def _check_part(name: str, value: dict[str, Any]) -> list[Problem]:
    """Check a part by itself; return the problems, the deciding one first.

    Paths begin at the part.  Parts that the service makes have no rules at the edges.
    """
    check = Checker(name, ANY_ORDER)
    if name in _CLOSED:
        check.members(value, (), _CLOSED[name], (), rules.REPLY_SHAPE)
    if name in _PART_CHECKS:
        _PART_CHECKS[name](check, value, ())
    return check.problems()
