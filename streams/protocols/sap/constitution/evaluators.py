"""The evaluators: each checks one property of a payload or an output, with its parameters.

Numbers of a budget are compared as the decimals of their JSON spelling.

Source: SAP guide, 3.3 and 3.4.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from schemas.decimals import dec, format_plain, total
from schemas.json_schema import validator
from schemas.json_schema.errors import NotTaken
from schemas.json_schema.patterns import compiled
from streams.protocols.sap.constitution.checks import (
    CACHED,
    FAIL,
    FINAL,
    PASS,
    TASK,
    UNCHECKED,
    CheckResult,
    Evaluator,
    Params,
    Subject,
    worse_status,
)
from streams.protocols.sap.constitution.pii import (
    holds_term,
    is_card_number,
    kinds_in,
    redacted_pointer,
)
from streams.protocols.sap.constitution.texts import Path, folded, leaves, texts

_WHOLE = re.compile(r"\d{1,15}")
_AMOUNT = re.compile(r"\d{1,15}(?:\.\d{1,9})?")


def read_whole(value: Any) -> int:
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    if type(value) is int and 0 <= value < 10**15:
        return value
    raise ValueError("is a whole number, 0 or more")


def read_amount(value: Any) -> Decimal:
    if isinstance(value, str) and _AMOUNT.fullmatch(value):
        return Decimal(value)
    if type(value) in (int, float) and math.isfinite(value) and 0 <= value < 10**15:
        return dec(value)
    raise ValueError("is a number, 0 or more")


def read_text(value: Any) -> str:
    if isinstance(value, str) and folded(value):
        return value
    raise ValueError("is a text that is not blank")


def read_texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(map(read_text, value))
    raise ValueError("is a list of texts that are not blank")


MAX_POINTERS = 8
"""Maximum number of JSON Pointers in the notes of a check."""


def _pii_pointers(subject: Subject) -> Iterator[str]:
    for path, value, _ in leaves(subject.value):
        if isinstance(value, str):
            kinds = kinds_in(value)
        else:
            kinds = ["card"] if is_card_number(value) else []
        for kind in kinds:
            yield f"{kind} at {redacted_pointer(path, subject.denylist)}"


def check_no_pii(subject: Subject, params: Params) -> CheckResult:
    pointers = list(dict.fromkeys(_first_pointers(_pii_pointers(subject))))
    if not pointers:
        return CheckResult(PASS, "none found")
    return CheckResult(FAIL, ", ".join(pointers))


def _first_pointers(pointers: Iterator[str]) -> Iterator[str]:
    for count, pointer in enumerate(pointers):
        if count == MAX_POINTERS:
            yield "and more"
            return
        yield pointer


MIN_CITATIONS = 1


def check_citations(subject: Subject, params: Params) -> CheckResult:
    minimum: int = params.get("min", MIN_CITATIONS)
    count = sum(isinstance(text, str) and bool(folded(text)) for text in subject.citations)
    return (
        CheckResult(PASS, f"{count} cited ≥ {minimum} required")
        if count >= minimum
        else CheckResult(FAIL, f"{count} cited < {minimum} required")
    )


FORMAT, SCHEMA = "contract:format", "contract:schema"
_TEXT_FORMATS = ("markdown", "text")
_NO_OUTPUT = CheckResult(FAIL, "no output")


def contract_results(
    contract: Any, output: Any, denylist: Sequence[str] = ()
) -> dict[str, CheckResult]:
    """Return results by the name of the check; a contract without anything checkable has none."""
    if not isinstance(contract, dict):
        return {}
    results = {FORMAT: _check_format(contract.get("format"), output)}
    if contract.get("schema") is not None:
        schema = contract["schema"]
        results[SCHEMA] = _NO_OUTPUT if output is None else _check_schema(schema, output, denylist)
    return {name: result for name, result in results.items() if result is not None}


def _check_format(name: Any, output: Any) -> CheckResult | None:
    if name not in ("json", *_TEXT_FORMATS):
        return None
    if output is None:
        return _NO_OUTPUT
    if name in _TEXT_FORMATS and not isinstance(output, str):
        return CheckResult(FAIL, f"{name} must be a string")
    return CheckResult(PASS, name)


def _check_schema(schema: Any, output: Any, denylist: Sequence[str]) -> CheckResult:
    try:
        violation = validator.broken_at(schema, output)
    except NotTaken as exc:
        at = "" if exc.path is None else f" (at {_redacted(exc.path, denylist)})"
        return CheckResult(UNCHECKED, f"{exc}{at}")
    if violation is None:
        return CheckResult(PASS, "valid")
    keyword, steps = violation
    return CheckResult(FAIL, f"{keyword} at {_redacted(steps, denylist)}")


def _redacted(steps: Iterable[str | int], denylist: Sequence[str]) -> str:
    path: Path = None
    for step in steps:
        path = (path, step)
    return redacted_pointer(path, denylist)


def check_contract(subject: Subject, params: Params) -> CheckResult | None:
    if subject.phase == TASK:
        return None
    results = contract_results(subject.contract, subject.value, subject.denylist)
    if not results:
        return CheckResult(UNCHECKED, "the task has no contract that can be checked")
    return _join(results)


def _join(results: Mapping[str, CheckResult]) -> CheckResult:
    """Return one result of several by name, with the worst of their statuses."""
    status = PASS
    for result in results.values():
        status = worse_status(status, result.status)
    return CheckResult(status, ", ".join(f"{name} {one.notes}" for name, one in results.items()))


TOKENS, SECONDS = "tokens", "seconds"
_PARTS_OF_TOKENS = ("tokensIn", "tokensOut")
_DURATIONS_MS = ("latencyMs", "durationMs")


def number(value: Any) -> Decimal | None:
    """Return a JSON number as the decimal of its spelling, None for anything else."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return dec(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def usage_of(name: str, metrics: Mapping[str, Any]) -> Decimal | None:
    """Return the usage of one member of a budget; None if the metrics do not have it."""
    amount = number(metrics.get(name))
    if amount is not None:
        return amount
    if name == TOKENS:
        parts = [part for key in _PARTS_OF_TOKENS if (part := number(metrics.get(key))) is not None]
        return total(parts[0], parts[1] if parts[1:] else Decimal(0)) if parts else None
    if name == SECONDS:
        for key in _DURATIONS_MS:
            duration = number(metrics.get(key))
            if duration is not None:
                return duration.scaleb(-3)
    return None


