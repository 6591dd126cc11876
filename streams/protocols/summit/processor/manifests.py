"""Manifests: the verdict on each, and the agents that have one.

For every record of `summit.manifests`, in this order, the first that applies decides:

1. its key is not the agent's name, or it lies on another partition than its key's;
2. its content breaks a rule;
3. it is the one in force: `manifest.duplicate`;
4. its version was accepted with other content: `manifest.version_conflict`.

Else it is in force from now on, whichever version it is.  One that is refused changes nothing, and
neither does any manifest for runs that have begun.  A null value withdraws the agent.

A call lies in the partition of its run, its agent's manifests in that of the agent.  So calls and
replies look agents up in the copy of `summit.agents` that the worker keeps of all partitions, and
only there: whether both happen to share a task makes no difference.  The copy is read to the end
that the topic has before each batch, and what a verdict saw of it stands in the fact.

Source: Summit 4.2, 5, 5.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from schemas import from_json, summit
from schemas.summit import Judged, rule_message, rules
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
    """What a record asks for: that an agent has this manifest, or none.

    name: the agent's, by the manifest; of a withdrawal, by the key.  judged: None withdraws.
    """

    def __init__(self, message: Message) -> None:
        self.given = text_of(message.record.key)
        self.judged: Judged | None = None
        self.name = self.given or ""
        if message.record.value is not None:
            self.judged = summit.judge_manifest(message.value)
            self.name = message.value["metadata"]["name"]

    @property
    def key(self) -> str:
        """The key of the record's fact."""
        return self.name if self.given is None else self.given


def load_rows(messages: Sequence[Message], work: ProcessorContext) -> None:
    """Fetch the rows that these manifests will ask for."""
    keys = []
    for message in messages:
        key = text_of(message.record.key)
        if key is not None:
            metadata = message.value.get("metadata", {})
            keys += [key, composite(key, metadata.get("version", ""))]
    work.rows(SUMMIT_AGENTS_TABLE).load(keys)


def judge(message: Message, work: ProcessorContext) -> None:
    """A record of `summit.manifests`."""
    record, ctx = Registration(message), record_context(message, work)
    verdict = _refusal(record, work) or _decide(record, ctx)
    sent = None if record.judged is None else record.judged.hash
    about = {"agentId": cut_name(record.name), "contentHash": sent}
    verdicts.write_fact(record.key, "manifest", verdict, ctx, **about)


def _refusal(record: Registration, work: ProcessorContext) -> Verdict | None:
    """Why the record is refused by itself."""
    if record.given is None or record.given != record.name:
        return refuse(rules.KEY_MISMATCH.code)
    if (refused := partition_mismatch(record.key, work)) is not None:
        return refused
    if record.judged is not None and record.judged.problem is not None:
        return malformed(record.judged.problem)
    return None


def _decide(record: Registration, ctx: DecisionContext) -> Verdict:
    rows, name = ctx.work.rows(SUMMIT_AGENTS_TABLE), record.name
    row = None if "/" in name else rows.get(name)  # with one it is that of a version
    state = AgentState.NONE if row is None else AgentState(row["state"])
    event = _event(record.judged, row)
    if (rule := REPEATED.get((state, event))) is not None:
        assert row is not None
        return _verdict("duplicate", rule.code, row)
    if (rule := REFUSED.get((state, event))) is not None:
        return refuse(rule.code)
    if record.judged is not None and (refused := _conflict(record.judged, ctx)) is not None:
        return refused
    target = step(MACHINE, state, event)
    assert target is not None
    moved = {"fromState": state.value, "toState": target.value} if target is not state else {}
    if record.judged is None:
        assert row is not None
        rows.put(name, {**row, "state": target.value})
        return _verdict("accepted", rules.MANIFEST_WITHDRAWN.code, row, **moved)
    new = _register(record.judged, row, ctx)
    return _verdict("accepted", rules.MANIFEST_ACCEPTED.code, new, **moved)


