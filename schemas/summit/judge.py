"""The validation of records read from the log: their JSON, the first violated rule, their hash."""

from __future__ import annotations

from typing import Any, NamedTuple

from schemas.json_mapping.json_form import to_json
from schemas.problems import Problem
from schemas.summit import rules
from schemas.summit.calls import check_call
from schemas.summit.caps import NO_CAPS, BudgetCaps
from schemas.summit.checker import ANY_ORDER
from schemas.summit.manifests import check_manifest
from schemas.summit.mapping import PARAMS
from schemas.summit.replies import shape_problem
from schemas.summit.results import call_hash, manifest_hash, reply_hash
from schemas.summit.words import CALL_RECORD, MANIFEST_RECORD, REPLY_RECORD

JsonObject = dict[str, Any]


class Judged(NamedTuple):
    """A validated record.

    json: as sent; a text that is no I-JSON is `UnparsableJson`.  problem: the deciding one, if any.
    """

    json: JsonObject
    problem: Problem | None
    hash: str


_METHOD_OF_PARAMS = {record: method for method, record in PARAMS.items()}
JudgedCall = JudgedReply = JudgedManifest = Judged


def judge_call(value: JsonObject, caps: BudgetCaps = NO_CAPS) -> Judged:
    """Validate the Avro value of a SummitCall from any sender.

    The `json` of the result has no delivery.
    """
    call = to_json(CALL_RECORD, value)
    problem = next(iter(check_call(call, caps)), None)
    expected, sent = PARAMS.get(call["method"]), value["params"][0]
    if expected != sent:
        problem = _other_params_problem(call, sent, expected, problem)
    call.pop("delivery", None)
    return Judged(call, problem, call_hash(call))


def _other_params_problem(
    call: JsonObject, sent: str, expected: str | None, problem: Problem | None
) -> Problem | None:
    """Return the deciding problem of a call whose params are not those of its method."""
    as_sent = next(iter(check_call({**call, "method": _METHOD_OF_PARAMS[sent]})), None)
    if as_sent is not None and as_sent.rule == rules.JSON_INVALID.code:
        return as_sent
    before = ANY_ORDER[problem.rule] < ANY_ORDER[rules.PARAMS_SHAPE.code] if problem else False
    if expected is None or before:
        return problem
    message = f"params is {sent.rpartition('.')[2]}, which is not the method's."
    return Problem(rules.PARAMS_SHAPE.code, "/params", message)


def judge_reply(value: JsonObject) -> Judged:
    """Validate the Avro value of a SummitReply.

    The problem is that of step 1 of the Summit guide, 5.4; the record's key is not checked.
    """
    reply = to_json(REPLY_RECORD, value)
    return Judged(reply, shape_problem(reply), reply_hash(reply))


def judge_manifest(value: JsonObject) -> Judged:
    """Validate the Avro value of a SummitManifest from any sender."""
    manifest = to_json(MANIFEST_RECORD, value)
    problem = next(iter(check_manifest(manifest)), None)
    return Judged(manifest, problem, manifest_hash(manifest))