def compare_budget(name: str, allowed: Decimal, subject: Subject) -> CheckResult | None:
    """Return None where usage is not known yet."""
    spent = Decimal(0) if subject.phase == CACHED else usage_of(name, subject.metrics)
    if spent is None:
        no_metric = CheckResult(UNCHECKED, f"no metric says how many {name} were used")
        return no_metric if subject.phase == FINAL else None
    if spent > allowed:
        return CheckResult(FAIL, f"{format_plain(spent)} used > {format_plain(allowed)} allowed")
    return CheckResult(PASS, f"{format_plain(spent)} used ≤ {format_plain(allowed)} allowed")


def budget_members(budget: Any) -> dict[str, Decimal]:
    """Return the numeric members of a budget, in order."""
    if not isinstance(budget, dict):
        return {}
    return {name: amount for name in _sort(budget) if (amount := number(budget[name])) is not None}


def _sort(names: Iterable[str]) -> list[str]:
    """Return tokens, seconds, then the others by code point."""
    return sorted(names, key=lambda name: (name != TOKENS, name != SECONDS, name))


def check_budget(subject: Subject, params: Params) -> CheckResult | None:
    results = {
        name: result
        for name in _sort(params)
        if (result := compare_budget(name, params[name], subject)) is not None
    }
    if not results:
        return None
    return _join(results)


def _terms_of(subject: Subject, params: Params) -> list[str]:
    """Return the folded terms: those of the constraint, else those of the constitution."""
    if "term" in params:
        return [folded(params["term"])]
    return [folded(term) for term in params.get("terms", subject.denylist)]


def check_denylist(subject: Subject, params: Params) -> CheckResult:
    terms = _terms_of(subject, params)
    if not terms:
        return CheckResult(UNCHECKED, "the list of terms is empty")
    for path, value in texts(subject.value):
        if holds_term(value, terms):
            pointer = redacted_pointer(path, subject.denylist, lambda name: holds_term(name, terms))
            return CheckResult(FAIL, f"denylisted term at {pointer}")
    return CheckResult(PASS, "none found")


def read_pattern(value: object) -> str:
    """Read the parameter; the file's is compiled when it is read."""
    pattern = read_text(value)
    compiled(pattern)
    return pattern


def forbid_pattern(subject: Subject, params: Params) -> CheckResult:
    match = _first_match(subject, params)
    if match is None:
        return CheckResult(PASS, "the pattern is nowhere")
    return CheckResult(FAIL, f"forbidden pattern at {match}")


def require_pattern(subject: Subject, params: Params) -> CheckResult:
    match = _first_match(subject, params)
    if match is None:
        return CheckResult(FAIL, "the required pattern is nowhere")
    return CheckResult(PASS, f"required pattern at {match}")


def _first_match(subject: Subject, params: Params) -> str | None:
    """Return the redacted pointer of the first text that contains the pattern."""
    search = compiled(params["pattern"]).search
    for path, value in texts(subject.value):
        if search(value):
            return redacted_pointer(path, subject.denylist, lambda name: search(name) is not None)
    return None


_BUDGET = {TOKENS: read_amount, SECONDS: read_amount}
_PATTERN = {"pattern": read_pattern}
EVALUATORS: Mapping[str, Evaluator] = {
    "no_pii": Evaluator(check_no_pii),
    "citations": Evaluator(check_citations, {"min": read_whole}),
    "contract": Evaluator(check_contract),
    "budget": Evaluator(check_budget, _BUDGET, frozenset(_BUDGET), others=read_amount),
    "denylist": Evaluator(check_denylist, {"term": read_text, "terms": read_texts}),
    "forbid_pattern": Evaluator(forbid_pattern, _PATTERN, frozenset(_PATTERN)),
    "require_pattern": Evaluator(require_pattern, _PATTERN, frozenset(_PATTERN)),
}
"""The evaluators by their names in a constitution."""