def _event(judged: Judged | None, row: AvroValue | None) -> AgentEvent:
    if judged is None:
        return AgentEvent.WITHDRAW
    again = row is not None and row["manifestHash"] == judged.hash
    return AgentEvent.REGISTER_AGAIN if again else AgentEvent.REGISTER


def _conflict(judged: Judged, ctx: DecisionContext) -> Verdict | None:
    """A refusal of a version that stands for another manifest."""
    known = ctx.work.rows(SUMMIT_AGENTS_TABLE).get(_version_key(judged))
    if known is None or known["manifestHash"] == judged.hash:
        return None
    rule = rules.MANIFEST_VERSION_CONFLICT.code
    return refuse(rule, "/metadata/version", **agent_members(known))


def _register(judged: Judged, before: AvroValue | None, ctx: DecisionContext) -> AvroValue:
    """Put a manifest in force.  before: the row of the one before it."""
    rows, metadata = ctx.work.rows(SUMMIT_AGENTS_TABLE), judged.json["metadata"]
    name, version = metadata["name"], metadata["version"]
    row = {
        "agentId": name,
        "version": version,
        "state": AgentState.REGISTERED.value,
        "manifest": from_json(_RECORD, judged.json),
        "manifestHash": judged.hash,
        "position": ctx.cause,
        "at": ctx.at,
    }
    if rows.get(_version_key(judged)) is None:
        rows.put(_version_key(judged), row)
    rows.put(name, row)
    if before is not None and before["version"] != version:
        older = manifest_node(name, before["version"])
        ctx.draw(LineageEdge(manifest_node(name, version), "replaces", older))
    return row


def _version_key(judged: Judged) -> str:
    metadata = judged.json["metadata"]
    return composite(metadata["name"], metadata["version"])


def _verdict(verdict: str, rule: str, row: AvroValue, **more: Any) -> Verdict:
    """row: of the manifest that the verdict is about."""
    return Verdict(verdict, rule, rule_message(rule), more={**agent_members(row), **more})


class Fleet:
    """The current row of each agent, also of one that was withdrawn."""

    def __init__(self) -> None:
        self.rows: dict[str, AvroValue] = {}

    def update(self, key: str, row: AvroValue | None) -> None:
        if len(split(key)) > 1:
            return
        if row is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = row


def current_agent(agent_id: str, work: ProcessorContext) -> AvroValue | None:
    """The SummitAgent in force, or last in force, of an agent; not to be changed."""
    return _copy(work).index(Fleet).rows.get(agent_id)


def agent_version(agent_id: str, version: str, work: ProcessorContext) -> AvroValue | None:
    """The SummitAgent of a version that was accepted; not to be changed."""
    row = current_agent(agent_id, work)
    if row is not None and row["version"] == version:
        return row
    return _copy(work).get(composite(agent_id, version))


def unusable(row: AvroValue | None, work: ProcessorContext) -> Verdict | None:
    """Why the agent of this row takes no calls."""
    if row is None:
        return refuse(rules.AGENT_UNKNOWN.code, _AGENT_PATH, agentsSeen=agents_seen(work))
    if row["state"] != AgentState.REGISTERED:
        more = {**agent_members(row), "agentsSeen": agents_seen(work)}
        return refuse(rules.AGENT_WITHDRAWN.code, _AGENT_PATH, **more)
    return None


def agent_members(row: AvroValue) -> dict[str, Any]:
    """What a fact shows of the row that its verdict rests on."""
    return {"manifestVersion": row["version"], "manifestHash": row["manifestHash"]}


def agents_seen(work: ProcessorContext) -> list[int]:
    """How far the agents were read when they were last asked: a next offset per partition."""
    return _copy(work).index_positions()


def _copy(work: ProcessorContext) -> GlobalTable:
    return work.global_table(SUMMIT_AGENTS_TABLE)
