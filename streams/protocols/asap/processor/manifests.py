"""The verdicts on manifests, and the index of agents with a valid one.

The topic is read twice.  As an input, each record gets a verdict that depends on the earlier ones
of its key.  As a global table, caught up before each batch, it is the index of agents; a record
that is no valid manifest counts as none.

Source: ASAP guide, 5.6, 5.3 and 1.1.
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
    """The agents with a valid manifest.  skills: by URN, those in the manifest."""

    def __init__(self) -> None:
        self.skills: dict[str, frozenset[str]] = {}

    def update(self, key: str, row: AvroValue | None) -> None:
        self.skills.pop(key, None)
        if row is not None and _problem(asap.judge_manifest(row), key) is None:
            self.skills[key] = frozenset(s["id"] for s in row["capabilities"]["skills"])


def fleet_evidence(recipient: str, ctx: DecisionContext) -> dict[str, Any]:
    """Return the evidence about the fleet that the verdict on a new request or call records."""
    skills = _fleet(ctx).skills
    return {"recipient_known": recipient in skills, "manifests": len(skills)}


def recipient_refusal(command: Command, ctx: DecisionContext) -> Outcome | None:
    """Return a refusal if a request's or a call's recipient must be known and is not."""
    check, fleet = ctx.setting("RECIPIENT_CHECK"), fleet_evidence(command.recipient, ctx)
    required = check == "always" or (check == "auto" and fleet["manifests"] > 0)
    if not required or fleet["recipient_known"]:
        return None
    detail = f"recipient: no agent {command.recipient} has a valid manifest."
    return verdicts.refuse("agent_not_found", detail, **fleet)


def skill_refusal(command: Command, ctx: DecisionContext) -> Outcome | None:
    """Return a refusal if the worker's manifest does not list the request's skill."""
    skills = _fleet(ctx).skills.get(command.recipient)
    skill_id = command.body["skill_id"]
    if not ctx.setting("SKILL_CHECK") or not skills or skill_id in skills:
        return None
    detail = f"skill_id: the manifest of {command.recipient} does not list {skill_id}."
    return verdicts.refuse("skill_not_found", detail, skills=len(skills))


def _fleet(ctx: DecisionContext) -> Fleet:
    return ctx.work.global_table(ASAP_MANIFESTS_TABLE).index(Fleet)


def handle_manifest(message: Message, context: ProcessorContext) -> None:
    """Decide a record of `asap.manifests`."""
    record = message.record
    ctx = DecisionContext(
        context, position(record), record.timestamp, header(record, "traceparent")
    )
    key = _text(record.key)
    if key is None:
        refusal = verdicts.refuse("bad_manifest", "The record's key is no text, or none.")
        _publish(message.value.get("id", ""), refusal, ctx)
    elif (mismatch := verdicts.partition_mismatch(key, context)) is not None:
        _publish(key, mismatch, ctx)
    elif record.value is None:
        context.rows(ASAP_AGENTS).delete(key)
        _publish(key, verdicts.accept("manifest_withdrawn"), ctx)
    else:
        validated = asap.judge_manifest(message.value)
        _publish(key, _apply_manifest(key, validated, context), ctx, validated.sha256)


def _apply_manifest(key: str, validated: JudgedManifest, ctx: ProcessorContext) -> Outcome:
    """Put a valid manifest into force; withdraw the earlier one if it is invalid."""
    agents, problem = ctx.rows(ASAP_AGENTS), _problem(validated, key)
    if problem is not None:
        agents.delete(key)
        return verdicts.refuse("bad_manifest", problem)
    if (agents.get(key) or {}).get("sha256") == validated.sha256:
        return verdicts.duplicate("same_envelope")
    agents.put(key, {"sha256": validated.sha256})
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


def _problem(validated: JudgedManifest, key: str | None) -> str | None:
    """Return what is wrong with a manifest under its key, as a sentence."""
    if validated.problems:
        first = validated.problems[0]
        return f"{first.path or '/'}: {first.message}"
    urn = validated.manifest["id"]
    return None if urn == key else f"The record's key is not the agent's URN, which is {urn}."


def _text(key: bytes | None) -> str | None:
    try:
        return None if key is None else key.decode()
    except UnicodeDecodeError:
        return None
