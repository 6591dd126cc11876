"""The rules of replies that look at the reply alone (spec 2.4, 2.5, 3, 5.4)."""

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
    Place,
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


def check_metrics(check: Checker, metrics: JsonObject, place: Place) -> None:
    rule = rules.METRICS_VALUE
    for name in ("tokens", "cost_usd"):
        if name not in metrics:
            check.broken(rule, (*place, name), "is missing")
    check.integer(metrics, "tokens", place, rule)
    check.number(metrics, "cost_usd", place, rule, 0, words.MAX_USD)
    check.number(metrics, "latency_ms", place, rule, 0, words.MAX_LATENCY_MS)


def check_provenance(check: Checker, provenance: JsonObject, place: Place) -> None:
    rule = rules.PROVENANCE_VALUE
    for name in ("model", "timestamp"):
        if name not in provenance:
            check.broken(rule, (*place, name), "is missing")
    check.text(provenance, "model", place, rule, chars(1, 200), "a string of 1 to 200 characters")
    what = "a real date and time, YYYY-MM-DDThh:mm:ss[.f]Z"
    check.text(provenance, "timestamp", place, rule, is_time, what)
    extra = others(provenance, ("model", "timestamp"))
    for name, value in extra.items():
        check.well_formed(rule, value, (*place, str(name)))
    if extra:
        check.at_most(rule, extra, place, words.MAX_EXTRA_BYTES)


def check_verification(check: Checker, verification: JsonObject, place: Place) -> None:
    rule = rules.VERIFICATION_VALUE
    if "status" not in verification:
        check.broken(rule, (*place, "status"), "is missing")
    statuses = words.VERIFICATION_STATUSES
    what = f"one of {', '.join(statuses)}"
    check.text(verification, "status", place, rule, statuses.__contains__, what)
    check.number(verification, "score", place, rule, 0, 1)
    if "checks" in verification:
        _checks(check, verification["checks"], (*place, "checks"))


def _checks(check: Checker, checks: Any, place: Place) -> None:
    rule = rules.VERIFICATION_VALUE
    if not isinstance(checks, list) or len(checks) > words.MAX_CHECKS:
        check.broken(rule, place, f"must be a list of at most {words.MAX_CHECKS} checks")
        return
    names: set[str] = set()
    for i, one in enumerate(checks):
        at = (*place, i)
        if not check.an_object(rule, one, at):
            continue
        check_check(check, one, at)
        name = one.get("name")
        if isinstance(name, str) and name in names:
            check.broken(rule, (*at, "name"), "must be of one check only")
        elif isinstance(name, str):
            names.add(name)


def check_check(check: Checker, one: JsonObject, place: Place) -> None:
    rule = rules.VERIFICATION_VALUE
    if "name" not in one:
        check.broken(rule, (*place, "name"), "is missing")
    check.text(one, "name", place, rule, chars(1, 100), "a string of 1 to 100 characters")
    if not isinstance(one.get("passed"), bool):
        check.broken(rule, (*place, "passed"), "must be true or false")


def check_error(check: Checker, error: JsonObject, place: Place) -> None:
    rule = rules.ERROR_VALUE
    code = error.get("code")
    if not is_integer(code) or not -(2**31) <= code < 2**31:
        check.broken(rule, (*place, "code"), "must be an integer of 32 bits")
    elif int(code) in words.RESERVED_CODES:
        check.broken(rule, (*place, "code"), "must not be from -32768 to -32000")
    if "message" not in error:
        check.broken(rule, (*place, "message"), "is missing")
    what = "a string of 1 to 2000 characters"
    check.text(error, "message", place, rule, chars(1, 2000), what)
    if "data" in error and check.well_formed(rule, error["data"], (*place, "data")):
        check.at_most(rule, error["data"], (*place, "data"), words.MAX_EXTRA_BYTES)


