"""The rules of replies that need only the reply (Summit guide, 2.4, 2.5, 3, 5.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from schemas.json_mapping.json_form import UnparsableJson
from schemas.objects import ABSENT
from schemas.problems import Problem
from schemas.rules import Rule
from schemas.summit import rules, words
from schemas.summit.checker import (
    Checker,
    JsonPath,
    chars,
    is_agent_id,
    is_id,
    is_integer,
    is_time,
    order_of,
    others,
)
from schemas.summit.results import json_hash

JsonObject = dict[str, Any]
CLOSED = {
    "metrics": ("tokens", "cost_usd", "latency_ms"),
    "verification": ("status", "score", "checks"),
    "error": ("code", "message", "data"),
}


def check_metrics(check: Checker, metrics: JsonObject, path: JsonPath) -> None:
    rule = rules.METRICS_VALUE
    for name in ("tokens", "cost_usd"):
        if name not in metrics:
            check.add_problem(rule, (*path, name), "is missing")
    check.integer(metrics, "tokens", path, rule)
    check.number(metrics, "cost_usd", path, rule, 0, words.MAX_USD)
    check.number(metrics, "latency_ms", path, rule, 0, words.MAX_LATENCY_MS)


def check_provenance(check: Checker, provenance: JsonObject, path: JsonPath) -> None:
    rule = rules.PROVENANCE_VALUE
    for name in ("model", "timestamp"):
        if name not in provenance:
            check.add_problem(rule, (*path, name), "is missing")
    check.text(provenance, "model", path, rule, chars(1, 200), "a string of 1 to 200 characters")
    what = "a real date and time, YYYY-MM-DDThh:mm:ss[.f]Z"
    check.text(provenance, "timestamp", path, rule, is_time, what)
    extra = others(provenance, ("model", "timestamp"))
    for name, value in extra.items():
        check.well_formed(rule, value, (*path, str(name)))
    if extra:
        check.at_most(rule, extra, path, words.MAX_EXTRA_BYTES)


def check_verification(check: Checker, verification: JsonObject, path: JsonPath) -> None:
    rule = rules.VERIFICATION_VALUE
    if "status" not in verification:
        check.add_problem(rule, (*path, "status"), "is missing")
    statuses = words.VERIFICATION_STATUSES
    what = f"one of {', '.join(statuses)}"
    check.text(verification, "status", path, rule, statuses.__contains__, what)
    check.number(verification, "score", path, rule, 0, 1)
    if "checks" in verification:
        _check_checks(check, verification["checks"], (*path, "checks"))


def _check_checks(check: Checker, checks: Any, path: JsonPath) -> None:
    rule = rules.VERIFICATION_VALUE
    if not isinstance(checks, list) or len(checks) > words.MAX_CHECKS:
        check.add_problem(rule, path, f"must be a list of at most {words.MAX_CHECKS} checks")
        return
    names: set[str] = set()
    for i, one in enumerate(checks):
        at = (*path, i)
        if not check.an_object(rule, one, at):
            continue
        check_check(check, one, at)
        name = one.get("name")
        if isinstance(name, str) and name in names:
            check.add_problem(rule, (*at, "name"), "must be of one check only")
        elif isinstance(name, str):
            names.add(name)


def check_check(check: Checker, one: JsonObject, path: JsonPath) -> None:
    rule = rules.VERIFICATION_VALUE
    if "name" not in one:
        check.add_problem(rule, (*path, "name"), "is missing")
    check.text(one, "name", path, rule, chars(1, 100), "a string of 1 to 100 characters")
    if not isinstance(one.get("passed"), bool):
        check.add_problem(rule, (*path, "passed"), "must be true or false")


def check_error(check: Checker, error: JsonObject, path: JsonPath) -> None:
    rule = rules.ERROR_VALUE
    code = error.get("code")
    if not is_integer(code) or not -(2**31) <= code < 2**31:
        check.add_problem(rule, (*path, "code"), "must be an integer of 32 bits")
    elif int(code) in words.RESERVED_CODES:
        check.add_problem(rule, (*path, "code"), "must not be from -32768 to -32000")
    if "message" not in error:
        check.add_problem(rule, (*path, "message"), "is missing")
    what = "a string of 1 to 2000 characters"
    check.text(error, "message", path, rule, chars(1, 2000), what)
    if "data" in error and check.well_formed(rule, error["data"], (*path, "data")):
        check.at_most(rule, error["data"], (*path, "data"), words.MAX_EXTRA_BYTES)


PARTS: dict[str, Callable[[Checker, JsonObject, JsonPath], None]] = {
    "metrics": check_metrics,
    "provenance": check_provenance,
    "verification": check_verification,
    "error": check_error,
}
VALUE_RULES: dict[str, Rule] = {
    "metrics": rules.METRICS_VALUE,
    "provenance": rules.PROVENANCE_VALUE,
    "verification": rules.VERIFICATION_VALUE,
    "error": rules.ERROR_VALUE,
}


_FIRST = (rules.JSON_INVALID, rules.REPLY_SHAPE, rules.STATUS_VALUE)
_ORDER = order_of(*dict.fromkeys((*_FIRST, *rules.REFUSING)))
"""The order of the Summit guide, 5.4, steps 1 and 7 to 10; the budget comes before the output."""
_MEMBERS = {
    words.PROGRESS: ("metrics", "provenance", "message"),
    words.RESULT: ("status", "output", "metrics", "provenance", "verification"),
    words.ERROR: ("status", "error", "metrics", "provenance"),
    words.VERIFICATION: ("metrics", "provenance", "verification"),
}
_COMMON_MEMBERS = ("replyId", "runId", "agentId", "kind")
_STATUSES = {
    words.RESULT: (words.COMPLETED,),
    words.ERROR: (words.FAILED, words.BUDGET_EXCEEDED),
}


class Content(NamedTuple):
    """The content of a reply; each part only if it is valid.

    problem: the first violated rule of those before the budget.  late: `output.value`. output,
    output_hash: also those of a refused output; ABSENT and None if there is no output, or if it is
    no I-JSON.
    """

    problem: Problem | None
    late: Problem | None
    metrics: JsonObject | None
    provenance: JsonObject | None
    verification: JsonObject | None
    error: JsonObject | None
    output: Any
    output_hash: str | None


def check_reply(value: object) -> list[Problem]:
    """Check the JSON of a SummitReply; return the problems, the deciding one first.

    Whether the output must be an object depends on the run and is not checked.
    """
    check = Checker("reply", _ORDER)
    if not isinstance(value, dict):
        check.add_problem(rules.REPLY_SHAPE, (), "must be an object")
        return check.problems()
    _check_shape(check, value)
    _check_open_json(check, value)
    if isinstance(value.get("kind"), str) and value["kind"] in words.REPLY_KINDS:
        _check_content(check, value)
        _check_output(check, value, None)
    problems = check.problems()
    unread = {problem.path for problem in problems if problem.rule == rules.JSON_INVALID.code}
    return [p for p in problems if p.rule == rules.JSON_INVALID.code or p.path not in unread]


def shape_problem(reply: JsonObject) -> Problem | None:
    """Return the first rule of step 1 of the Summit guide, 5.4 that a reply violates.

    reply: the JSON of a record.
    """
    check = Checker("reply", _ORDER)
    _check_shape(check, reply)
    if reply["kind"] not in words.FINAL:
        _check_open_json(check, reply)
    return _first_problem(check)


def reply_content(reply: JsonObject, run_kind: str) -> Content:
    """Check steps 7 to 10 of the Summit guide, 5.4 for a reply that has no shape problem.

    run_kind: `invoke`, whose output is an object, or `tool`.
    """
    check, late = Checker("reply", _ORDER), Checker("reply", _ORDER)
    sound = _check_content(check, reply)
    _check_output(late, reply, run_kind)
    output = reply.get("output", ABSENT)
    if isinstance(output, UnparsableJson):
        output = ABSENT
    return Content(
        _first_problem(check),
        _first_problem(late),
        sound.get("metrics"),
        sound.get("provenance"),
        sound.get("verification"),
        sound.get("error"),
        output,
        None if output is ABSENT else _output_hash(output),
    )


def _first_problem(check: Checker) -> Problem | None:
    return next(iter(check.problems()), None)


def _output_hash(output: Any) -> str | None:
    try:
        return json_hash(output)
    except ValueError:
        return None


def _check_shape(check: Checker, reply: JsonObject) -> None:
    rule = rules.REPLY_SHAPE
    check.text(reply, "replyId", (), rule, is_id, "an id of 1 to 128 characters")
    check.text(reply, "runId", (), rule, is_id, "an id of 1 to 128 characters")
    check.text(reply, "agentId", (), rule, is_agent_id, "1 to 100 lower-case letters, digits and -")
    kinds = ", ".join(words.REPLY_KINDS)
    check.text(reply, "kind", (), rule, words.REPLY_KINDS.__contains__, f"one of {kinds}")
    check.text(reply, "message", (), rule, chars(1, 2000), "a string of 1 to 2000 characters")
    kind = reply.get("kind")
    known = isinstance(kind, str) and kind in _MEMBERS
    listed = _MEMBERS[str(kind)] if known else sum(_MEMBERS.values(), ())
    needed = ("verification",) if kind == words.VERIFICATION else ()
    check.members(reply, (), (*_COMMON_MEMBERS, *listed), (*_COMMON_MEMBERS, *needed), rule)
    for name, named in CLOSED.items():
        member = reply.get(name)
        if isinstance(member, dict):
            check.members(member, (name,), named, (), rule)
    verification = reply.get("verification")
    checks = verification.get("checks") if isinstance(verification, dict) else None
    for i, one in enumerate(checks if isinstance(checks, list) else ()):
        if isinstance(one, dict):
            path = ("verification", "checks", i)
            check.members(one, path, ("name", "passed"), (), rule)


def _check_open_json(check: Checker, reply: JsonObject) -> None:
    """Check open JSON that no other rule covers."""
    if "output" in reply:
        check.well_formed(rules.JSON_INVALID, reply["output"], ("output",))
    provenance, error = reply.get("provenance"), reply.get("error")
    if isinstance(provenance, dict):
        for name, value in others(provenance, ("model", "timestamp")).items():
            check.well_formed(rules.JSON_INVALID, value, ("provenance", str(name)))
    if isinstance(error, dict) and "data" in error:
        check.well_formed(rules.JSON_INVALID, error["data"], ("error", "data"))


def _check_content(check: Checker, reply: JsonObject) -> dict[str, JsonObject]:
    """Check everything but the output, and return the valid parts."""
    kind = reply["kind"]
    final = kind in words.FINAL
    if final and "status" in reply:
        statuses = _STATUSES[kind]
        holds, what = statuses.__contains__, f"one of {', '.join(statuses)}"
        check.text(reply, "status", (), rules.STATUS_VALUE, holds, what)
    missing: dict[str, Rule] = {}
    if kind != words.VERIFICATION:
        missing["metrics"] = rules.METRICS_MISSING
    if kind != words.PROGRESS:
        missing["provenance"] = rules.PROVENANCE_MISSING
    if kind == words.ERROR:
        missing["error"] = rules.ERROR_VALUE
    sound: dict[str, JsonObject] = {}
    for name, part in PARTS.items():
        if name not in reply:
            if name in missing:
                check.add_problem(missing[name], (name,), "is missing")
        elif name in _MEMBERS[kind]:
            part_checker = Checker("reply", _ORDER)
            if part_checker.an_object(VALUE_RULES[name], reply[name], (name,)):
                part(part_checker, reply[name], (name,))
            problems = part_checker.problems()
            check.take(problems)
            if not problems:
                sound[name] = reply[name]
    return sound


def _check_output(check: Checker, reply: JsonObject, run_kind: str | None) -> None:
    rule, path = rules.OUTPUT_VALUE, ("output",)
    if reply["kind"] != words.RESULT:
        return
    if "output" not in reply:
        check.add_problem(rule, path, "is missing")
    elif check.well_formed(rule, reply["output"], path):
        check.at_most(rule, reply["output"], path, words.MAX_OUTPUT_BYTES)
        if run_kind == words.INVOKE:
            check.an_object(rule, reply["output"], path)
