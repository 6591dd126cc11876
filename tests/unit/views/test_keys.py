from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streams.views.keys import after, key, texts_in

TEXT = st.text(st.characters(codec="utf-8", max_codepoint=0x2FFF), max_size=4)
NUMBER = st.integers(-(2**63), 2**63 - 1)
TUPLES = st.tuples(TEXT, NUMBER, TEXT)


@given(TUPLES, TUPLES)
def test_keys_sort_as_their_tuples(one: tuple[str, int, str], other: tuple[str, int, str]) -> None:
    assert (key(*one) < key(*other)) == (one < other)
    assert (key(*one) == key(*other)) == (one == other)


@given(TEXT, TEXT)
def test_a_key_is_a_prefix_only_of_keys_that_begin_with_its_parts(one: str, other: str) -> None:
    assert key(other, "rest").startswith(key(one)) == (one == other)


@given(TEXT, TEXT, TEXT)
def test_what_comes_after_a_key_is_beyond_all_that_begin_with_it(
    one: str, suffix: str, other: str
) -> None:
    assert key(one, suffix) < after(key(one))
    if other > one:
        assert key(other) > after(key(one))


@given(st.lists(st.text(alphabet="a\0\1\xffü/")))
def test_texts_are_read_back(texts: list[str]) -> None:
    assert texts_in(key(*texts)) == texts
