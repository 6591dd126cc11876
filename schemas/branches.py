"""Which branch of a union of records a word of the JSON form stands for."""

from __future__ import annotations

PAYLOADS = {
    packet_type: f"headrace.apc.{record}Payload"
    for packet_type, record in {
        "TASK_IR": "TaskIr",
        "IDEA": "Idea",
        "CLAIM": "Claim",
        "ARTIFACT": "Artifact",
        "SIGNAL": "Signal",
        "HEARTBEAT": "Signal",
        "EVAL": "Eval",
        "TRANSFER": "Transfer",
        "ARBITRATION": "Arbitration",
        "DECISION": "Decision",
        "RETRACTION": "Retraction",
        "ACK": "Ack",
        "NACK": "Ack",
        "ERROR": "Error",
    }.items()
}
"""packet_type → the record of ApcPacket.payload."""

TYPES = {
    "headrace.apc.IrClaim": "Claim",
    "headrace.apc.IrFalsifier": "Falsifier",
    "headrace.apc.IrDecision": "Decision",
    "headrace.apc.IrConstraint": "Constraint",
    "headrace.apc.IrEvidence": "Evidence",
    "headrace.rtes.ThoughtStream": "THOUGHT_STREAM",
    "headrace.rtes.ToolInvoked": "TOOL_LIFECYCLE_INVOKED",
    "headrace.rtes.ToolCompleted": "TOOL_LIFECYCLE_COMPLETED",
    "headrace.rtes.TaskTransition": "TASK_TRANSITION",
    "headrace.rtes.SandboxPulse": "SANDBOX_PULSE",
}
"""Record → the word its JSON form has as member `type`."""

ASAP = "dev.headrace.asap.Asap"
"""What the names of ASAP's records begin with; a payload's goes on with its payload_type."""

ASAP_ENVELOPE = f"{ASAP}Envelope"
ASAP_PAYLOADS = {
    payload_type: ASAP + payload_type
    for payload_type in (
        "TaskRequest",
        "TaskResponse",
        "TaskUpdate",
        "TaskCancel",
        "MessageSend",
        "StateQuery",
        "StateRestore",
        "ArtifactNotify",
        "McpToolCall",
        "McpToolResult",
        "McpResourceFetch",
        "McpResourceData",
    )
}
"""payload_type → the record of AsapEnvelope.payload, in the order of the union."""

PARTS = {
    f"{ASAP}{word.capitalize()}Part": word
    for word in ("text", "data", "file", "resource", "template")
}
"""Record of a part → the word its JSON form has as member `type`."""

TAGS = TYPES | PARTS
"""Every record whose JSON form has a member `type`, with its word."""

SAP = frozenset(
    f"headrace.sap.Sap{name}"
    for name in (
        "Task",
        "Result",
        "Signal",
        "Party",
        "Target",
        "Context",
        "CachePolicy",
        "Contract",
        "Telemetry",
        "Budget",
        "ReplyTo",
        "Attachment",
        "Producer",
        "Evidence",
        "Check",
        "Violation",
        "CacheUse",
        "Error",
    )
)
"""The objects of SAP, whose unknown members are kept in EXTRA."""

SUMMIT = "headrace.summit."
"""What the names of Summit's records begin with."""

SUMMIT_PARAMS = {
    "agent.invoke": f"{SUMMIT}InvokeParams",
    "tool.call": f"{SUMMIT}ToolCallParams",
    "agent.cancel": f"{SUMMIT}CancelParams",
}
"""method → the record of SummitCall.params."""

SUMMIT_OBJECTS = frozenset(
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
"""The objects of Summit, whose absent members are left out in rows too."""

EXTRA = "extra_json"
"""The field that holds, as canonical JSON, the members that have no field of their own."""

KEPT_NAMES = frozenset({"ast_json"})
"""Members that are called `…_json` in the JSON form too."""


def json_name(field: str) -> str | None:
    """The JSON member of an Avro field that holds JSON as text, None for any other field."""
    if not field.endswith("_json"):
        return None
    return field if field in KEPT_NAMES else field.removesuffix("_json")
