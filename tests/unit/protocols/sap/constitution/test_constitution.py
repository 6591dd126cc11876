"""What the shipped constitution says, and that no file is taken that says anything else."""

from __future__ import annotations

import time
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import pytest

from streams.errors import SettingsError
from streams.protocols.sap.constitution import bind, constitution_of, load
from tests.unit.protocols.sap.constitution.support import SHIPPED, constitution, entry

MEANT = {
    "no_pii": [
        "No PII",
        "  no  PII!!",
        "NO PERSONAL DATA.",
        "Include no personally identifiable information",
        "contains no pii",
        "contain no pii",
        "Do not include any PII",
        "Don't reveal personal data;",
        "never output pii",
        "Ｎｏ ＰＩＩ",
        "no\u00a0pii .!;",
    ],
    "citations_required": [
        "Cite constitutional sources",
        "Cite at least one source",
        "please provide references",
        "must include the author's citations",
        "citations required",
        "citation is required",
        "Always give sources",
    ],
    "output_contract": ["Must satisfy the output contract", "follow outputContract"],
    "max_tokens": ["At most 500 tokens", "max 5 tokens", "maximum of 5 tokens"],
    "max_seconds": ["no more than 30 seconds.", "maximum 30 seconds"],
    "no_denylisted": ["No denylisted terms", "no banned words"],
    "no_mention": ["Do not mention Acme Corp.", "never mention the merger"],
}
NOT_MEANT = [
    "",
    "Keep it courteous",
    "No PII, and be brief",
    "include pii",
    "Cite no sources",
    "provide, do not cite sources",
    "cite not sources",
    "at most five tokens",
    "at most 1234567890123456 tokens",
    "do not mention ",
    "no denylisted",
]


@pytest.mark.parametrize(("id", "text"), [(id, t) for id, texts in MEANT.items() for t in texts])
def test_texts_that_are_known(id: str, text: str) -> None:
    matched = SHIPPED.match(text)
    assert matched is not None
    assert matched.constraint.id == id


@pytest.mark.parametrize("text", NOT_MEANT)
def test_texts_that_are_not(text: str) -> None:
    assert SHIPPED.match(text) is None


def test_groups_are_parameters() -> None:
    for text, expected in (
        ("At most 500 tokens", {"tokens": "500"}),
        ("Never mention  ACME   Corp!", {"term": "acme corp"}),
    ):
        matched = SHIPPED.match(text)
        assert matched is not None
        assert matched.params == expected


def test_what_is_shipped() -> None:
    data = (files("topology") / "sap" / "constitution.toml").read_bytes()
    assert SHIPPED.label == f"1@{sha256(data).hexdigest()[:12]}"
    thresholds = {"systems_over_willpower": 50, "blueprint_thinking": 40, "strategic_pause": 30}
    assert {name: SHIPPED.threshold(name) for name in SHIPPED.principles} == thresholds
    assert (SHIPPED.threshold("any other"), SHIPPED.on_exceed("any other")) == (60, "check")
    assert SHIPPED.volatile_keys == (
        "requestId",
        "request_id",
        "traceId",
        "trace_id",
        "spanId",
        "nonce",
        "clientTimestamp",
    )
    assert (SHIPPED.denylist, SHIPPED.escalation) == ((), "governance.review")
    assert SHIPPED.learnable == {"no_pii", "citations_required"}
    assert all(one.hard for one in SHIPPED.constraints)
    assert [
        (one.id, one.evaluator, one.severity, one.on_fail, len(one.phases))
        for one in SHIPPED.constraints
    ] == [
        ("no_pii", "no_pii", "high", "NON_CONSTITUTIONAL", 3),
        ("citations_required", "citations", "medium", "NON_CONSTITUTIONAL", 2),
        ("output_contract", "contract", "high", "NON_CONSTITUTIONAL", 2),
        ("max_tokens", "budget", "high", "ESCALATE", 3),
        ("max_seconds", "budget", "high", "ESCALATE", 3),
        ("no_denylisted", "denylist", "critical", "NON_CONSTITUTIONAL", 4),
        ("no_mention", "denylist", "high", "NON_CONSTITUTIONAL", 3),
    ]


def test_an_empty_file_is_a_constitution_without_constraints() -> None:
    empty = constitution("")
    assert empty.label == "0@e3b0c44298fc"
    assert (empty.constraints, empty.threshold("x"), empty.volatile_keys) == ((), 60, ())


def test_the_first_entry_that_matches_wins() -> None:
    both = constitution(
        entry("no_pii", match='["this.*"]')
        + "\n"
        + entry("citations").replace('id = "own"', 'id = "second"')
    )
    matched = both.match("this")
    assert matched is not None
    assert (matched.constraint.id, matched.constraint.hard) == ("own", False)


