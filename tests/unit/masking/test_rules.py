"""Every rule by its own examples, alone, together, and in what they promise of each other."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import re

import pytest

from streams.masking import Masker, count_tokens, has_token
from streams.masking.examples import MaskingExample, examples_of, fill_template
from streams.masking.find import CHAINED, LOOSE
from streams.masking.rules import ALL, Rule, RuleKind
from streams.masking.triggers import is_suspect

MASKER = Masker()
CASES = [
    pytest.param(rule, case, id=f"{rule.name}-{number}")
    for rule in ALL
    for number, case in enumerate(examples_of(rule))
]
ONE_LINE = [
    case
    for rule in ALL
    for case in examples_of(rule)
    if case.text != case.masked and rule.kind is not RuleKind.BLOCK
]


@pytest.mark.parametrize(("rule", "case"), CASES)
def test_an_example_is_masked_as_its_rule_says(rule: Rule, case: MaskingExample) -> None:
    assert MASKER.text(case.text) == case.masked
    assert MASKER.text(case.masked) == case.masked
    assert has_token(MASKER.text(case.text)) is (case.text != case.masked)


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.name)
def test_a_rule_shows_what_it_masks_and_what_it_keeps(rule: Rule) -> None:
    examples = examples_of(rule)
    assert rule.meaning
    assert any(case.text != case.masked for case in examples)
    assert any(case.text == case.masked for case in examples)


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.name)
def test_each_pattern_of_a_rule_is_shown_by_an_example(rule: Rule) -> None:
    texts = [case.text for case in examples_of(rule) if case.text != case.masked]
    assert all(any(re.search(pattern, text) for text in texts) for pattern in rule.patterns)


@pytest.mark.parametrize(("rule", "case"), CASES)
def test_what_is_masked_is_suspected_first(rule: Rule, case: MaskingExample) -> None:
    assert case.text == case.masked or is_suspect(case.text), rule.name


def test_every_pattern_with_a_boundary_begins_with_a_character_known_for_it() -> None:
    texts = [case.text for rule in ALL for case in examples_of(rule) if case.text != case.masked]
    for pattern in LOOSE:
        first_chars = [match[0][0] for text in texts if (match := pattern.exact.search(text))]
        assert first_chars
        assert set(first_chars) <= set(CHAINED)


def test_patterns_with_a_boundary_are_tried_behind_a_replacement() -> None:
    first = [fill_template(f"AKIA{{A16}}{text}") for text in ("AKIA{A16}", "glpat-{20}", "hf_{30}")]
    assert [count_tokens(MASKER.text(text)) for text in first] == [2, 2, 2]
    assert MASKER.text(fill_template("AKIA{A16}") * 500) == "[REDACTED:aws_key]" * 500


@pytest.mark.parametrize("between", [" ", "; ", "\t", " and ", "\n", "\r\n"])
def test_neighbours_are_masked_each_by_itself(between: str) -> None:
    single = [case for case in ONE_LINE if '="' not in case.text and ": " not in case.text]
    for one, two in itertools.permutations(single[:12], 2):
        if MASKER.text(f"{one.text}{between}") == f"{one.masked}{between}":
            assert MASKER.text(f"{one.text}{between}{two.text}").endswith(two.masked)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("password=https://u:pw@h/", "password=[REDACTED:assignment]"),
        (
            "https://{36}:gh@h ghp_{36}",
            "https://[REDACTED:url_credentials]@h [REDACTED:github_token]",
        ),
        ("token=ghp_{36}", "token=[REDACTED:github_token]"),
        ("token=ghp_{36}-and-more", "token=[REDACTED:assignment]"),
        ("token=x.ghp_{36}", "token=[REDACTED:assignment]"),
        ("Bearer ghp_{36}", "Bearer [REDACTED:bearer]"),
        ("Authorization: Bearer ghp_{36}", "Authorization: [REDACTED:authorization]"),
    ],
)
def test_overlapping_matches_become_one(text: str, masked: str) -> None:
    assert MASKER.text(fill_template(text)) == masked


def test_with_a_key_equal_secrets_have_equal_fingerprints() -> None:
    expected = hmac.new(b"k", b"hunter2", hashlib.sha256).hexdigest()[:8]
    token = f"[REDACTED:assignment:{expected}]"
    masker = Masker(b"k")
    assert (
        masker.text("password=hunter2 db_pass='hunter2'") == f"password={token} db_pass='{token}'"
    )
    assert masker.text("password=hunter3") != f"password={token}"
    assert masker.text(f"password={token}") == f"password={token}"
    assert Masker().text(f"password={token}") == f"password={token}"
    assert Masker(b"").text("password=hunter2") == "password=[REDACTED:assignment]"


def test_only_a_token_of_a_rule_counts_as_one() -> None:
    assert has_token("x [REDACTED:jwt:0123abcd] y")
    assert not has_token("[REDACTED:hunter2] [REDACTED:jwt:012] [redacted:jwt] [REDACTED]")
    assert count_tokens("[REDACTED:jwt][REDACTED:bearer]") == 2
    assert MASKER.text("password=[REDACTED:hunter2]") == "password=[REDACTED:assignment]"
