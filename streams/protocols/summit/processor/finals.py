"""A run ends by what its agent says last, at once and in any case.

What is wrong with the reply decides how: the first broken rule of its content, then the budget,
then the output, which the run's own manifest has a schema for.  An output of a run that does not
complete is withheld, but its hash is kept.

Source: Summit 5.4, steps 8 and 9.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from schemas import Problem, canonical_json, summit
from schemas.summit import rules
from schemas.summit.words import BUDGET_EXCEEDED
from streams.processing.graph import Edge
from streams.protocols.summit.processor import agents, endings, lineage, usage, verifications
from streams.protocols.summit.processor.inbound import Reply
from streams.protocols.summit.processor.rulings import LONGEST, Errors, Ruling, accept
from streams.protocols.summit.processor.runs import Run
from topology.machines.summit_run import RunEvent

_AFTER_SCHEMA = frozenset({rules.REPLY_RESULT.code, rules.OUTPUT_SCHEMA.code})
"""Verdicts that the manifest's schema had a part in."""


class Verdict(NamedTuple):
    """How a final reply ends its run.  path, errors: of what broke the rule."""

    event: RunEvent
    rule: str
    path: str | None = None
    errors: Errors = ()


def result(reply: Reply, content: summit.Content, run: Run) -> Ruling:
    verdict = _result(content, run)
    more: dict[str, Any] = {}
    if run.kind == "invoke" and verdict.rule in _AFTER_SCHEMA:
        more |= run.contract
    if verdict.event is RunEvent.RESULT:
        more["output_json"] = canonical_json(content.output).decode()
    return _end(reply, content, run, verdict)._replace(more=more)


def error(reply: Reply, content: summit.Content, run: Run) -> Ruling:
    return _end(reply, content, run, _error(reply, content, run))


def _result(content: summit.Content, run: Run) -> Verdict:
    if content.problem is not None:
        return _fault(content.problem)
    overspent = usage.overspent(content, run)
    if overspent is not None:
        return Verdict(RunEvent.OVERSPEND, overspent)
    if content.late is not None:
        return _fault(content.late)
    errors = _output_errors(content, run)
    if errors:
        return Verdict(RunEvent.FAULT, rules.OUTPUT_SCHEMA.code, errors[0]["path"], errors)
    return Verdict(RunEvent.RESULT, rules.REPLY_RESULT.code)


def _error(reply: Reply, content: summit.Content, run: Run) -> Verdict:
    if content.problem is not None:
        return _fault(content.problem)
    stopped = reply.value["status"] == BUDGET_EXCEEDED
    if stopped and not summit.has_budget(run.row["budget"]):
        return Verdict(RunEvent.FAULT, rules.BUDGET_NONE.code, "/status")
    overspent = usage.overspent(content, run)
    if overspent is not None:
        return Verdict(RunEvent.OVERSPEND, overspent)
    if stopped:
        return Verdict(RunEvent.BUDGET_STOP, rules.BUDGET_AGENT_STOP.code)
    return Verdict(RunEvent.ERROR, rules.REPLY_ERROR.code)


def _fault(problem: Problem) -> Verdict:
    return Verdict(RunEvent.FAULT, problem.rule, problem.path[:LONGEST] or None)


def _output_errors(content: summit.Content, run: Run) -> Errors:
    """A tool run's output has no schema."""
    if run.kind == "tool":
        return ()
    version = run.evidence["manifestVersion"]
    agent = agents.version(run.agent_id, version, run.scene.work)
    assert agent is not None, "a run's manifest is kept for ever"
    schema = agent["manifest"]["spec"]["interface"]["outputSchema_json"]
    return summit.schema_of(schema).errors(content.output, "/output")


def _end(reply: Reply, content: summit.Content, run: Run, verdict: Verdict) -> Ruling:
    row, scene = run.row, run.scene
    usage.take(reply, content, run)
    run.evidence.update(
        replyPosition=scene.cause, replyHash=reply.hash, outputHash=content.output_hash
    )
    if content.verification is not None:
        row["verification"] = verifications.row_of(content.verification)
        verifications.sum_up(row)
    endings.end(
        run,
        verdict.event,
        verdict.rule,
        path=verdict.path,
        errors=verdict.errors,
        agent_error=content.error,
    )
    own = lineage.reply(reply.run_id, reply.reply_id)
    scene.draw(Edge(own, "answers", lineage.run(run.run_id)))
    run.save()
    figures = {**usage.figures(run), "elapsed_ms": endings.elapsed_ms(run)}
    return accept(verdict.rule, run, figures, verdict.path, verdict.errors)
