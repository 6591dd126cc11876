"""Normal forms that no version of Python changes."""

from __future__ import annotations

import sys
import unicodedata
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import normal_form
from schemas.normal_form import Form, later_ranges, normal

FORMS = get_args(Form)
MARKS = "\u0300\u0316\u0327\u0345\u05b0\u3099"
CYRILLIC_MARK = "\U0001e08f"
"""Assigned, with a class of its own, by Unicode 15."""

later = frozenset(
    chr(code) for first, last in later_ranges() for code in range(ord(first), ord(last) + 1)
)
texts = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from("aAe\u00e9\u1e9b\uac00\u1100\u1161\ufb01" + MARKS + CYRILLIC_MARK),
    )
)


def test_the_table_is_what_unicode_14_leaves_unassigned() -> None:
    """A later Python assigns some of it, and takes nothing back."""
    unassigned = {
        chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) == "Cn"
    }
    assert unassigned <= later
    assert unassigned == later or unicodedata.unidata_version != "14.0.0"


@pytest.mark.parametrize("form", FORMS)
@given(text=texts)
def test_a_python_of_unicode_14_gives_the_same(form: Form, text: str) -> None:
    result = normal(form, text)
    if unicodedata.unidata_version == "14.0.0" or not later & set(text):
        assert result == unicodedata.normalize(form, text)
    assert normal(form, result) == result


@pytest.mark.parametrize("form", FORMS)
@given(text=texts)
def test_what_is_later_is_never_asked_about(form: Form, text: str) -> None:
    """So a Python that knows it does nothing with it."""
    parts: list[str] = []

    def knowing_all(form_name: str, part: str) -> str:
        parts.append(part)
        return unicodedata.normalize(form, part)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(normal_form, "normalize", knowing_all)
        normal(form, text)
    assert not later & set("".join(parts))


def test_a_mark_of_unicode_15_stays_where_it_is() -> None:
    """Python 3.12 and later would put the other mark, of a lower class, before it."""
    text = f"a{CYRILLIC_MARK}\u0316"
    assert normal("NFC", text) == text
    assert normal("NFC", f"e\u0301{CYRILLIC_MARK}e\u0301") == f"\u00e9{CYRILLIC_MARK}\u00e9"
