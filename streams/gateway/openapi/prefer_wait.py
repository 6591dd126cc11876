"""OpenAPI of `Prefer: wait` and of the correlation id header."""

from __future__ import annotations

from streams.api import correlation
from streams.api.media import JSON_TYPE, PROBLEM_TYPE
from streams.api.openapi import APPLIED, TEXT, Json, header, json_response, ref
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
    headers = []
    if action.wait is not None:
        what = "what comes of one envelope is"
        if isinstance(action.wait, AwaitVerdicts):
            what = "the verdicts on all of it are"
        meaning = (
            "`wait=N` (RFC 7240) holds the answer back for so many seconds, until"
            f" {what} there; the service may cut them."
        )
        headers.append(header("Prefer", meaning, "wait=10"))
    if isinstance(action, Produce) and action.terms.correlated:
        meaning = "The correlationId of what is sent; another one is refused."
        headers.append(header(correlation.HEADER, meaning))
    return headers


def responses(wait: AwaitOutcome | AwaitVerdicts, components: Components) -> Json:
    """Return the responses by status, including those to a client that does not wait."""
    if isinstance(wait, AwaitVerdicts):
        return _make_verdict_responses(wait, components)
    ack = components.answers[wait.refused]
    headers = {**CORRELATED, **APPLIED}
    by_status = {
        "200": json_response(components.answers[wait.awaits], "What was waited for."),
        "202": json_response(
            {"anyOf": [ref("Positions"), components.answers[wait.pending]]},
            "It is on the log; not waited for, or not there in time.",
        ),
        **{
            str(status): json_response(ack, f"{TITLES[status]}: the NACK.")
            for status in wait.statuses
        },
        "422": {
            "description": "Not valid, and not sent; or the NACK.",
            "content": {PROBLEM_TYPE: {"schema": ref("Problem")}, JSON_TYPE: {"schema": ack}},
        },
    }
    by_status["429"]["headers"] = {"Retry-After": {"description": "Seconds.", "schema": TEXT}}
    for each in by_status.values():
        each["headers"] = {**each.get("headers", {}), **headers}
    return by_status


def _make_verdict_responses(wait: AwaitVerdicts, components: Components) -> Json:
    by_status = {
        "200": json_response(
            components.answers[wait.awaits], "All of it is on the log, and judged."
        ),
        "202": json_response(
            ref("Positions"), "It is on the log; not waited for, or not judged in time."
        ),
    }
    for each in by_status.values():
        each["headers"] = APPLIED
    return by_status
