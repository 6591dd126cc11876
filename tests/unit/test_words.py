"""Names are the field's terms, and docstrings are sentences."""

from __future__ import annotations

import pytest

from tests.words import PRODUCT, ROOT, check, violations


def test_the_product_keeps_the_rules_for_names_and_docstrings() -> None:
    assert list(check(ROOT / package for package in PRODUCT)) == []


def test_the_tests_keep_the_rules_for_names() -> None:
    assert [line for line in check([ROOT / "tests"]) if "docstring" not in line] == []


@pytest.mark.parametrize(
    ("source", "line", "description"),
    [
        ("def f() -> None:\n    found = 1", 2, "variable found"),
        ("def f(told: int) -> None: ...", 1, "variable told"),
        ("for shown in ():\n    pass", 1, "variable shown"),
        ("class Scene: ...", 1, "definition of Scene"),
        ("class Table:\n    def found(self) -> None: ...", 2, "definition of found"),
        (
            'def f() -> None:\n    """Of a record."""',
            2,
            "docstring is no sentence that begins with a verb: Of a record.",
        ),
        (
            'def f() -> None:\n    """The id of a schema."""',
            2,
            "docstring is no sentence that begins with a verb: The id of a schema.",
        ),
        (
            'def f(at: int) -> None:\n    """at: milliseconds."""',
            2,
            "docstring begins with a parameter: at: milliseconds.",
        ),
        (
            '"""What a module holds."""',
            1,
            "docstring is no sentence that begins with a verb: What a module holds.",
        ),
    ],
)
def test_a_seeded_violation_is_reported(source: str, line: int, description: str) -> None:
    assert list(violations(source)) == [(line, description)]


@pytest.mark.parametrize(
    "source",
    [
        'def f() -> None:\n    """Return the id of a schema."""',
        'class Table:\n    """The rows of a table."""',
        '"""The engine: one task per partition."""',
        "rows = 1",
        "row.found = 1",
    ],
)
def test_what_keeps_the_rules_is_not_reported(source: str) -> None:
    assert list(violations(source)) == []
