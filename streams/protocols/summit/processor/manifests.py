"""The decisions on manifests: the verdict on each, and the row of its agent.

For every record of `summit.manifests`, in this order, the first that applies decides:

1. its key is not the agent's name, or it is on another partition than its key's;
2. its content violates a rule;
3. it is the current one: `manifest.duplicate`;
4. its version was accepted with other content: `manifest.version_conflict`.

Else it becomes the current one, whichever version it is.  A refused manifest changes nothing, and
no manifest changes a run that has begun.  A null value withdraws the agent.

A call is partitioned by run, its agent's manifests by agent.  So calls and replies look agents up
only in the global table of `summit.agents` that the worker keeps of all partitions, even if both
share a task.  The table is read to the topic's current end before each batch, and the offsets that
a verdict saw are recorded in the fact.

Source: Summit guide, 4.2, 5, 5.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from schemas import from_json, summit
from schemas.summit import Judged, rule_message, rules
from schemas.summit.words import CRITIC
from streams.engine.processor import AvroValue, GlobalTable, Message, ProcessorContext
from streams.processing.graph import LineageEdge
from streams.protocols.summit.processor import verdicts
from streams.protocols.summit.processor.decision import (
    DecisionContext,
    manifest_node,
    record_context,
)
from streams.protocols.summit.processor.inbound import cut_name, text_of
from streams.protocols.summit.processor.verdicts import (
    Verdict,
    malformed,
    partition_mismatch,
    refuse,
)
from topology.keys import composite, split
from topology.machine import step
from topology.machines.summit_agent import MACHINE, REFUSED, REPEATED, AgentEvent, AgentState
from topology.summit import SUMMIT_AGENTS_TABLE

_RECORD = "headrace.summit.SummitManifest"
_AGENT_PATH = "/params/agentId"


class Registration:
    """A record that registers a manifest of an agent, or withdraws the agent.

    key_text: the record's key as text.  name: the agent's name in the manifest; for a withdrawal,
    the key.  validated: None withdraws.
    """

    def __init__(self, message: Message) -> None:
        self.key_text = text_of(message.record.key)
        self.validated: Judged | None = None
        self.name = self.key_text or ""
        if message.record.value is not None:
            self.validated = summit.judge_manifest(message.value)
            self.name = message.value["metadata"]["name"]

    @property
    def key(self) -> str:
        """Return the key of the record's fact."""
        return self.name if self.key_text is None else self.key_text


def load_rows(messages: Sequence[Message], ctx: ProcessorContext) -> None:
    """Fetch the rows that the decisions on these manifests read."""
    keys = []
    for message in messages:
        key = text_of(message.record.key)
        if key is not None:
            metadata = message.value.get("metadata", {})
            keys += [key, composite(key, metadata.get("version", ""))]
    ctx.rows(SUMMIT_AGENTS_TABLE).load(keys)


def judge(message: Message, context: ProcessorContext) -> None:
    """Decide on a record of `summit.manifests`."""
    record, ctx = Registration(message), record_context(message, context)
    verdict = _refusal(record, context) or _decide(record, ctx)
    sent = None if record.validated is None else record.validated.hash
    members = {"agentId": cut_name(record.name), "contentHash": sent}
    verdicts.write_fact(record.key, "manifest", verdict, ctx, **members)


def _refusal(record: Registration, ctx: ProcessorContext) -> Verdict | None:
    """Return the refusal of a record that is invalid by itself."""
    if record.key_text is None or record.key_text != record.name:
        return refuse(rules.KEY_MISMATCH.code)
    if (refused := partition_mismatch(record.key, ctx)) is not None:
        return refused
    if record.validated is not None and record.validated.problem is not None:
        return malformed(record.validated.problem)
    return None


def _decide(record: Registration, ctx: DecisionContext) -> Verdict:
    rows, name = ctx.work.rows(SUMMIT_AGENTS_TABLE), record.name
    row = None if "/" in name else rows.get(name)  # a key with "/" is that of a version
    state = AgentState.NONE if row is None else AgentState(row["state"])
    event = _event_of(record.validated, row)
    if (rule := REPEATED.get((state, event))) is not None:
        assert row is not None
        return _verdict("duplicate", rule.code, row)
    if (rule := REFUSED.get((state, event))) is not None:
        return refuse(rule.code)
    if (
        record.validated is not None
        and (refused := _version_conflict(record.validated, ctx)) is not None
    ):
        return refused
    target = step(MACHINE, state, event)
    assert target is not None
    transitions = {"fromState": state.value, "toState": target.value} if target is not state else {}
    if record.validated is None:
        assert row is not None
        rows.put(name, {**row, "state": target.value})
        return _verdict("accepted", rules.MANIFEST_WITHDRAWN.code, row, **transitions)
    new = _register(record.validated, row, ctx)
    return _verdict("accepted", rules.MANIFEST_ACCEPTED.code, new, **transitions)


