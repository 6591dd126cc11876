"""The results of runs: hashes, comparable numbers, results and errors (Summit guide, 1, 2, 3).

A number is compared as the decimal of its shortest spelling (Summit guide, 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from typing import Any

from schemas.canonical import canonical_json, sha256_hex
from schemas.decimals import dec, format_plain
from schemas.formats import parse_ms
from schemas.objects import ABSENT
from schemas.summit import rules, words

JsonObject = dict[str, Any]


def json_hash(value: Any) -> str:
    """Return the SHA-256, lower-case hex, of a JSON value: inputHash and outputHash.

    Raises ValueError for a value without canonical JSON.
    """
    return sha256_hex(canonical_json(value))


def call_hash(call: JsonObject) -> str:
    """Return the hash of caller, method and params, as sent."""
    return json_hash({n: call[n] for n in ("caller", "method", "params") if n in call})


def reply_hash(reply: JsonObject) -> str:
    """Return the hash of a whole reply; an empty list of checks counts as absent, as in Avro."""
    verification = reply.get("verification")
    if isinstance(verification, dict) and verification.get("checks") == []:
        reply = {**reply, "verification": _without(verification, "checks")}
    return json_hash(reply)


def manifest_hash(manifest: JsonObject) -> str:
    """Return the hash of a whole manifest, tool schemas under `arguments`.

    Empty tools and resources count as absent.
    """
    spec = manifest.get("spec")
    if isinstance(spec, dict):
        empty = [
            name for name, none in (("tools", []), ("resources", {})) if spec.get(name) == none
        ]
        manifest = {**manifest, "spec": _without(spec, *empty)}
    return json_hash(manifest)


def _without(value: JsonObject, *names: str) -> JsonObject:
    return {name: member for name, member in value.items() if name not in names}


_EXACT = Context(prec=400, rounding=ROUND_HALF_EVEN)
_NINE_PLACES = Decimal("1e-9")


def money(usd: float | Decimal) -> Decimal:
    """Round an amount half-even to 9 places, for comparison."""
    exact = usd if isinstance(usd, Decimal) else dec(usd)
    return exact.quantize(_NINE_PLACES, context=_EXACT)


def money_text(usd: float | Decimal) -> str:
    """Return an amount with exactly 9 decimals and without an exponent."""
    return format(money(usd), "f")


def sum_of_money(*amounts: Decimal) -> Decimal:
    """Add amounts exactly."""
    total = Decimal(0)
    for amount in amounts:
        total = _EXACT.add(total, amount)
    return total


def rounded_usd(usd: float | Decimal) -> float:
    """Return an amount as responses show it: rounded half-even to 9 places, `0` for 0.0."""
    number = float(money(usd))
    return int(number) if number.is_integer() else number


def usd_text(usd: float | Decimal) -> str:
    """Return an amount as people read it: to 9 places, without an exponent or zeros at the end."""
    return format_plain(money(usd))


def rounded_money(amounts: Mapping[str, Any]) -> JsonObject:
    """Return metrics or figures with each of their amounts as responses show it."""
    return {
        name: rounded_usd(value) if name in _AMOUNTS and value is not None else value
        for name, value in amounts.items()
    }


_AMOUNTS = ("cost_usd", "usd")
"""The members of metrics and figures that are amounts of money."""


def effective_metrics(reply: Mapping[str, Any] | None, row: Mapping[str, Any] | None) -> JsonObject:
    """Return for each member the larger of the values in a reply and in the row, 0 without any.

    latency_ms is the reply's, else the row's; it is left out if neither has one.
    """
    reported, recorded = reply or {}, row or {}
    result: JsonObject = {
        name: max(reported.get(name) or 0, recorded.get(name) or 0)
        for name in ("tokens", "cost_usd")
    }
    result["tokens"] = int(result["tokens"])
    latency = reported.get("latency_ms")
    if latency is None:
        latency = recorded.get("latency_ms")
    return result if latency is None else {**result, "latency_ms": latency}


def has_budget(budget: Mapping[str, Any] | None) -> bool:
    """Return whether a budget limits cost or tokens; `seconds` alone is a timeout."""
    return budget is not None and any(budget.get(name) is not None for name in ("usd", "tokens"))


def broken_budget(budget: Mapping[str, Any] | None, metrics: Mapping[str, Any]) -> str | None:
    """Return the rule of the first budget that effective metrics exceed, else None.

    It is `budget.usd` or `budget.tokens`; metrics that equal the budget do not exceed it.
    """
    if budget is None:
        return None
    usd, tokens = budget.get("usd"), budget.get("tokens")
    if usd is not None and money(metrics["cost_usd"]) > money(usd):
        return rules.BUDGET_USD.code
    if tokens is not None and metrics["tokens"] > tokens:
        return rules.BUDGET_TOKENS.code
    return None


def broken_tree_budget(budget: Mapping[str, Any] | None, usd: Decimal, tokens: int) -> str | None:
    """Return the rule of the first budget that the totals of a run's tree exceed, else None.

    usd: dollars, rounded to 9 places run by run.  It is `budget.tree_usd` or `budget.tree_tokens`.
    """
    if budget is None:
        return None
    if budget.get("usd") is not None and usd > money(budget["usd"]):
        return rules.BUDGET_TREE_USD.code
    if budget.get("tokens") is not None and tokens > budget["tokens"]:
        return rules.BUDGET_TREE_TOKENS.code
    return None


def timeout_ms(budget: Mapping[str, Any] | None, default_s: float) -> int:
    """Return the budget's seconds, else the default, in whole milliseconds, rounded up."""
    seconds = budget.get("seconds") if budget else None
    exact = dec(default_s if seconds is None else seconds) * 1000
    return int(exact.to_integral_value(rounding=ROUND_CEILING))