PARTS: dict[str, Callable[[Checker, JsonObject, Place], None]] = {
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


_ORDER = order_of(
    rules.JSON_INVALID,
    rules.REPLY_SHAPE,
    rules.STATUS_VALUE,
    rules.METRICS_MISSING,
    rules.METRICS_VALUE,
    rules.PROVENANCE_MISSING,
    rules.PROVENANCE_VALUE,
    rules.VERIFICATION_VALUE,
    rules.ERROR_VALUE,
    rules.OUTPUT_VALUE,
)
"""The order of spec 5.4, 1 and 7 to 10; the budget is looked at before the output."""
_MEMBERS = {
    words.PROGRESS: ("metrics", "provenance", "message"),
    words.RESULT: ("status", "output", "metrics", "provenance", "verification"),
    words.ERROR: ("status", "error", "metrics", "provenance"),
    words.VERIFICATION: ("metrics", "provenance", "verification"),
}
_HEAD = ("replyId", "runId", "agentId", "kind")
_STATUSES = {
    words.RESULT: (words.COMPLETED,),
    words.ERROR: (words.FAILED, words.BUDGET_EXCEEDED),
}


class Content(NamedTuple):
    """What a reply says, each part only if it is sound.

    problem: the first rule broken of those before the budget.  late: `output.value`.  output,
    output_hash: also of an output that is refused; ABSENT and None if there is none, or if it is
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
    """What breaks the rules of a SummitReply's JSON, what decides first; none if it is valid.

    Whether an output has to be an object is for the run to say.
    """
    check = Checker("reply", _ORDER)
    if not isinstance(value, dict):
        check.broken(rules.REPLY_SHAPE, (), "must be an object")
        return check.problems()
    _shape(check, value)
    _open(check, value)
    if isinstance(value.get("kind"), str) and value["kind"] in words.REPLY_KINDS:
        _content(check, value)
        _output(check, value, None)
    found = check.problems()
    unread = {problem.path for problem in found if problem.rule == rules.JSON_INVALID.code}
    return [p for p in found if p.rule == rules.JSON_INVALID.code or p.path not in unread]


def shape_problem(reply: JsonObject) -> Problem | None:
    """The first rule broken of step 1 of spec 5.4.  reply: the JSON of a record."""
    check = Checker("reply", _ORDER)
    _shape(check, reply)
    if reply["kind"] not in words.FINAL:
        _open(check, reply)
    return _first(check)


def reply_content(reply: JsonObject, run_kind: str) -> Content:
    """The steps 7 to 10 of spec 5.4, of a reply that has no shape problem.

    run_kind: `invoke`, whose output is an object, or `tool`.
    """
    check, late = Checker("reply", _ORDER), Checker("reply", _ORDER)
    sound = _content(check, reply)
    _output(late, reply, run_kind)
    output = reply.get("output", ABSENT)
    if isinstance(output, UnparsableJson):
        output = ABSENT
    return Content(
        _first(check),
        _first(late),
        sound.get("metrics"),
        sound.get("provenance"),
        sound.get("verification"),
        sound.get("error"),
        output,
        None if output is ABSENT else _hash(output),
    )


def _first(check: Checker) -> Problem | None:
    return next(iter(check.problems()), None)


def _hash(output: Any) -> str | None:
    try:
        return json_hash(output)
    except ValueError:
        return None


def _shape(check: Checker, reply: JsonObject) -> None:
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
    check.members(reply, (), (*_HEAD, *listed), (*_HEAD, *needed), rule)
    for name, named in CLOSED.items():
        member = reply.get(name)
        if isinstance(member, dict):
            check.members(member, (name,), named, (), rule)
    verification = reply.get("verification")
    checks = verification.get("checks") if isinstance(verification, dict) else None
    for i, one in enumerate(checks if isinstance(checks, list) else ()):
        if isinstance(one, dict):
            place = ("verification", "checks", i)
            check.members(one, place, ("name", "passed"), (), rule)


def _open(check: Checker, reply: JsonObject) -> None:
    """Open JSON, where it is not a rule of its own."""
    if "output" in reply:
        check.well_formed(rules.JSON_INVALID, reply["output"], ("output",))
    provenance, error = reply.get("provenance"), reply.get("error")
    if isinstance(provenance, dict):
        for name, value in others(provenance, ("model", "timestamp")).items():
            check.well_formed(rules.JSON_INVALID, value, ("provenance", str(name)))
    if isinstance(error, dict) and "data" in error:
        check.well_formed(rules.JSON_INVALID, error["data"], ("error", "data"))


def _content(check: Checker, reply: JsonObject) -> dict[str, JsonObject]:
    """Checks all but the output, and gives the parts that are sound."""
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
                check.broken(missing[name], (name,), "is missing")
        elif name in _MEMBERS[kind]:
            own = Checker("reply", _ORDER)
            if own.an_object(VALUE_RULES[name], reply[name], (name,)):
                part(own, reply[name], (name,))
            found = own.problems()
            check.take(found)
            if not found:
                sound[name] = reply[name]
    return sound


def _output(check: Checker, reply: JsonObject, run_kind: str | None) -> None:
    rule, place = rules.OUTPUT_VALUE, ("output",)
    if reply["kind"] != words.RESULT:
        return
    if "output" not in reply:
        check.broken(rule, place, "is missing")
    elif check.well_formed(rule, reply["output"], place):
        check.at_most(rule, reply["output"], place, words.MAX_OUTPUT_BYTES)
        if run_kind == words.INVOKE:
            check.an_object(rule, reply["output"], place)
