"""The differences between the JSON of manifests, calls and replies and their Avro records."""

from __future__ import annotations

from schemas.json_mapping.mapping import Codes, Discriminator, JsonMapping, OpenJson, ShapeViolation

NAMESPACE = "headrace.summit"
SUMMIT = f"{NAMESPACE}."
"""The prefix of the names of Summit's records."""

PARAMS = {
    "agent.invoke": f"{SUMMIT}InvokeParams",
    "tool.call": f"{SUMMIT}ToolCallParams",
    "agent.cancel": f"{SUMMIT}CancelParams",
}
"""method → the record of SummitCall.params."""

OBJECTS = frozenset(
    f"{SUMMIT}{name}"
    for name in (
        "SummitManifest",
        "Metadata",
        "Spec",
        "Interface",
        "ToolDefinition",
        "SummitCall",
        "InvokeParams",
        "ToolCallParams",
        "CancelParams",
        "ToolCall",
        "Context",
        "Budget",
        "Delivery",
        "SummitReply",
        "Metrics",
        "Provenance",
        "Verification",
        "RunVerification",
        "RunError",
    )
)
"""The objects of Summit, whose absent members are also omitted in rows."""

_NAMED: dict[ShapeViolation, str] = {"json_invalid": "json.invalid", "branch_unknown": "rpc.method"}

MAPPING = JsonMapping(
    namespaces=(NAMESPACE,),
    discriminators={
        f"{SUMMIT}SummitCall": Discriminator(
            "method", "params", PARAMS, unknown="is none of those logged"
        )
    },
    sparse=OBJECTS,
    open=OpenJson(quoted=True, strict=True),
    codes_of={
        f"{SUMMIT}SummitManifest": Codes(_NAMED, otherwise="manifest.shape"),
        f"{SUMMIT}SummitCall": Codes(_NAMED, otherwise="params.shape"),
        f"{SUMMIT}SummitReply": Codes(_NAMED, otherwise="reply.shape"),
    },
)
