"""The rules of the parts of a result (spec 2.5, 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from schemas.rules import Rule
from schemas.summit import rules, words
from schemas.summit.checker import Checker, Place, chars, is_integer, others
from schemas.summit.texts import is_time

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
