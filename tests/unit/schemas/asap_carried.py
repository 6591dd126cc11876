"""Valid envelopes to be spoilt, and what is said of them."""

from __future__ import annotations

from typing import Any

from schemas import Problem, decode, encode, from_json
from schemas.asap import Limits, judge
from schemas.asap.constants import ENVELOPE_RECORD
from tests.unit.schemas import examples
from tests.unit.schemas.asap_tables import example as payload_of

REQUEST = examples.valid("asap")["task_request"]
UPDATE = examples.valid("asap")["task_update"]
SNAPSHOT = "dev.headrace.snapshot"
SERVICE = Limits().service_urn
IDS = (
    "task_id",
    "conversation_id",
    "parent_task_id",
    "skill_id",
    "message_id",
    "artifact_id",
    "snapshot_id",
    "request_id",
)


def rules_and_paths(problems: list[Problem]) -> list[tuple[str, str]]:
    return [(problem.rule, problem.path) for problem in problems]


def carrying(name: str) -> dict[str, Any]:
    """A valid envelope with the payload named, all of whose members are there."""
    payload = payload_of(name)
    payload |= {field: "i" for field in IDS if field in payload}
    if name == "MessageSend":
        payload["sender"] = REQUEST["sender"]
    return {**REQUEST, "payload_type": name, "payload": payload, "correlation_id": "c"}


def off_the_log(envelope: dict[str, Any]) -> list[Problem]:
    value = from_json(ENVELOPE_RECORD, envelope)
    return judge(decode(encode(ENVELOPE_RECORD, value), ENVELOPE_RECORD).value).problems
