"""Numbers as people read them: without exponents."""

from __future__ import annotations

import re
from decimal import Decimal

_SMALL_NUMBER = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<number>-?\d+(?:\.\d+)?e-\d+)')
"""A string of JSON, or a number with an exponent below zero."""
_EXPONENT = re.compile(r"e-(?<=\de-)\d+(?=[,\]}\s]|$)")
"""The end of such a number, or of a text that reads like one; found fast, and in few records."""


def number_text(value: float) -> str:
    """Return a number as JSON has it, but without an exponent."""
    text = str(value)
    return f"{Decimal(text):f}" if "e" in text else text


def without_exponents(json_text: str) -> str:
    """Return the same JSON with numbers below 1 written out."""
    if _EXPONENT.search(json_text) is None:
        return json_text
    return _SMALL_NUMBER.sub(_written_out, json_text)


def _written_out(match: re.Match[str]) -> str:
    number = match["number"]
    return match.group() if number is None else f"{Decimal(number):f}"
