"""Reads the parameters of evaluators: values of a TOML file, or texts that a constraint gives."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

from schemas.apc.decimals import dec
from streams.protocols.sap.constitution.texts import folded

_WHOLE = re.compile(r"\d{1,15}")
_AMOUNT = re.compile(r"\d{1,15}(?:\.\d{1,9})?")


def whole(value: Any) -> int:
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    if type(value) is int and 0 <= value < 10**15:
        return value
    raise ValueError("is a whole number, 0 or more")


def amount(value: Any) -> Decimal:
    if isinstance(value, str) and _AMOUNT.fullmatch(value):
        return Decimal(value)
    if type(value) in (int, float) and math.isfinite(value) and 0 <= value < 10**15:
        return dec(value)
    raise ValueError("is a number, 0 or more")


def text(value: Any) -> str:
    if isinstance(value, str) and folded(value):
        return value
    raise ValueError("is a text that is not blank")


def texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(map(text, value))
    raise ValueError("is a list of texts that are not blank")
