"""The rules that each member bears on: the examples of the guides show each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pytest

from streams.docs.guides.examples import CASES, cases, objects_naming, play_case
from streams.policy.members import MEMBERS, Form, Member
from streams.protocols.apc.policy_values import GATES
from streams.protocols.commands import COMMANDS

Json = dict[str, Any]
PROTOCOLS = {
    **{side.name: side.name for side in COMMANDS},
    "rtes": "saop",
    "masking": "saop",
}
"""The protocol whose examples show the members of a section."""
PAIRS = [(member, rule) for member in MEMBERS.values() for rule in member.declaration.rules]
WITHOUT_RULE = {
    *(f"apc.arbitration.{name}" for name in ("min_samples", "min_score", "top_k")),
    *(f"apc.budget.{name}" for name in ("cost_usd", "generations", "packets", "tokens")),
    *(f"apc.gates.{metric}" for metric, _ in GATES),
    *(f"apc.priors.{name}" for name in ("alpha", "beta")),
    *(f"rtes.{name}" for name in ("pem_lines", "pem_s")),
    *(f"sap.{name}" for name in ("cache_copy", "cache_scan", "flight_lease_s", "learning")),
    *(f"governance.{name}" for name in ("activators", "approval_hours", "approvals", "publishers")),
    *(f"masking.{name}" for name in ("arguments", "disabled", "rule")),
    "otel.mask",
    "summit.critic",
}
"""Members by which figures, states, texts and times differ, and no rule."""
TABLES: Mapping[str, Sequence[str]] = {
    "apc.window": (
        '[{"from":0,"enabled":false,"cross_use_case":true}]',
        '[{"from":0,"enabled":true,"cross_use_case":true}]',
    ),
}
"""Lists of tables that are far from each other."""
_AGAIN = {"id": "again", "payload": {"config": {"idempotency_key": "nightly-3"}}}
_DAY_MS = 86_400_000
_UNBROKEN = frozenset({"pass", "not_applicable", "not_reached"})
"""The outcomes of the checks of a transfer that name a rule and do not break it."""
_PULSES: tuple[str | Json, ...] = (
    "rtes/sandbox_pulse",
    {"advance_ms": 5000},
    {
        "send": "rtes/sandbox_pulse",
        "with": {"event_id": "00000000-0000-4000-8000-00000000000b"},
    },
    "rtes/sandbox_pulse",
)
_TURNS: tuple[str | Json, ...] = (
    "turn",
    *({"send": "turn", "with": {"turn_index": index}} for index in (2, 3, 1)),
)
_SPANS: tuple[str | Json, ...] = ("tool", {"advance_ms": 5000})
(_TRANSFERS,) = (case["steps"] for case in cases("apc") if case["rule"] == "protocol_decayed")


def case(rule: str, *steps: str | Json, **settings: str) -> Json:
    return {"rule": rule, "steps": steps, "settings": settings}


MORE: Mapping[str, Sequence[Json]] = {
    "apc": (
        case("protocol_decayed", *_TRANSFERS, APC_DECAY_MAX_DRIFT="1"),
        case("protocol_decayed", *_TRANSFERS, APC_DECAY_MIN_SCORE="0"),
        case(
            "proof_empty",
            {"send": "eval", "with": {"proof_bundle": {"evidence_refs": [], "falsifiers": None}}},
        ),
        case("verified", "artifact", "eval"),
        case("evaluated_fail", "artifact", {"send": "eval", "with": {"payload": {"pass": False}}}),
        case(
            "superseded",
            "transfer",
            {"send": "arbitration", "with": {"payload": {"winner_candidate_id": "y"}}},
        ),
        case(
            "outcome_kept",
            {"send": "artifact", "with": {"routing": {"requires_ack": True}}},
            "eval",
        ),
    ),
    "saop": (
        case("turn_late", *_TURNS),
        case("event_duplicate", *_PULSES, RTES_DEDUPE_S="1"),
        case("event_duplicate", *_PULSES, RTES_DEDUPE_IDS="1"),
    ),
    "asap": (
        case(
            "task_timeout",
            {"send": "task_request", "with": {"payload": {"config": None}}},
            {"advance_ms": 700_000},
        ),
        case(
            "same_idempotency_key",
            {"send": "task_request", "with": {**_AGAIN, "id": "first"}},
            {"advance_ms": 2 * _DAY_MS},
            {"send": "task_request", "with": _AGAIN},
        ),
        case("same_envelope", "mcp_tool_call", {"advance_ms": 9 * _DAY_MS}, "mcp_tool_call"),
    ),
    "otel": (
        case("span_duplicate", *_SPANS, "tool", OTEL_DEDUPE_S="1"),
        case("span_conflict", *_SPANS, {"send": "tool", "with": {"name": "another"}}),
    ),
}
"""Examples beside those of the guides: time passes, or another limit is out of the way."""


def protocol_of(member: Member) -> str:
    return PROTOCOLS[member.path.partition(".")[0]]


def values_of(member: Member) -> Sequence[Any]:
    """Return values of a member that are far from each other."""
    declaration = member.declaration
    bounds = (declaration.low, min(declaration.high, 1_000_000), max(declaration.low, 1))
    match member.form:
        case Form.WHOLE:
            return bounds
        case Form.DECIMAL:
            return [Decimal(bound) for bound in bounds]
        case Form.FLAG:
            return (True, False)
        case Form.WORD:
            return declaration.choices
        case Form.WORDS:
            return ("", ",".join(declaration.choices))
        case Form.PREFIXES:
            return ("=devs", "=open")
        case Form.TABLES:
            return TABLES[member.path]
        case Form.FILE:
            name = member.path.removeprefix("sap.").removesuffix("_file")
            return (None, CASES / "sap" / f"{name}.toml")
    return (declaration.default,)


def names(protocol: str, example: Json, rule: str, **changes: Any) -> tuple[bool, bool]:
    """Return whether verdicts name the rule, and lists of warnings, with changed settings."""
    outputs = play_case(protocol, example, changes)
    members = [each for output in outputs for each in objects_naming(output, rule)]
    violations = [each for each in members if each.get("outcome") not in _UNBROKEN]
    deciding = [each for each in violations if rule in (each.get("rule"), each.get("code"))]
    return bool(deciding), len(violations) > len(deciding)


def bears_on(member: Member, rule: str) -> bool:
    """Return whether some value of the member changes which example names the rule."""
    protocol = protocol_of(member)
    reachable = [example for example in cases(protocol) if "unreachable" not in example]
    examples = [*MORE.get(protocol, ()), *reachable]
    for example in sorted(examples, key=lambda example: example["rule"] != rule):
        before = names(protocol, example, rule)
        if any(
            names(protocol, example, rule, **{member.field: value}) != before
            for value in values_of(member)
        ):
            return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize(("member", "rule"), PAIRS, ids=[f"{m.path}-{r}" for m, r in PAIRS])
def test_the_example_of_each_rule_follows_the_members_that_bear_on_it(
    member: Member, rule: str
) -> None:
    assert bears_on(member, rule)


def test_members_name_rules_of_their_protocol() -> None:
    for member, rule in PAIRS:
        (side,) = (side for side in COMMANDS if side.name == protocol_of(member))
        codes = {each.code for rules in side.rules.values() for each in rules}
        assert rule in codes, member.path


def test_every_member_bears_on_a_rule_or_is_known_to_bear_on_none() -> None:
    without = {member.path for member in MEMBERS.values() if not member.declaration.rules}
    assert without == WITHOUT_RULE
