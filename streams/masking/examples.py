"""The examples of the rules as texts."""

from __future__ import annotations

import base64
import re
from typing import NamedTuple

from streams.masking.rules import Rule

_MIXED = "q7Rk2Xv9Lm4Tz8Wb3Nc6Hp1Jd5Gf0SyQa4Kw7Zr3Ux8Mt2Vn6Bg9Cj1Pe5Dh0F"
_PLACES = {
    "": _MIXED,
    "A": "Q7RK2XV9LM4TZ8WB3NC6HP1JD5GF0SY",
    "x": "9f2c4e7a1b8d3065",
    "d": "4815162342",
}
_PLACE = re.compile(r"\{(?:(?P<of>[Axd]?)(?P<length>[0-9]+)|b64:(?P<text>[^}]*))\}")


class MaskingExample(NamedTuple):
    """A text, and what masking makes of it."""

    text: str
    masked: str


def _filled(place: re.Match[str]) -> str:
    if place["length"] is None:
        return base64.b64encode(place["text"].encode()).decode()
    characters = _PLACES[place["of"]]
    length = int(place["length"])
    return (characters * (length // len(characters) + 1))[:length]


def filled(template: str) -> str:
    """The template with made-up characters in its places."""
    return _PLACE.sub(_filled, template)


def cases(rule: Rule) -> list[MaskingExample]:
    """All examples of a rule."""
    token = f"[REDACTED:{rule.name}]"
    hits = (
        MaskingExample(
            filled(e.replace("«", "").replace("»", "")), filled(re.sub("«[^»]*»", token, e))
        )
        for e in rule.masked
    )
    return [*hits, *(MaskingExample(filled(example), filled(example)) for example in rule.kept)]
