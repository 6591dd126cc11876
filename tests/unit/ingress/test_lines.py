from __future__ import annotations

import pytest

from streams.processing.lines import Unparsed, read_values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{"a": 1}', [{"a": 1}]),
        ('{\n  "a": 1\n}\n', [{"a": 1}]),
        ('[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}]),
        ('{"a": 1}\n\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        ("3", [3]),
        ("[]", []),
    ],
)
def test_a_value_a_list_or_one_value_a_line(text: str, values: list[object]) -> None:
    assert read_values(text) == values


def test_a_line_that_is_no_json_stands_in_its_place() -> None:
    first, second, third = read_values(b'{"a": 1}\n{"a": \n{"a": 3}')
    assert first == {"a": 1}
    assert isinstance(second, Unparsed)
    assert third == {"a": 3}


@pytest.mark.parametrize("text", ["", "{", '{"a": 1, "a": 2}', '{\n"a": \n}'])
def test_a_text_that_is_no_json_is_one_such_value(text: str) -> None:
    (only,) = read_values(text)
    assert isinstance(only, Unparsed)


def test_lone_surrogates_are_left_to_the_rules_of_the_envelope() -> None:
    assert read_values('{"a": "\\ud800"}') == [{"a": "\ud800"}]