def strictest(*statuses: str | None) -> str | None:
    """Return the strictest of the statuses of verifications; None if there is none."""
    present = [status for status in statuses if status is not None]
    return max(present, key=words.VERIFICATION_STATUSES.index) if present else None


def effective_status(verification: Mapping[str, Any]) -> str:
    """Return the status of a valid verification.

    It is the claimed one, or `failed` if one of the checks did not pass.
    """
    passed = all(check["passed"] for check in verification.get("checks") or ())
    return str(verification["status"]) if passed else words.FAILED


def row_verification(verification: Mapping[str, Any]) -> JsonObject:
    """Return a verification as a run's row stores it: the effective and the claimed status."""
    status, claimed = effective_status(verification), verification["status"]
    return {**verification, "status": status, "claimedStatus": claimed}


_MEANINGS = {rule.code: rule.meaning for rule in rules.ALL}
_SCHEMA_RULES = (rules.INPUTS_SCHEMA.code, rules.OUTPUT_SCHEMA.code)


def run_error(
    rule: str,
    *,
    path: str | None = None,
    errors: Sequence[JsonObject] | None = None,
    agent_error: JsonObject | None = None,
    origin_run: str | None = None,
) -> JsonObject:
    """Return the RunError of a run that a rule ended.

    rule: one of F or B, of a timer, or `cancel.accepted`.  errors: of a schema.  agent_error: the
    RunError that the agent sent.  origin_run: of a tree, the run that broke the budget.
    """
    data: JsonObject = {"rule": rule}
    if origin_run is not None:
        data["originRunId"] = origin_run
    if path is not None:
        data["path"] = path
    if errors:
        data["errors"] = [dict(error) for error in errors]
    if agent_error is not None:
        data["agentError"] = agent_error
    cancelled = rule == rules.CANCEL_ACCEPTED.code
    code = rules.CANCELLED if cancelled else rules.ENDS[rule].code
    return {"code": code, "message": rule_message(rule, errors), "data": data}


def rule_message(rule: str, errors: Sequence[JsonObject] | None = None) -> str:
    """Return `<rule>: ` and the rule's phrase, or the first error of a schema."""
    if errors and rule in _SCHEMA_RULES:
        return schema_message(rule, errors)
    return f"{rule}: {_MEANINGS[rule]}"


def schema_message(rule: str, errors: Sequence[JsonObject]) -> str:
    """Return `<rule>: <path>: <keyword>` for the first of the errors."""
    return f"{rule}: {errors[0]['path']}: {errors[0]['keyword']}"


def call_result(run: JsonObject, output: Any = ABSENT) -> JsonObject:
    """Return the result of `agent.invoke` or `tool.call` for a run that has ended.

    run: the JSON form of its row.  output: that of a completed run.
    """
    return (run_result if run["kind"] == words.INVOKE else tool_result)(run, output)


def run_result(run: JsonObject, output: Any = ABSENT) -> JsonObject:
    """Return the RunResult of a run that has ended; parameters as in `call_result`."""
    completed = run["state"] == words.COMPLETED
    result: JsonObject = {"status": run["state"]}
    if completed:
        result["output"] = output
    metrics = rounded_money({name: run["metrics"][name] for name in ("tokens", "cost_usd")})
    result["metrics"] = {**metrics, "latency_ms": _latency(run)}
    result["provenance"] = run.get("provenance") or {
        "model": words.UNKNOWN_MODEL,
        "timestamp": run["finishedAt"],
    }
    if not completed:
        result["error"] = run["error"]
    elif (verification := _result_verification(run)) is not None:
        result["verification"] = shown_verification(verification)
    return result


def _result_verification(run: JsonObject) -> JsonObject | None:
    """Return the agent's own verification; of a run that the service had judged, the critic's.

    The status of the latter is the stricter of both.
    """
    judge = run.get("judge")
    if run.get("judgeRunId") is None or judge is None:
        return run.get("verification")
    return {**judge["verification"], "status": run["verificationStatus"]}


def tool_result(run: JsonObject, output: Any = ABSENT) -> JsonObject:
    """Return the ToolResult of a tool run that has ended; parameters as in `call_result`."""
    if run["state"] == words.COMPLETED:
        return {"id": run["toolCallId"], "output": output}
    return {"id": run["toolCallId"], "error": run["error"]}


def shown_verification(verification: JsonObject) -> JsonObject:
    """Return a row's verification for clients: the effective status, without the claimed one."""
    result = {
        name: verification[name]
        for name in ("status", "score")
        if verification.get(name) is not None
    }
    return {**result, "checks": verification["checks"]} if verification.get("checks") else result


def _latency(run: JsonObject) -> Any:
    """Return the agent's latency, else the time from the call's record to the final one, in ms."""
    reported = run["metrics"].get("latency_ms")
    if reported is not None:
        return reported
    created, finished = parse_ms(run["createdAt"]), parse_ms(run["finishedAt"])
    return max(0, (finished or 0) - (created or 0))
