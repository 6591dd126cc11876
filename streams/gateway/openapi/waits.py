"""What `Prefer: wait` and correlation ids add to an operation."""

from __future__ import annotations

from streams.api import correlation
from streams.api.media import JSON_TYPE, PROBLEM_TYPE
from streams.api.openapi import APPLIED, TEXT, Json, answer, header, ref
from streams.api.problems import TITLES
from streams.api.route import AwaitOutcome, AwaitVerdicts, Produce, ReplaceCommand
from streams.gateway.openapi.schemas import Components

CORRELATED: Json = {
    correlation.HEADER: {
        "description": "The correlationId of what the answer is about.",
        "schema": {"type": "string", "format": "uuid"},
    }
}


def parameters(action: Produce | ReplaceCommand) -> list[Json]:
    found = []
    if action.wait is not None:
        what = "what comes of one envelope is"
        if isinstance(action.wait, AwaitVerdicts):
            what = "the verdicts on all of it are"
        meaning = (
            "`wait=N` (RFC 7240) holds the answer back for so many seconds, until"
            f" {what} there; the service may cut them."
        )
        found.append(header("Prefer", meaning, "wait=10"))
    if isinstance(action, Produce) and action.terms.correlated:
        meaning = "The correlationId of what is sent; another one is refused."
        found.append(header(correlation.HEADER, meaning))
    return found


def responses(wait: AwaitOutcome | AwaitVerdicts, components: Components) -> Json:
    """By status; those of a sender who does not wait are among them."""
    if isinstance(wait, AwaitVerdicts):
        return _verdicts(wait, components)
    ack = components.answers[wait.refused]
    headers = {**CORRELATED, **APPLIED}
    found = {
        "200": answer(components.answers[wait.awaits], "What was waited for."),
        "202": answer(
            {"anyOf": [ref("Positions"), components.answers[wait.pending]]},
            "It is on the log; not waited for, or not there in time.",
        ),
        **{str(status): answer(ack, f"{TITLES[status]}: the NACK.") for status in wait.statuses},
        "422": {
            "description": "Not valid, and not sent; or the NACK.",
            "content": {PROBLEM_TYPE: {"schema": ref("Problem")}, JSON_TYPE: {"schema": ack}},
        },
    }
    found["429"]["headers"] = {"Retry-After": {"description": "Seconds.", "schema": TEXT}}
    for each in found.values():
        each["headers"] = {**each.get("headers", {}), **headers}
    return found


def _verdicts(wait: AwaitVerdicts, components: Components) -> Json:
    found = {
        "200": answer(components.answers[wait.awaits], "All of it is on the log, and judged."),
        "202": answer(ref("Positions"), "It is on the log; not waited for, or not judged in time."),
    }
    for each in found.values():
        each["headers"] = APPLIED
    return found
