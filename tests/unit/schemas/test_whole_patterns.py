"""Patterns for whole texts mean to RE2 what Python's engine means by them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.json_schema.patterns import NotLinear, WholePattern
from tests.examples import example_count

PATTERNS = [
    r"\d+",
    r"[\d'-]+",
    r"\w+",
    r"[\w'-]+",
    r"a\sb",
    r"[^\s]+",
    r"[]\d]+",
    r"[a[]\w",
    r"\\d",
]


@pytest.mark.parametrize("pattern", PATTERNS)
@given(
    text=st.text(
        st.sampled_from("ab[]\\d'-_ \t\u00a0\u0665\u00e9\u4e2d\u2160\u20ac0\x1c\x85"), max_size=4
    )
)
@settings(max_examples=example_count(100))
def test_the_engines_agree(pattern: str, text: str) -> None:
    matches = re.fullmatch(pattern, text) is not None
    assert (WholePattern(pattern).groups(text) is not None) == matches


@pytest.mark.parametrize("pattern", [r"(?=a)b", r"(?!a)b", r"(a)\1"])
def test_what_is_not_linear_is_refused(pattern: str) -> None:
    with pytest.raises(NotLinear):
        WholePattern(pattern)
