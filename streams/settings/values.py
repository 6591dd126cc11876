"""What a setting may be: its declaration, and reading its value from text."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from streams.errors import SettingsError

LEAST_KEY = 16
"""Characters of a key: who can read what it has signed can try others on it."""


class Format(NamedTuple):
    """What a text must be beyond a text.  name: with its article, as messages have it."""

    name: str
    accepts: Callable[[str], bool]


class Declaration(NamedTuple):
    """What is known of one setting.

    env: the variable.  kind: `text`, `whole number`, `decimal`, `true or false`, `path`,
    `web address`, `keys` (parted by commas), or what a text of some format is called.
    low, high: bounds of a number, both allowed.  choices: the only texts allowed, if any.
    kafka: the property of the Kafka clients that it sets.  secret: never shown.
    work: part of what the processors see.  format: of a text.
    retention_of: the topic for whose records it gives the hours that they are kept.
    """

    env: str
    kind: str
    default: Any
    meaning: str
    low: int = 0
    high: int = 2**63 - 1
    choices: tuple[str, ...] = ()
    kafka: str | None = None
    secret: bool = False
    work: bool = False
    format: Format | None = None
    retention_of: str | None = None


def known(given: Iterable[str], names: Mapping[str, object]) -> None:
    """Raises SettingsError for a name that is none of these."""
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.0)
            raise SettingsError(f"{name} is not a setting; the nearest is {near[0]}")


def parse(declared: Declaration, text: str) -> Any:
    """The value that a text says; the text itself where it says none."""
    match declared.kind:
        case "whole number":
            return int(text) if re.fullmatch(r"-?[0-9]{1,19}", text) else text
        case "decimal":
            return Decimal(text) if re.fullmatch(r"-?[0-9]{1,9}(\.[0-9]{1,18})?", text) else text
        case "true or false":
            return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
        case "path":
            return Path(text)
    return text


def checked(declared: Declaration, value: Any) -> Any:
    """The value, if the setting may have it.  Raises SettingsError."""
    if value is None and declared.default is None:
        return None
    shown = "its value" if declared.secret else repr(value)
    wanted = declared.format
    if wanted is not None and (type(value) is not str or not wanted.accepts(value)):
        raise SettingsError(f"{declared.env} is {wanted.name}, not {shown}")
    match declared.kind:
        case "whole number":
            if type(value) is not int or not declared.low <= value <= declared.high:
                bounds = f"{declared.low} to {declared.high}"
                raise SettingsError(f"{declared.env} is a whole number, {bounds}, not {shown}")
        case "decimal":
            finite = type(value) is Decimal and value.is_finite()
            if not finite or not declared.low <= value <= declared.high:
                bounds = f"{declared.low} to {declared.high}"
                raise SettingsError(f"{declared.env} is a decimal number, {bounds}, not {shown}")
        case "true or false":
            if type(value) is not bool:
                raise SettingsError(f"{declared.env} is true or false, not {shown}")
        case "path":
            return Path(value)
        case "web address":
            if type(value) is not str or not re.fullmatch(r"https?://[^\s/]+[^\s]*", value):
                raise SettingsError(f"{declared.env} begins with http:// or https://, not {shown}")
        case "keys":
            keys = [part.strip() for part in value.split(",")] if type(value) is str else [""]
            if not all(len(key) >= LEAST_KEY for key in keys):
                raise SettingsError(
                    f"{declared.env} is keys of {LEAST_KEY} characters or more, parted by commas",
                    advice="`openssl rand -hex 32` makes one.",
                )
        case _ if type(value) is not str:
            raise SettingsError(f"{declared.env} is a text, not {shown}")
    if declared.choices and value not in declared.choices:
        choices = ", ".join(declared.choices)
        raise SettingsError(f"{declared.env} is one of {choices}, not {shown}")
    return value
