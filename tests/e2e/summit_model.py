"""A run as the guide tells it, written anew: its row, and what each decision does to it.

Source: Summit guide, 2.5, 4.1, 5.2 to 5.7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal

from tests.e2e import summit_schemas, summit_shapes
from tests.e2e.outputs import Json
from tests.e2e.summit_history import Unread, hash_of

TERMINAL = frozenset({"completed", "failed", "cancelled", "budget_exceeded"})
OVERSPENT = frozenset({"budget.usd", "budget.tokens", "budget.agent_stop", "budget.seconds"})
CODES = {
    **dict.fromkeys(OVERSPENT, -32013),
    **dict.fromkeys(("output.value", "output.schema"), -32010),
    "run.timeout": -32012,
    "cancel.accepted": -32014,
}
BAD_REPLY = -32011
STRICT = ("passed", "flagged", "failed")
_NINE = Decimal("1e-9")


def stamp(ms: int) -> str:
    at = datetime.fromtimestamp(ms // 1000, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"


def money(usd: float) -> Decimal:
    return Decimal(repr(usd)).quantize(_NINE, ROUND_HALF_EVEN)


def effective(verification: Json) -> str:
    """The status that stands."""
    passed = all(check["passed"] for check in verification["checks"])
    return str(verification["status"]) if passed else "failed"


def _on_row(verification: Json) -> Json:
    claimed = verification["status"]
    return {**verification, "status": effective(verification), "claimedStatus": claimed}


@dataclass
class Run:
    """row: SummitRun.  known: hash by replyId, of those accepted."""

    row: Json
    manifest: Json
    inputs: Json
    tool: Json | None
    known: dict[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return str(self.row["runId"])

    @property
    def open(self) -> bool:
        return self.row["state"] not in TERMINAL

    @property
    def budget(self) -> Json:
        budget: Json = self.row.get("budget", {})
        return budget

    @property
    def session(self) -> str:
        return str(self.row.get("traceId", self.id))

    def delivery(self, kind: str) -> Json:
        evidence = self.row["evidence"]
        return {
            "kind": kind,
            "agentVersion": evidence["manifestVersion"],
            "manifestHash": evidence["manifestHash"],
            "callPosition": evidence["callPosition"],
            "dueAt": self.row["dueAt"],
        }

    def stop_record(self) -> Json:
        params = {"runId": self.id, "agentId": self.row["agentId"]}
        if "reason" in self.row.get("cancel", {}):
            params["reason"] = self.row["cancel"]["reason"]
        delivery = {**self.delivery("stop"), "reason": self.row["reason"]}
        head = {"jsonrpc": "2.0", "method": "agent.cancel"}
        return {**head, "params": params, "delivery": delivery}

    def _changed(self, at: int, state: str, rule: str) -> None:
        row = self.row
        row["version"] += 1
        row["updatedAt"] = at
        if row["state"] != state:
            row |= {"state": state, "reason": rule}

    def _told(self, reply: Json, at: int) -> None:
        """What any accepted progress or final reply leaves."""
        row = self.row
        row.setdefault("startedAt", at)
        row["metrics"] = self.effective(reply)
        provenance = summit_shapes.provenance_of(reply)
        if provenance is not None:
            row["provenance"] = provenance

    def effective(self, reply: Json) -> Json:
        """The latency is what was said last."""
        reply_metrics, had = summit_shapes.metrics_of(reply), self.row["metrics"]
        if reply_metrics is None:
            return dict(had)
        larger = {name: max(reply_metrics[name], had[name]) for name in ("tokens", "cost_usd")}
        return {**had, **reply_metrics, **larger}

    def overspent(self, metrics: Json) -> str | None:
        usd, tokens = self.budget.get("usd"), self.budget.get("tokens")
        if usd is not None and money(metrics["cost_usd"]) > money(usd):
            return "budget.usd"
        return "budget.tokens" if tokens is not None and metrics["tokens"] > tokens else None

    def final_rule(self, reply: Json) -> tuple[str, list[Json]]:
        """What a final reply comes to: the rule, and what breaks the schema."""
        sure = next(summit_shapes.content_rules(reply), None)
        if sure is not None:
            return sure, []
        spent = self.overspent(self.effective(reply))
        if reply["kind"] == "error":
            return self._error_rule(reply, spent), []
        if "verification" in reply and summit_shapes.verification_of(reply) is None:
            return "verification.value", []
        return (spent, []) if spent else self._output_rule(reply)

    def _error_rule(self, reply: Json, spent: str | None) -> str:
        if summit_shapes.error_of(reply) is None:
            return "error.value"
        stopped = reply.get("status") == "budget_exceeded"
        limited = "usd" in self.budget or "tokens" in self.budget
        if stopped and not limited:
            return "budget.none"
        return spent or ("budget.agent_stop" if stopped else "reply.error")

    def _output_rule(self, reply: Json) -> tuple[str, list[Json]]:
        output = reply.get("output", Unread())
        if isinstance(output, Unread) or summit_shapes.size(output) > summit_shapes.MAX_OUTPUT:
            return "output.value", []
        if self.row["kind"] == "tool":
            return "reply.result", []
        if not isinstance(output, dict):
            return "output.value", []
        schema = self.manifest["spec"]["interface"]["outputSchema"]
        errors = summit_schemas.errors(schema, output, "/output")
        return ("output.schema", errors) if errors else ("reply.result", [])

    def progress(self, reply: Json, hash: str, at: int) -> None:
        self.known[reply["replyId"]] = hash
        self._told(reply, at)
        if "message" in reply:
            self.row["message"] = reply["message"]
        spent = self.overspent(self.row["metrics"])
        if spent:
            self.end("budget_exceeded", spent, at)
        else:
            self._changed(at, "running", "reply.progress")

    def final(self, reply: Json, hash: str, position: str, at: int) -> None:
        rule, errors = self.final_rule(reply)
        self.known[reply["replyId"]] = hash
        self._told(reply, at)
        evidence = {"replyPosition": position, "replyHash": hash}
        output = reply.get("output", Unread())
        if not isinstance(output, Unread):
            evidence["outputHash"] = hash_of(output)
        self.row["evidence"] |= evidence
        verification = summit_shapes.verification_of(reply)
        if verification is not None:
            self.row["verification"] = _on_row(verification)
            self.row["verificationStatus"] = self.row["verification"]["status"]
        agent_error = summit_shapes.error_of(reply)
        if rule == "reply.result":
            self.end("completed", rule, at)
        elif rule in OVERSPENT:
            self.end("budget_exceeded", rule, at, errors, agent_error)
        else:
            self.end("failed", rule, at, errors, agent_error)

    def cancel(self, call: Json, position: str, at: int) -> None:
        members = {"caller": call.get("caller"), "reason": call["params"].get("reason")}
        named = {name: value for name, value in members.items() if value is not None}
        self.row["cancel"] = {**named, "position": position, "at": at}
        self.end("cancelled", "cancel.accepted", at)

    def time_out(self, at: int) -> str:
        is_budgeted = "seconds" in self.budget
        rule = "budget.seconds" if is_budgeted else "run.timeout"
        self.end("budget_exceeded" if is_budgeted else "failed", rule, at)
        return rule

    def end(
        self,
        state: str,
        rule: str,
        at: int,
        errors: Sequence[Json] = (),
        agent_error: Json | None = None,
    ) -> None:
        self._changed(at, state, rule)
        self.row["finishedAt"] = at
        self.row.setdefault("provenance", {"model": "unknown", "timestamp": stamp(at)})
        if rule == "reply.error":
            self.row["error"] = agent_error
        elif state != "completed":
            data: Json = {"rule": rule}
            data |= {"errors": list(errors)} if errors else {}
            data |= {} if agent_error is None else {"agentError": agent_error}
            self.row["error"] = {"code": CODES.get(rule, BAD_REPLY), "data": data}

    def apply_verification(self, reply: Json, hash: str, position: str, at: int) -> None:
        self.known[reply["replyId"]] = hash
        judge = {"agentId": reply["agentId"], "replyId": reply["replyId"], "position": position}
        judge |= {"at": at, "verification": _on_row(reply["verification"])}
        judge |= {name: reply[name] for name in ("provenance", "metrics") if name in reply}
        self.row["judge"] = judge
        statuses = [self.row.get("verificationStatus", "passed"), effective(reply["verification"])]
        self.row["verificationStatus"] = max(statuses, key=STRICT.index)
        self._changed(at, self.row["state"], "")
