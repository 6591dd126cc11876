"""Shape rules that tie members of a packet together (APC guide, 2.1, 2.4, 2.7).

They look at any JSON object: a member of the wrong type is another rule's business.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from schemas.formats import MAX_ID
from schemas.problems import Problem, pointer

ANTI_DRIFT_CHECKS = (
    "strengthens_language_evolution",
    "ci_verifiable",
    "supports_competition",
    "within_current_scope",
    "maps_to_spec_reference",
    "maps_to_concrete_module",
    "aligns_with_core_architecture",
    "phase_appropriate",
)

MAX_USE_CASE = 200
MAX_STRATEGY = 1024
PRIOR_MEMBERS = ("use_case", "strategy", "alpha", "beta", "version")
_DECIMAL = re.compile(r"(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?")

_WITH_FORMULA = ("TASK_IR", "IDEA", "ARTIFACT")  # no set: what is compared may be anything
_FORMULA = "/payload/formula_bundle"
_ODE = f"{_FORMULA}/ode_system"


def relation_problems(packet: dict[str, Any]) -> Iterator[Problem]:
    keys = packet.get("symbolic_keys")
    if isinstance(keys, list):
        yield from _repeated(keys)
    recipients = packet.get("recipients")
    intra = packet.get("channel") == "INTRA_AGENT"
    if intra and isinstance(recipients, list) and len(recipients) > 1:
        message = f"recipients of an INTRA_AGENT packet must be 1, and are {len(recipients)}."
        yield Problem("intra_agent_recipients", "/recipients", message)
    payload = packet.get("payload")
    if isinstance(payload, dict) and "formula_bundle" in payload:
        bundle = payload["formula_bundle"]
        if packet.get("packet_type") in _WITH_FORMULA and isinstance(bundle, dict):
            yield from _formula(bundle)
    metadata = packet.get("metadata")
    if isinstance(metadata, dict):
        yield from _metadata(metadata)


def _repeated(keys: list[Any]) -> Iterator[Problem]:
    seen: set[str] = set()
    for i, key in enumerate(keys):
        if isinstance(key, str):
            if key in seen:
                message = f"symbolic_keys has item {i} a second time."
                yield Problem("array_not_unique", f"/symbolic_keys/{i}", message)
            seen.add(key)


def _formula(bundle: dict[str, Any]) -> Iterator[Problem]:
    if not any(bundle.get(name) for name in ("latex_full", "sympy_str", "ast_json", "ode_system")):
        message = "formula_bundle must have one of latex_full, sympy_str, ast_json and ode_system."
        yield Problem("formula_empty", _FORMULA, message)
    system = bundle.get("ode_system")
    if isinstance(system, dict):
        yield from _ode(system)


def _ode(system: dict[str, Any]) -> Iterator[Problem]:
    variables: Any = system.get("state_variables")
    equations: Any = system.get("equations")
    lists = isinstance(variables, list) and isinstance(equations, list)
    if lists and len(variables) != len(equations):
        message = f"ode_system has {len(equations)} equations for {len(variables)} variables."
        yield Problem("ode_equations", _ODE, message)
    initial = system.get("initial_state")
    if isinstance(variables, list) and isinstance(initial, dict):
        missing = sum(1 for name in variables if isinstance(name, str) and name not in initial)
        if missing:
            message = f"initial_state has no value for {missing} of the state_variables."
            yield Problem("ode_initial_state", _ODE, message)
    start, end = system.get("time_start", 0), system.get("time_end", 50)
    if _number(start) and _number(end) and not end > start:
        message = f"time_end, {end:g}, must be after time_start, {start:g}."
        yield Problem("ode_time", _ODE, message)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _metadata(metadata: dict[str, Any]) -> Iterator[Problem]:
    if "project_id" in metadata:
        value = metadata["project_id"]
        if not isinstance(value, str) or not 0 < len(value) <= MAX_ID:
            yield _value(f"a string of 1 to {MAX_ID} characters", "project_id")
    use_case = metadata.get("use_case", "-")
    if not _text(use_case, MAX_USE_CASE):
        yield _value(f"a string of 1 to {MAX_USE_CASE} characters", "use_case")
    if "prior" in metadata:
        yield from _prior(metadata["prior"])
    if metadata.get("verification", "immediate") not in ("immediate", "deferred"):
        yield _value("'immediate' or 'deferred'", "verification")
    event = metadata.get("coordination_event", "")
    if not isinstance(event, str) or len(event) > MAX_ID:
        yield _value(f"a string of at most {MAX_ID} characters", "coordination_event")
    attempt = metadata.get("attempt_number", 0)
    if not _number(attempt) or not 0 <= attempt < 2**53 or attempt != int(attempt):
        yield _value("an integer from 0 to 2^53 - 1", "attempt_number")
    yield from _anti_drift(metadata.get("anti_drift", {}))
    yield from _usage(metadata.get("usage", {}))


def _usage(usage: Any) -> Iterator[Problem]:
    if not isinstance(usage, dict):
        yield _value("an object", "usage")
        return
    for name, amount in usage.items():
        if name not in ("tokens", "cost_usd"):
            yield _value("absent, being neither tokens nor cost_usd", "usage", name)
        elif not _number(amount) or not 0 <= amount < 2**53:
            yield _value("a number from 0 to 2^53 - 1", "usage", name)
        elif name == "tokens" and amount != int(amount):
            yield _value("a whole number", "usage", name)


def _text(value: Any, max_length: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= max_length


def _prior(prior: Any) -> Iterator[Problem]:
    """Check what an agent had read of a strategy when it chose it."""
    if not isinstance(prior, dict):
        yield _value("an object", "prior")
        return
    for name in PRIOR_MEMBERS:
        if name not in prior:
            yield _value("present", "prior", name)
    for name in prior:
        if name not in PRIOR_MEMBERS:
            yield _value(f"absent, being none of {', '.join(PRIOR_MEMBERS)}", "prior", str(name))
    for name, max_length in (("use_case", MAX_USE_CASE), ("strategy", MAX_STRATEGY)):
        if name in prior and not _text(prior[name], max_length):
            yield _value(f"a string of 1 to {max_length} characters", "prior", name)
    for name in ("alpha", "beta"):
        if name in prior and not _is_positive_decimal(prior[name]):
            yield _value("a decimal above 0, as a string", "prior", name)
    version = prior.get("version", 0)
    if not _number(version) or not 0 <= version < 2**53 or version != int(version):
        yield _value("an integer from 0 to 2^53 - 1", "prior", "version")


def _is_positive_decimal(value: Any) -> bool:
    return isinstance(value, str) and _DECIMAL.fullmatch(value) is not None and float(value) > 0


def _anti_drift(checks: Any) -> Iterator[Problem]:
    if not isinstance(checks, dict):
        yield _value("an object", "anti_drift")
        return
    for name, passed in checks.items():
        if name not in ANTI_DRIFT_CHECKS:
            yield _value("absent, being none of the eight checks", "anti_drift", name)
        elif not isinstance(passed, bool):
            yield _value("a boolean", "anti_drift", name)


def _value(form: str, *place: str) -> Problem:
    path = pointer("metadata", *place)
    return Problem("metadata_value", path, f"metadata.{'.'.join(map(str, place))} must be {form}.")
