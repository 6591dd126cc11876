"""The shipped constitution says what the guide's table says, written down here a second time."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from typing import Any

import pytest

TEXT = files("topology").joinpath("sap/constitution.toml").read_text("utf-8")
FILE: dict[str, Any] = tomllib.loads(TEXT)
LATE = ["final", "cached"]
OUT = ["partial", *LATE]
TABLE = {
    "no_pii": ("no_pii", "high", "NON_CONSTITUTIONAL", OUT, True),
    "citations_required": ("citations", "medium", "NON_CONSTITUTIONAL", LATE, True),
    "output_contract": ("contract", "high", "NON_CONSTITUTIONAL", LATE, False),
    "max_tokens": ("budget", "high", "ESCALATE", OUT, False),
    "max_seconds": ("budget", "high", "ESCALATE", OUT, False),
    "no_denylisted": ("denylist", "critical", "NON_CONSTITUTIONAL", ["task", *OUT], False),
    "no_mention": ("denylist", "high", "NON_CONSTITUTIONAL", OUT, False),
}
"""By id: evaluator, severity, on_fail, phases, learnable."""


def test_what_is_not_a_constraint() -> None:
    assert FILE["version"] == "1"
    assert FILE["defaults"] == {"threshold": 60, "on_exceed": "check", "severity": "high"}
    assert FILE["principles"] == {
        "systems_over_willpower": {"threshold": 50, "on_exceed": "check"},
        "blueprint_thinking": {"threshold": 40, "on_exceed": "check"},
        "strategic_pause": {"threshold": 30, "on_exceed": "check"},
    }
    keys = "requestId request_id traceId trace_id spanId nonce clientTimestamp"
    assert FILE["essence"] == {"volatile_keys": keys.split()}
    assert FILE["denylist"] == {"terms": []}
    assert FILE["escalation"] == {"capability": "governance.review"}
    tables = {"version", "defaults", "principles", "essence", "denylist", "escalation"}
    assert set(FILE) == tables | {"constraint"}


def test_the_constraints_are_those_of_the_table_in_its_order() -> None:
    members = ("evaluator", "severity", "on_fail", "phases", "learnable")
    constraints = {
        entry["id"]: tuple(entry[name] for name in members) for entry in FILE["constraint"]
    }
    assert constraints == TABLE
    assert list(constraints) == list(TABLE)
    assert all(entry["hard"] is True for entry in FILE["constraint"])
    assert {e["id"]: e["params"] for e in FILE["constraint"] if "params" in e} == {
        "citations_required": {"min": 1}
    }


def known_as(text: str) -> tuple[str, dict[str, str | None]] | None:
    """The first entry that matches a normalised text as a whole, with its parameters."""
    for entry in FILE["constraint"]:
        for expression in entry["match"]:
            if match := re.fullmatch(expression, text):
                return entry["id"], match.groupdict()
    return None


MATCHED = {
    "no pii": ("no_pii", {}),
    "output no personal data": ("no_pii", {}),
    "contains no personally identifiable information": ("no_pii", {}),
    "don't reveal any personal data": ("no_pii", {}),
    "cite constitutional sources": ("citations_required", {}),
    "cite at least one source": ("citations_required", {}),
    "please provide well-known references": ("citations_required", {}),
    "citation is required": ("citations_required", {}),
    "citations required": ("citations_required", {}),
    "must match the output contract": ("output_contract", {}),
    "follow outputcontract": ("output_contract", {}),
    "at most 900 tokens": ("max_tokens", {"tokens": "900"}),
    "maximum of 5 tokens": ("max_tokens", {"tokens": "5"}),
    "max 30 seconds": ("max_seconds", {"seconds": "30"}),
    "no more than 1 seconds": ("max_seconds", {"seconds": "1"}),
    "no banned words": ("no_denylisted", {}),
    "never mention project x. or y": ("no_mention", {"term": "project x. or y"}),
    "do not mention pii": ("no_mention", {"term": "pii"}),
}


@pytest.mark.parametrize("text", MATCHED)
def test_texts_that_an_entry_knows(text: str) -> None:
    assert known_as(text) == MATCHED[text]


@pytest.mark.parametrize(
    "text",
    [
        "no pii please",
        "cite no sources",
        "provide not a single reference",
        "cite",
        "at most 1000000000000000 tokens",
        "at most nine tokens",
        "do not mention ",
        "keep it courteous",
    ],
)
def test_texts_that_no_entry_knows(text: str) -> None:
    assert known_as(text) is None
