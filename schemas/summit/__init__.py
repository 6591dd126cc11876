"""Summit v1: models, manifests, schemas and defaults, rules, hashes, results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemas.json_mapping.json_form import UnparsableJson
from schemas.json_schema.errors import DefaultsTooLarge
from schemas.objects import ABSENT
from schemas.summit import rules, words
from schemas.summit.calls import check_call, check_request, request_id
from schemas.summit.ijson import read_json
from schemas.summit.judge import (
    Judged,
    JudgedCall,
    JudgedManifest,
    JudgedReply,
    judge_call,
    judge_manifest,
    judge_reply,
)
from schemas.summit.load import load_manifest, read_manifest
from schemas.summit.manifests import check_manifest, manifest_form, mcp_tool, names_critic
from schemas.summit.models import (
    Budget,
    CancelParams,
    Check,
    Context,
    Delivery,
    Interface,
    InvokeParams,
    Metadata,
    Metrics,
    Provenance,
    RunError,
    Spec,
    SummitCall,
    SummitManifest,
    SummitObject,
    SummitReply,
    ToolCall,
    ToolCallParams,
    ToolDefinition,
    Verification,
)
from schemas.summit.replies import Content, check_reply, reply_content
from schemas.summit.results import (
    JsonObject,
    broken_budget,
    call_hash,
    call_result,
    effective_metrics,
    effective_status,
    has_budget,
    json_hash,
    manifest_hash,
    reply_hash,
    row_verification,
    rule_message,
    run_error,
    run_result,
    schema_message,
    strictest,
    timeout_ms,
    tool_result,
)
from schemas.summit.rows import (
    Evidence,
    RunCancel,
    RunJudge,
    RunResult,
    RunVerification,
    SchemaError,
    SummitAgent,
    SummitEvent,
    SummitRun,
    SummitTree,
    SummitTreeOrigin,
    SummitTreeTotals,
    ToolResult,
)
from schemas.summit.rpc_replies import address_reply, as_reply, is_rpc_reply, rpc_problems

if TYPE_CHECKING:
    from schemas.summit.manifest_schema import Schema


def schema_of(text: str) -> Schema:
    """Return the compiled schema, cached, for the JSON text of a schema in an accepted manifest."""
    from schemas.summit import manifest_schema  # its libraries load slowly

    return manifest_schema.schema_of(text)


__all__ = [
    "ABSENT",
    "Budget",
    "CancelParams",
    "Check",
    "Content",
    "Context",
    "DefaultsTooLarge",
    "Delivery",
    "Evidence",
    "Interface",
    "InvokeParams",
    "JsonObject",
    "Judged",
    "JudgedCall",
    "JudgedManifest",
    "JudgedReply",
    "Metadata",
    "Metrics",
    "Provenance",
    "RunCancel",
    "RunError",
    "RunJudge",
    "RunResult",
    "RunVerification",
    "SchemaError",
    "Spec",
    "SummitAgent",
    "SummitCall",
    "SummitEvent",
    "SummitManifest",
    "SummitObject",
    "SummitReply",
    "SummitRun",
    "SummitTree",
    "SummitTreeOrigin",
    "SummitTreeTotals",
    "ToolCall",
    "ToolCallParams",
    "ToolDefinition",
    "ToolResult",
    "UnparsableJson",
    "Verification",
    "address_reply",
    "as_reply",
    "broken_budget",
    "call_hash",
    "call_result",
    "check_call",
    "check_manifest",
    "check_reply",
    "check_request",
    "effective_metrics",
    "effective_status",
    "has_budget",
    "is_rpc_reply",
    "json_hash",
    "judge_call",
    "judge_manifest",
    "judge_reply",
    "load_manifest",
    "manifest_form",
    "manifest_hash",
    "mcp_tool",
    "names_critic",
    "read_json",
    "read_manifest",
    "reply_content",
    "reply_hash",
    "request_id",
    "row_verification",
    "rpc_problems",
    "rule_message",
    "rules",
    "run_error",
    "run_result",
    "schema_message",
    "schema_of",
    "strictest",
    "timeout_ms",
    "tool_result",
    "words",
]