def test_principles_take_the_defaults_of_their_file() -> None:
    by = constitution('[defaults]\nthreshold = 7\non_exceed = "escalate"\n[principles.a]\n')
    assert (by.threshold("a"), by.on_exceed("a"), by.threshold("b")) == (7, "escalate", 7)
    assert list(by.principles) == ["a"]


WRONG = {
    "not TOML": ("[", "Invalid"),
    "unknown member": ("colour = 1", "colour is unknown"),
    "unknown table": ("[limits]\na = 1", "limits is unknown"),
    "version": ("version = 1", "version"),
    "threshold": ("[defaults]\nthreshold = '60'", r"\[defaults\]: threshold"),
    "threshold bool": ("[defaults]\nthreshold = true", "threshold"),
    "threshold high": ("[principles.a]\nthreshold = 101", r"\[principles.a\]: threshold"),
    "threshold nan": ("[principles.a]\nthreshold = nan", "threshold"),
    "on_exceed": ("[principles.a]\non_exceed = 'stop'", "on_exceed"),
    "severity": ("[principles.a]\nseverity = 'worst'", "severity"),
    "principle": ("[principles]\na = 1", r"\[principles.a\]"),
    "principle member": ("[principles.a]\nlimit = 1", "limit is unknown"),
    "essence": ("[essence]\nvolatile_keys = 'a'", "volatile_keys"),
    "essence member": ("[essence]\nkeys = []", "keys is unknown"),
    "terms": ("[denylist]\nterms = [1]", "terms"),
    "blank term": ("[denylist]\nterms = [' ']", "terms"),
    "capability": ("[escalation]\ncapability = 'a b'", "capability"),
    "constraint": ("constraint = 1", "constraint"),
    "no id": ("[[constraint]]\nmatch = ['a']\nevaluator = 'no_pii'", "id"),
    "id": ("[[constraint]]\nid = 'a b'", "id"),
    "twice": (entry("no_pii") + "\n" + entry("no_pii"), r"2 \(own\)"),
    "evaluator": (entry("no_such"), r"\(own\): evaluator is one of"),
    "no match": (entry("no_pii", match="[]"), "match"),
    "match text": (entry("no_pii", match="'this'"), "match"),
    "bad regex": (entry("no_pii", match="['(']"), "no regular expression"),
    "big regex": (entry("no_pii", match="['a{1001}']"), "no regular expression"),
    "look-ahead": (entry("no_pii", match="['(?!a)b']"), "no regular expression of RE2"),
    "back reference": (entry("no_pii", match="['(a)\\1']"), "no regular expression of RE2"),
    "hard": (entry("no_pii", hard="1"), "hard"),
    "on_fail": (entry("no_pii", on_fail="'VALID'"), "on_fail"),
    "phases": (entry("no_pii", phases="['end']"), "phases"),
    "no phases": (entry("no_pii", phases="[]"), "phases"),
    "learnable": (entry("no_pii", learnable="'yes'"), "learnable"),
    "entry member": (entry("no_pii", weight="1"), "weight is unknown"),
    "params": (entry("no_pii", "min = 1"), "min is no parameter of no_pii"),
    "min": (entry("citations", "min = -1"), "min"),
    "tokens": (entry("budget", "tokens = 'many'"), "tokens"),
    "no budget": (entry("budget"), "needs seconds or tokens"),
    "no pattern": (entry("forbid_pattern"), "needs pattern"),
    "group": (entry("no_pii", match="['(?P<term>.+)']"), "term is no parameter"),
    "pattern": (entry("require_pattern", "pattern = '(?=a)'"), "linear-time"),
    "terms param": (entry("denylist", "terms = 'a'"), "terms"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_is_wrong_stops_the_service(name: str, tmp_path: Path) -> None:
    text, message = WRONG[name]
    path = tmp_path / "own.toml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        load(tmp_path / "none.toml")


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_bytes(b"\xff")
    with pytest.raises(SettingsError, match="utf-8"):
        load(path)


def test_a_process_reads_a_file_when_it_is_bound(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('version = "a"')
    work = {"SAP_CONSTITUTION": path}
    assert constitution_of(work).label.startswith("a@")
    path.write_text('version = "b"')
    assert constitution_of(work).label.startswith("a@")
    assert bind(path) is constitution_of(work)
    assert constitution_of(work).label.startswith("b@")
    assert constitution_of({"SAP_CONSTITUTION": None}).label == SHIPPED.label


def test_an_expression_is_matched_in_linear_time() -> None:
    """Match a text that takes a backtracking engine exponential time."""
    rules = constitution(entry("no_pii", match="['(a+)+b']"))
    started = time.process_time()
    assert rules.match("a" * 2000 + "c") is None
    assert time.process_time() - started < 1