def _event_of(validated: Judged | None, row: AvroValue | None) -> AgentEvent:
    if validated is None:
        return AgentEvent.WITHDRAW
    again = row is not None and row["manifestHash"] == validated.hash
    return AgentEvent.REGISTER_AGAIN if again else AgentEvent.REGISTER


def _version_conflict(validated: Judged, ctx: DecisionContext) -> Verdict | None:
    """Return the refusal of a version that was accepted with another manifest."""
    known = ctx.work.rows(SUMMIT_AGENTS_TABLE).get(_version_key(validated))
    if known is None or known["manifestHash"] == validated.hash:
        return None
    rule = rules.MANIFEST_VERSION_CONFLICT.code
    return refuse(rule, "/metadata/version", **agent_members(known))


def _register(validated: Judged, before: AvroValue | None, ctx: DecisionContext) -> AvroValue:
    """Make a manifest the current one, and return its row.

    before: the row of the one before it.
    """
    rows, metadata = ctx.work.rows(SUMMIT_AGENTS_TABLE), validated.json["metadata"]
    name, version = metadata["name"], metadata["version"]
    row = {
        "agentId": name,
        "version": version,
        "state": AgentState.REGISTERED.value,
        "manifest": from_json(_RECORD, validated.json),
        "manifestHash": validated.hash,
        "position": ctx.cause,
        "at": ctx.at,
    }
    if rows.get(_version_key(validated)) is None:
        rows.put(_version_key(validated), row)
    rows.put(name, row)
    if before is not None and before["version"] != version:
        older = manifest_node(name, before["version"])
        ctx.emit_edge(LineageEdge(manifest_node(name, version), "replaces", older))
    return row


def _version_key(validated: Judged) -> str:
    metadata = validated.json["metadata"]
    return composite(metadata["name"], metadata["version"])


def _verdict(verdict: str, rule: str, row: AvroValue, **more: Any) -> Verdict:
    """Return a verdict with its message.

    row: that of the manifest which the verdict is about.
    """
    return Verdict(verdict, rule, rule_message(rule), more={**agent_members(row), **more})


class Fleet:
    """An index of the current row of each agent, withdrawn agents included."""

    def __init__(self) -> None:
        self.rows: dict[str, AvroValue] = {}

    def update(self, key: str, row: AvroValue | None) -> None:
        if len(split(key)) > 1:
            return
        if row is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = row


def current_agent(agent_id: str, ctx: ProcessorContext) -> AvroValue | None:
    """Return the current or last SummitAgent of an agent; it must not be changed."""
    return _global_table(ctx).index(Fleet).rows.get(agent_id)


def agent_version(agent_id: str, version: str, ctx: ProcessorContext) -> AvroValue | None:
    """Return the SummitAgent of an accepted version; it must not be changed."""
    row = current_agent(agent_id, ctx)
    if row is not None and row["version"] == version:
        return row
    return _global_table(ctx).get(composite(agent_id, version))


def unusable(row: AvroValue | None, ctx: ProcessorContext) -> Verdict | None:
    """Return the refusal if the agent of this row takes no calls."""
    if row is None:
        return refuse(rules.AGENT_UNKNOWN.code, _AGENT_PATH, agentsSeen=agents_seen(ctx))
    if row["state"] != AgentState.REGISTERED:
        more = {**agent_members(row), "agentsSeen": agents_seen(ctx)}
        return refuse(rules.AGENT_WITHDRAWN.code, _AGENT_PATH, **more)
    return None


def is_critic(row: AvroValue) -> bool:
    """Return whether the agent of this row may judge runs of others."""
    return bool(row["manifest"]["spec"]["role"] == CRITIC)


def agent_members(row: AvroValue) -> dict[str, Any]:
    """Return the members of a fact that identify the agent's row used by its verdict."""
    return {"manifestVersion": row["version"], "manifestHash": row["manifestHash"]}


def agents_seen(ctx: ProcessorContext) -> list[int]:
    """Return the next offset per partition up to which the agents were read at the last look-up."""
    return _global_table(ctx).index_positions()


def _global_table(ctx: ProcessorContext) -> GlobalTable:
    return ctx.global_table(SUMMIT_AGENTS_TABLE)
