"""What a command comes to as things stand, by the guide's order of checks.

Source: Summit guide, 3 and 5.1 to 5.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.e2e import summit_schemas, summit_shapes
from tests.e2e.outputs import PARTITIONS, Json
from tests.e2e.summit_history import Entry, call_hash, reply_hash
from tests.e2e.summit_model import Run
from tests.e2e.summit_registry import Generation, Registry
from topology.keys import partition_of

FINAL = ("result", "error")
_ACCEPTED = frozenset(
    {"manifest.accepted", "manifest.withdrawn", "call.accepted", "cancel.accepted"}
)


@dataclass
class Ruling:
    """seen: as what the agent may have been seen.  inputs: effective, of an accepted call."""

    verdict: str
    rule: str
    errors: Sequence[Json] = ()
    seen: Sequence[Generation] = ()
    inputs: Json = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.errors = list(self.errors)


def of(rule: str) -> Ruling:
    """Of anything but a reply that is accepted."""
    if rule.endswith(".duplicate"):
        return Ruling("duplicate", rule)
    return Ruling("accepted" if rule in _ACCEPTED else "rejected", rule)


def _misplaced(command: Entry, key: str) -> str | None:
    if command.key != key.encode():
        return "key.mismatch"
    here = command.partition == partition_of(command.key, PARTITIONS)
    return None if here else "partition_mismatch"


class Judge:
    """runs: as they stand, by id."""

    def __init__(self, registry: Registry, runs: Mapping[str, Run]) -> None:
        self._registry, self._runs = registry, runs

    def manifest(self, command: Entry, _: Json) -> Ruling:
        try:
            key = (command.key or b"").decode()
        except UnicodeDecodeError:
            return of("key.mismatch")
        if command.key is None:
            return of("key.mismatch")
        return of(self._registry.expected(command, key))

    def call(self, command: Entry, fact: Json) -> Ruling:
        call = command.value
        params = call["params"]
        rule = summit_shapes.call_rule(call) or _misplaced(command, params["runId"])
        if rule:
            return of(rule)
        run = self._runs.get(params["runId"])
        if call["method"] == "agent.cancel":
            return self._cancel(call, run, command)
        if run is not None:
            same = run.row["evidence"]["callHash"] == call_hash(call)
            return of("call.duplicate" if same else "run.conflict")
        ruling = self._looked_up(fact, params["agentId"], params.get("context", {}).get("after"))
        return self._new(call, ruling) if ruling.rule == "call.accepted" else ruling

    def _looked_up(self, fact: Json, agent_id: str, after: str | None) -> Ruling:
        seen = self._registry.seen(fact, agent_id)
        if not seen:
            ruling = of("agent.unknown")
        else:
            ruling = of("call.accepted" if seen[-1].usable else "agent.withdrawn")
            ruling.seen = seen
        if ruling.verdict == "rejected" and "agentsSeen" not in fact:
            ruling.faults.append("does not say what it has seen of agents")
        if seen and (fact.get("manifestVersion"), fact.get("manifestHash")) != seen[-1].contract:
            ruling.faults.append(f"names another manifest than {seen[-1].contract}")
        if self._registry.stale(seen, agent_id, after):
            ruling.faults.append(f"has seen {agent_id} as it was before {after}")
        return ruling

    def _new(self, call: Json, ruling: Ruling) -> Ruling:
        params, spec = call["params"], ruling.seen[-1].row["manifest"]["spec"]
        if "toolCall" in params:
            named = {tool["name"]: tool["arguments"] for tool in spec["tools"]}
            schema = named.get(params["toolCall"]["name"])
            values, base = params["toolCall"]["arguments"], "/params/toolCall/arguments"
        else:
            schema, values = spec["interface"]["inputSchema"], params["inputs"]
            base = "/params/inputs"
        if schema is None:
            return Ruling("rejected", "tool.unknown")
        ruling.inputs = summit_schemas.filled(schema, values)
        if summit_shapes.size(ruling.inputs) > summit_shapes.MAX_INPUTS:
            return Ruling("rejected", "inputs.size")
        errors = summit_schemas.errors(schema, ruling.inputs, base)
        return Ruling("rejected", "inputs.schema", errors) if errors else ruling

    def _late(self, run: Run, command: Entry, ruling: Ruling) -> Ruling:
        if run.open and command.at > run.row["dueAt"]:
            ruling.faults.append(f"is decided before {run.id} ends, whose time was over")
        return ruling

    def _cancel(self, call: Json, run: Run | None, command: Entry) -> Ruling:
        if run is None:
            return of("run.unknown")
        if call["params"].get("agentId", run.row["agentId"]) != run.row["agentId"]:
            return of("cancel.agent")
        owner = run.row.get("caller")
        if owner is not None and call.get("caller") not in (owner, "operator"):
            return of("cancel.not_caller")
        if run.open:
            return self._late(run, command, of("cancel.accepted"))
        again = run.row["state"] == "cancelled"
        return of("cancel.duplicate" if again else "run.terminal")

    def reply(self, command: Entry, fact: Json) -> Ruling:
        reply = command.value
        kind, run = reply["kind"], self._runs.get(reply["runId"])
        rule = summit_shapes.reply_rule(reply) or _misplaced(command, reply["runId"])
        if rule or run is None:
            return of(rule or "run.unknown")
        known = run.known.get(reply["replyId"])
        if known is not None:
            same = known == reply_hash(reply)
            return of("reply.duplicate" if same else "reply.conflict")
        if kind != "verification" and reply["agentId"] != run.row["agentId"]:
            return of("reply.agent")
        return self._late(run, command, self._told(run, reply, fact))

    def _told(self, run: Run, reply: Json, fact: Json) -> Ruling:
        if reply["kind"] == "verification":
            return self._verified(run, reply, fact)
        if not run.open:
            return self._too_late(reply, fact)
        if reply["kind"] == "progress":
            violation = next(summit_shapes.content_rules(reply), None)
            if violation:
                return of(violation)
            spent = run.overspent(run.effective(reply))
            return Ruling("accepted", spent or "reply.progress")
        return Ruling("accepted", *run.final_rule(reply))

    def _too_late(self, reply: Json, fact: Json) -> Ruling:
        """What it cost stays on record."""
        ruling, metrics = of("run.terminal"), summit_shapes.metrics_of(reply)
        if metrics is not None:
            expected = {name: metrics[name] for name in ("cost_usd", "tokens")}
            if any(fact["figures"].get(name) != number for name, number in expected.items()):
                ruling.faults.append(f"has the figures {fact['figures']}, not {expected}")
        return ruling

    def _verified(self, run: Run, reply: Json, fact: Json) -> Ruling:
        if run.row["state"] != "completed":
            return of("judge.not_completed")
        after = reply.get("provenance", {}).get("after")
        looked = self._looked_up(fact, reply["agentId"], after)
        role = looked.seen[-1].row["manifest"]["spec"]["role"] if looked.seen else None
        content = next(summit_shapes.content_rules(reply), None)
        if looked.rule != "call.accepted" or role != "critic":
            rule = "judge.not_critic"
        elif reply["agentId"] == run.row["agentId"]:
            rule = "judge.self"
        elif "judge" in run.row:
            rule = "judge.already"
        elif content is not None:
            rule = content
        else:
            sound = summit_shapes.verification_of(reply) is not None
            rule = "reply.verification" if sound else "verification.value"
        verdict = "accepted" if rule == "reply.verification" else "rejected"
        return Ruling(verdict, rule, faults=looked.faults)
