"""An evaluation is defined for every JSON value, changes nothing, and tells no secret."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import canonical_json
from schemas.sap.constants import ALIGNMENTS, LEVELS, RISKS, SEVERITIES
from streams.protocols.sap.constitution import combine, evaluate, status_after
from streams.protocols.sap.constitution.checks import PHASES, STATUSES
from tests.examples import example_count
from tests.unit.protocols.sap.constitution.support import SHIPPED, constitution, entry

OWN = constitution(
    '[denylist]\nterms = ["heron"]\n'
    + entry("forbid_pattern", "pattern = 'b+'")
    + "\n"
    + entry("require_pattern", "pattern = 'c'", match='["that"]').replace('"own"', '"second"')
)
TEXTS = [
    "No PII",
    "cite sources",
    "follow the output contract",
    "at most 5 tokens",
    "never mention heron",
    "no banned words",
    "keep it short",
    "this",
    "that",
]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(), max_size=12),
    st.sampled_from(["a@b.eu", "+372 5550 1234", "heron", "4111111111111111", "bbb"]),
)
NAMES = st.one_of(
    st.text(max_size=4),
    st.sampled_from(
        ["type", "$ref", "$schema", "pattern", "properties", "items", "allOf", "principle"]
    ),
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
SCHEMAS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["object", "array", "string", "no type"]),
        "$ref": st.sampled_from(["#", "#/properties/a", "elsewhere", ""]),
        "pattern": st.sampled_from(["a+", "(?=a)", "["]),
        "properties": st.dictionaries(NAMES, JSON, max_size=3),
        "unevaluatedProperties": st.booleans(),
        "uniqueItems": JSON,
    },
)


def _or_any(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return strategy | JSON


CONTEXTS = st.fixed_dictionaries(
    {"pressureLevel": _or_any(st.sampled_from(LEVELS))},
    optional={
        "principles": _or_any(st.lists(st.sampled_from("abc"))),
        "pressure": _or_any(st.dictionaries(st.sampled_from("abcd"), st.floats(0, 100) | JSON)),
        "constraints": _or_any(st.lists(st.sampled_from(TEXTS) | JSON)),
        "riskTolerance": _or_any(st.sampled_from(RISKS)),
    },
)
FINDINGS = st.fixed_dictionaries(
    {"principle": st.sampled_from("abc") | JSON},
    optional={
        "status": _or_any(st.sampled_from(STATUSES)),
        "severity": _or_any(st.sampled_from(SEVERITIES)),
    },
)
GIVEN = st.fixed_dictionaries(
    {
        "policy": _or_any(
            st.fixed_dictionaries(
                {"thresholds": JSON, "extraChecks": st.lists(st.sampled_from(["own", "x"]))}
            )
        ),
        "contract": _or_any(st.fixed_dictionaries({"format": JSON, "schema": SCHEMAS | JSON})),
        "budget": _or_any(st.dictionaries(st.sampled_from(["tokens", "seconds", "x"]), JSON)),
        "payload": JSON,
        "output": JSON,
        "citations": _or_any(st.lists(SCALARS)),
        "checks": _or_any(st.lists(FINDINGS)),
        "violations": _or_any(st.lists(FINDINGS)),
        "metrics": _or_any(
            st.dictionaries(st.sampled_from(["tokensIn", "tokensOut", "latencyMs"]), JSON)
        ),
    }
)


@settings(max_examples=example_count(200), deadline=None)
@given(st.sampled_from(PHASES), _or_any(CONTEXTS), GIVEN, st.sampled_from([SHIPPED, OWN]))
def test_total_and_pure(phase: str, context: Any, arguments: dict[str, Any], by: Any) -> None:
    before = copy.deepcopy((context, arguments))
    evaluation = evaluate(phase, context, constitution=by, **arguments)
    again = evaluate(phase, context, constitution=by, **arguments)
    assert repr(evaluation) == repr(again)
    assert repr((context, arguments)) == repr(before)
    assert evaluation.alignment in ALIGNMENTS
    assert all(check["status"] in STATUSES for check in evaluation.checks)
    assert all(violation["severity"] in SEVERITIES for violation in evaluation.violations)
    names = [check["principle"] for check in evaluation.checks]
    assert len(set(names)) == len(names)
    assert evaluation.steps[-1]["vote"] == evaluation.alignment
    combined = combine(evaluation, arguments["checks"], context)
    assert ALIGNMENTS.index(combined.alignment) >= ALIGNMENTS.index(evaluation.alignment)
    assert status_after("RUNNING", evaluation.alignment)[0] in ("RUNNING", "FAILED")


SECRETS = [
    "ana.maria@example.com",
    "+372 5550 1234",
    "4111111111111111",
    "123-45-6789",
    "RSSMRA85T10A562S",
    "heron",
    "bbbb",
]


@settings(max_examples=example_count(200), deadline=None)
@given(JSON, st.sampled_from(SECRETS), st.lists(st.sampled_from(["name", "text"]), min_size=1))
def test_evidence_never_holds_the_text_that_was_found(
    around: Any, secret: str, places: list[str]
) -> None:
    output: Any = around
    for place in places:
        output = {secret: output} if place == "name" else {"x": secret, "more": [output]}
    context = {
        "pressureLevel": "consulted",
        "constraints": ["No PII", "no banned words", "this", "follow the output contract"],
    }
    contract = {"schema": {"additionalProperties": {"additionalProperties": {"type": "null"}}}}
    for by in (SHIPPED, OWN):
        evaluation = evaluate(
            "final", context, policy={}, constitution=by, output=output, contract=contract
        )
        notes = {check["principle"]: check["notes"] for check in evaluation.checks}
        if secret not in ("heron", "bbbb"):
            assert secret not in repr((notes, evaluation.violations, evaluation.steps))
        elif by is OWN:
            assert secret not in notes["denylist" if secret == "heron" else "constraint:own"]


def test_deep_and_wide_values() -> None:
    deep: Any = "a@b.eu"
    for _ in range(3000):
        deep = [deep]
    context = {"pressureLevel": "deliberated", "constraints": ["No PII"]}
    for value in (deep, [0] * 200_000):
        evaluation = evaluate(
            "final",
            context,
            policy={},
            constitution=SHIPPED,
            output=value,
            contract={"schema": {"type": "array"}},
        )
        assert evaluation.alignment in ALIGNMENTS
    assert canonical_json(evaluation.steps)
