"""Declarations of settings, and the parsing and checking of their values."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from streams.errors import SettingsError
from streams.settings.tables import Columns, check_tables

MIN_KEY_CHARS = 16
"""The minimum length of a key: a reader of signed records can try guesses against them."""


class Format(NamedTuple):
    """A constraint on a text.  name: with its article, as messages have it."""

    name: str
    accepts: Callable[[str], bool]


class Declaration(NamedTuple):
    """The declaration of one setting.

    env: the variable.  kind: `text`, `whole number`, `decimal`, `true or false`, `path`,
    `web address`, `keys` and `set of words` (separated by commas), `list of tables`, or the name of
    a text's format.
    low, high: inclusive bounds of a number.  choices: the only texts, or words, allowed, if any.
    kafka: the property of the Kafka clients that it sets.  secret: never shown.
    work: visible to processors.  format: the constraint on a text.
    retention_of: the topic whose retention in hours it gives.
    rules: the codes of the rules that it bears on, which some of its values name and others do not.
    columns: of a list of tables.
    """

    env: str
    kind: str
    default: Any
    meaning: str
    low: int | Decimal = 0
    high: int = 2**63 - 1
    choices: tuple[str, ...] = ()
    kafka: str | None = None
    secret: bool = False
    work: bool = False
    format: Format | None = None
    retention_of: str | None = None
    rules: tuple[str, ...] = ()
    columns: Columns | None = None


def check_names(candidates: Iterable[str], names: Mapping[str, object]) -> None:
    """Raise SettingsError for a name that is not in `names`."""
    for name in candidates:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.0)
            raise SettingsError(f"{name} is not a setting; the nearest is {near[0]}")


def parse(declaration: Declaration, text: str) -> Any:
    """Parse a text by the setting's kind; return the text itself if it does not parse."""
    match declaration.kind:
        case "whole number":
            return int(text) if re.fullmatch(r"-?[0-9]{1,19}", text) else text
        case "decimal":
            return Decimal(text) if re.fullmatch(r"-?[0-9]{1,9}(\.[0-9]{1,18})?", text) else text
        case "true or false":
            return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
        case "path":
            return Path(text)
    return text


def check_value(declaration: Declaration, value: Any) -> Any:
    """Return the value if it is allowed for the setting.  Raises SettingsError."""
    if value is None and declaration.default is None:
        return None
    rendered = "its value" if declaration.secret else repr(value)
    format = declaration.format
    if format is not None and (type(value) is not str or not format.accepts(value)):
        raise SettingsError(f"{declaration.env} is {format.name}, not {rendered}")
    match declaration.kind:
        case "whole number":
            if type(value) is not int or not declaration.low <= value <= declaration.high:
                bounds = f"{declaration.low} to {declaration.high}"
                raise SettingsError(
                    f"{declaration.env} is a whole number, {bounds}, not {rendered}"
                )
        case "decimal":
            finite = type(value) is Decimal and value.is_finite()
            if not finite or not declaration.low <= value <= declaration.high:
                bounds = f"{declaration.low} to {declaration.high}"
                raise SettingsError(
                    f"{declaration.env} is a decimal number, {bounds}, not {rendered}"
                )
        case "true or false":
            if type(value) is not bool:
                raise SettingsError(f"{declaration.env} is true or false, not {rendered}")
        case "path":
            return Path(value)
        case "web address":
            if type(value) is not str or not re.fullmatch(r"https?://[^\s/]+[^\s]*", value):
                raise SettingsError(
                    f"{declaration.env} begins with http:// or https://, not {rendered}"
                )
        case "keys":
            keys = [part.strip() for part in value.split(",")] if type(value) is str else [""]
            if not all(len(key) >= MIN_KEY_CHARS for key in keys):
                raise SettingsError(
                    f"{declaration.env} is keys of {MIN_KEY_CHARS} characters or more,"
                    " parted by commas",
                    advice="`openssl rand -hex 32` makes one.",
                )
        case "set of words":
            return _check_words(declaration, value)
        case "list of tables":
            assert declaration.columns is not None
            return check_tables(declaration.env, declaration.columns, value)
        case _ if type(value) is not str:
            raise SettingsError(f"{declaration.env} is a text, not {rendered}")
    if declaration.choices and value not in declaration.choices:
        choices = ", ".join(declaration.choices)
        raise SettingsError(f"{declaration.env} is one of {choices}, not {rendered}")
    return value


def words_of(text: str) -> frozenset[str]:
    """Return the words of a setting that is a set of words."""
    return frozenset(text.split(",")) if text else frozenset()


def _check_words(declaration: Declaration, value: Any) -> str:
    words = value.split(",") if type(value) is str and value else []
    known = set(words) <= set(declaration.choices)
    if type(value) is not str or not known or len(set(words)) < len(words):
        choices = ", ".join(declaration.choices)
        raise SettingsError(
            f"{declaration.env} is some of {choices}, each once, separated by commas, not {value!r}"
        )
    return value
