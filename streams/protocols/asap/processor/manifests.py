"""Manifests: the verdict on each, and what is known of the agents that have one.

The topic is read twice.  As an input, one record after the other, each gets its verdict by what
came before under its key.  As a global copy, which is read on before each cycle, it says who there
is; a record there that is no valid manifest counts as none.

Source: ASAP spec, 5.6, 5.3 and 9.2.
"""

from __future__ import annotations

from typing import Any

from schemas import asap
from schemas.asap import JudgedManifest
from streams.engine.processor import AvroValue, Message, ProcessorContext
from streams.engine.records import header, position
from streams.protocols.asap.processor import verdicts
from streams.protocols.asap.processor.command import Command
from streams.protocols.asap.processor.decision import DecisionContext
from streams.protocols.asap.processor.verdicts import Outcome
from topology.asap import ASAP_AGENTS, ASAP_MANIFESTS_TABLE


class Fleet:
    """The agents that have a valid manifest.  skills: by URN, what each lists."""

    def __init__(self) -> None:
        self.skills: dict[str, frozenset[str]] = {}

    def update(self, key: str, row: AvroValue | None) -> None:
        self.skills.pop(key, None)
        if row is not None and _problem(asap.judge_manifest(row), key) is None:
            self.skills[key] = frozenset(s["id"] for s in row["capabilities"]["skills"])


def figures(recipient: str, ctx: DecisionContext) -> dict[str, Any]:
    """What a verdict on something new records of the fleet."""
    skills = _fleet(ctx).skills
    return {"recipient_known": recipient in skills, "manifests": len(skills)}


def refusal(command: Command, ctx: DecisionContext) -> Outcome | None:
    """Why a request or a call cannot go to its recipient."""
    check, seen = ctx.setting("RECIPIENT_CHECK"), figures(command.recipient, ctx)
    wanted = check == "always" or (check == "auto" and seen["manifests"] > 0)
    if not wanted or seen["recipient_known"]:
        return None
    detail = f"recipient: no agent {command.recipient} has a valid manifest."
    return verdicts.refuse("agent_not_found", detail, **seen)


def unskilled(command: Command, ctx: DecisionContext) -> Outcome | None:
    """Why a request's skill is none of its worker's."""
    skills = _fleet(ctx).skills.get(command.recipient)
    skill_id = command.body["skill_id"]
    if not ctx.setting("SKILL_CHECK") or not skills or skill_id in skills:
        return None
    detail = f"skill_id: the manifest of {command.recipient} does not list {skill_id}."
    return verdicts.refuse("skill_not_found", detail, skills=len(skills))


def _fleet(ctx: DecisionContext) -> Fleet:
    return ctx.work.global_table(ASAP_MANIFESTS_TABLE).index(Fleet)


def judge(message: Message, work: ProcessorContext) -> None:
    """A record of `asap.manifests`."""
    record = message.record
    ctx = DecisionContext(work, position(record), record.timestamp, header(record, "traceparent"))
    key = _text(record.key)
    if key is None:
        refused = verdicts.refuse("bad_manifest", "The record's key is no text, or none.")
        _publish(message.value.get("id", ""), refused, ctx)
    elif (elsewhere := verdicts.partition_mismatch(key, work)) is not None:
        _publish(key, elsewhere, ctx)
    elif record.value is None:
        work.rows(ASAP_AGENTS).delete(key)
        _publish(key, verdicts.accept("manifest_withdrawn"), ctx)
    else:
        judged = asap.judge_manifest(message.value)
        _publish(key, _take(key, judged, work), ctx, judged.sha256)


def _take(key: str, judged: JudgedManifest, work: ProcessorContext) -> Outcome:
    """A manifest in its place: the one in force from now on, or none if it is not valid."""
    agents, problem = work.rows(ASAP_AGENTS), _problem(judged, key)
    if problem is not None:
        agents.delete(key)
        return verdicts.refuse("bad_manifest", problem)
    if (agents.get(key) or {}).get("sha256") == judged.sha256:
        return verdicts.duplicate("same_envelope")
    agents.put(key, {"sha256": judged.sha256})
    return verdicts.accept("manifest_accepted")


def _publish(key: str, outcome: Outcome, ctx: DecisionContext, sha256: str | None = None) -> None:
    verdicts.fact(
        ctx,
        key,
        "manifest",
        outcome.rule,
        verdict=outcome.verdict,
        fault=outcome.fault,
        asap_error=outcome.asap_error,
        detail=outcome.detail,
        figures=outcome.figures,
        envelope_hash=sha256,
    )


def _problem(judged: JudgedManifest, key: str | None) -> str | None:
    """What is wrong with a manifest under its key, as a sentence."""
    if judged.problems:
        first = judged.problems[0]
        return f"{first.path or '/'}: {first.message}"
    urn = judged.manifest["id"]
    return None if urn == key else f"The record's key is not the agent's URN, which is {urn}."


def _text(key: bytes | None) -> str | None:
    try:
        return None if key is None else key.decode()
    except UnicodeDecodeError:
        return None
