"""The examples of the masking rules, expanded to texts."""

from __future__ import annotations

import base64
import re
from typing import NamedTuple

from streams.masking.rules import Rule

_MIXED = "q7Rk2Xv9Lm4Tz8Wb3Nc6Hp1Jd5Gf0SyQa4Kw7Zr3Ux8Mt2Vn6Bg9Cj1Pe5Dh0F"
_CHARACTERS = {
    "": _MIXED,
    "A": "Q7RK2XV9LM4TZ8WB3NC6HP1JD5GF0SY",
    "x": "9f2c4e7a1b8d3065",
    "d": "4815162342",
}
_PLACEHOLDER = re.compile(r"\{(?:(?P<of>[Axd]?)(?P<length>[0-9]+)|b64:(?P<text>[^}]*))\}")


class MaskingExample(NamedTuple):
    """A text and its masked form."""

    text: str
    masked: str


def _fill_placeholder(placeholder: re.Match[str]) -> str:
    if placeholder["length"] is None:
        return base64.b64encode(placeholder["text"].encode()).decode()
    characters = _CHARACTERS[placeholder["of"]]
    length = int(placeholder["length"])
    return (characters * (length // len(characters) + 1))[:length]


def fill_template(template: str) -> str:
    """Replace the template's placeholders by made-up characters."""
    return _PLACEHOLDER.sub(_fill_placeholder, template)


def examples_of(rule: Rule) -> list[MaskingExample]:
    """Return all examples of a rule."""
    token = f"[REDACTED:{rule.name}]"
    hits = (
        MaskingExample(
            fill_template(e.replace("«", "").replace("»", "")),
            fill_template(re.sub("«[^»]*»", token, e)),
        )
        for e in rule.masked
    )
    return [
        *hits,
        *(
            MaskingExample(fill_template(example), fill_template(example))
            for example in rule.unmasked
        ),
    ]
