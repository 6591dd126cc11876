"""Settings that are lists of tables: their columns, their texts, and what is wrong with a list.

The text of such a setting is a JSON array of objects; in a policy file it is an array of tables.
Numbers are exact decimals in both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from streams.errors import SettingsError

Table = Mapping[str, Any]
TableProblem = tuple[str, str, str]
"""Rule, JSON Pointer below the list, and message."""
MAX_DIGITS = 15


class Column(NamedTuple):
    """A member of each table.

    kind: `whole number`, `decimal`, `true or false`, `text`, or `texts`: a list of them.
    low, high: bounds of a number, of the length of a text, or of the length of a list.
    choices: the only texts allowed, if any.  pattern: what a whole text matches, with its meaning.
    """

    name: str
    kind: str
    low: int = 0
    high: int = 1_000_000_000
    choices: tuple[str, ...] = ()
    required: bool = True
    pattern: tuple[str, str] | None = None


class Columns(NamedTuple):
    """The columns of a list of tables, and the check of the list as a whole.

    high: the most tables.  check: yields what is wrong with a list whose tables are right.
    """

    columns: tuple[Column, ...]
    high: int = 100
    check: Callable[[Sequence[Table]], Iterator[TableProblem]] = lambda tables: iter(())

    def problems(self, value: Any) -> list[TableProblem]:
        """Return what is wrong with a value."""
        if not isinstance(value, list) or not all(isinstance(table, dict) for table in value):
            return [("member_type", "", "is a list of tables")]
        if len(value) > self.high:
            return [("number_range", "", f"has at most {self.high} tables")]
        problems = [
            (rule, f"/{number}{pointer}", message)
            for number, table in enumerate(value)
            for rule, pointer, message in self._of_table(table)
        ]
        return problems or list(self.check(value))

    def _of_table(self, table: Table) -> Iterator[TableProblem]:
        known = {column.name: column for column in self.columns}
        for name in table:
            if name not in known:
                yield "member_unknown", f"/{name}", f"is one of {', '.join(known)}"
        for name, column in known.items():
            if name in table:
                for rule, pointer, message in column_problems(column, table[name]):
                    yield rule, f"/{name}{pointer}", message
            elif column.required:
                yield "member_missing", f"/{name}", "is required"


def column_problems(column: Column, value: Any) -> Iterator[TableProblem]:
    """Yield what is wrong with one value."""
    match column.kind:
        case "true or false":
            if type(value) is not bool:
                yield "member_type", "", "is true or false"
        case "whole number" | "decimal":
            yield from _number_problems(column, value)
        case "texts":
            if not isinstance(value, list):
                yield "member_type", "", "is a list of texts"
            elif not column.low <= len(value) <= column.high:
                yield "number_range", "", f"has {column.low} to {column.high} texts"
            else:
                for number, text in enumerate(value):
                    if type(text) is not str:
                        yield "member_type", f"/{number}", "is a text"
        case _:
            yield from _text_problems(column, value)


def _number_problems(column: Column, value: Any) -> Iterator[TableProblem]:
    whole = column.kind == "whole number"
    if type(value) not in ((int,) if whole else (int, Decimal)):
        yield "member_type", "", "is a whole number" if whole else "is a number"
        return
    number = Decimal(value)
    if not number.is_finite() or not column.low <= number <= column.high:
        yield "number_range", "", f"is {column.low} to {column.high}"
    elif len(number.normalize().as_tuple().digits) > MAX_DIGITS:
        yield "number_precision", "", f"has at most {MAX_DIGITS} digits"


def _text_problems(column: Column, value: Any) -> Iterator[TableProblem]:
    if type(value) is not str:
        yield "member_type", "", "is a text"
    elif column.choices and value not in column.choices:
        yield "value_unknown", "", f"is one of {', '.join(column.choices)}"
    elif column.pattern is not None and not re.fullmatch(column.pattern[0], value):
        yield "text_invalid", "", f"is {column.pattern[1]}"
    elif not column.choices and not column.low <= len(value) <= column.high:
        yield "text_invalid", "", f"has {column.low} to {column.high} characters"


def tables_text(tables: Sequence[Table]) -> str:
    """Return the text of a list of tables, the same for equal lists."""
    return json.dumps(tables, sort_keys=True, separators=(",", ":"), default=_json_number)


def _json_number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def tables_of(text: str) -> list[dict[str, Any]]:
    """Return the tables of a text.  Raises ValueError where it is no JSON."""
    tables: list[dict[str, Any]] = json.loads(text, parse_float=_parse_number)
    return tables


def _parse_number(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal("NaN")


def check_tables(env: str, columns: Columns, value: Any) -> str:
    """Return the text of a list of tables in its one spelling.  Raises SettingsError."""
    if type(value) is not str:
        raise SettingsError(f"{env} is a text, not {value!r}")
    try:
        tables = tables_of(value)
    except (ValueError, RecursionError) as exc:
        raise SettingsError(f"{env} is a JSON array of objects: {exc}") from exc
    for rule, pointer, message in columns.problems(tables):
        raise SettingsError(f"{env}: {rule} at {pointer or 'the top'}: {message}")
    return tables_text(tables)
