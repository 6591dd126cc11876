"""Detection of personal data and terms of the denylist, which no text of the service may repeat.

A pattern takes the longest match at each position.  A match that touches a letter, a digit or `+`
is part of something longer and does not count.  The patterns need no backtracking beyond one label
of a domain, so that no text takes long.

Source: SAP guide, 3.4.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from streams.protocols.sap.constitution.texts import Path, folded, redacted

_ALONE_BEFORE = r"(?<![^\W_])(?<!\+)"
_ALONE_BEHIND = r"(?![^\W_])(?!\+)"


def _alone(pattern: str) -> re.Pattern[str]:
    """Compile a pattern for its longest matches that touch nothing else; matches may overlap."""
    return re.compile(f"{_ALONE_BEFORE}(?=(?P<all>(?>{pattern})){_ALONE_BEHIND})")


def _any(match: str) -> bool:
    return True


def luhn(digits: str) -> bool:
    """Return whether the Luhn sum is divisible by 10."""
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0


def _is_card(match: str) -> bool:
    return luhn(match.replace(" ", "").replace("-", ""))


def _is_us_number(match: str) -> bool:
    area, group, serial = match.split("-")
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


class Kind(NamedTuple):
    """A kind of personal data.  needs: a text that every match contains, for a fast pre-check."""

    name: str
    needs: re.Pattern[str]
    pattern: re.Pattern[str]
    is_one: Callable[[str], bool] = _any


_AT = re.compile("@")
_PLUS = re.compile(r"\+\d")
_FOUR = re.compile(r"\d{4}")
_CODE = re.compile(r"[A-Z]{2} ?\d{2}")
_LABEL = "[A-Za-z0-9-]++"
KINDS = (
    Kind(
        "email",
        _AT,
        _alone(rf"[A-Za-z0-9._%+-]{{1,64}}+@{_LABEL}(?:\.{_LABEL})*\.[A-Za-z]{{2,24}}"),
    ),
    Kind("phone", _PLUS, _alone(r"\+\d(?:[ .()-]{0,2}\d){7,14}")),
    Kind("phone", _FOUR, _alone(r"\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}")),
    Kind("card", _FOUR, _alone(r"[2-6]\d{12,18}"), _is_card),
    Kind("card", _FOUR, _alone(r"[2-6]\d{3}([ -])\d{4}\2\d{4}\2\d{1,7}"), _is_card),
    Kind("card", _FOUR, _alone(r"[2-6]\d{3}([ -])\d{6}\2\d{5}"), _is_card),
    Kind("national id", _FOUR, _alone(r"\d{3}-\d{2}-\d{4}"), _is_us_number),
    Kind(
        "national id",
        _CODE,
        _alone(r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]"),
    ),
    Kind(
        "national id",
        _CODE,
        _alone(r"[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]"),
    ),
)
_ANY_NEED = re.compile(r"[@\d]")


def kinds_in(text: str) -> list[str]:
    """Return the kinds of personal data in an NFKC text, each once."""
    if not _ANY_NEED.search(text):
        return []
    if not text.isascii():
        text = "".join(str(unicodedata.digit(c)) if c.isdecimal() else c for c in text)
    present = {needs for needs in (_AT, _PLUS, _FOUR, _CODE) if needs.search(text)}
    kinds = (
        kind.name
        for kind in KINDS
        if kind.needs in present
        and any(kind.is_one(match["all"]) for match in kind.pattern.finditer(text))
    )
    return list(dict.fromkeys(kinds)) if present else []


def is_card_number(number: float) -> bool:
    """Return whether a JSON number is a card number."""
    if not -1e19 < number < 1e19 or number != int(number):
        return False
    digits = str(abs(int(number)))
    return len(digits) >= 13 and digits[0] in "23456" and luhn(digits)


def holds_pii(text: str) -> bool:
    return bool(kinds_in(text))


@lru_cache(maxsize=4096)
def _whole_words(term: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(term)}(?!\w)")


def holds_term(value: str, terms: Sequence[str]) -> bool:
    """Return whether a text contains one of the folded terms as whole words."""
    if not terms:
        return False
    value = folded(value)
    return any(term in value and _whole_words(term).search(value) is not None for term in terms)


def redacted_pointer(
    path: Path, denylist: Sequence[str], withheld: Callable[[str], bool] | None = None
) -> str:
    """Return a pointer without names that contain personal data or terms of the denylist, or that
    the caller withholds.
    """
    terms = [folded(term) for term in denylist]
    return redacted(
        path,
        lambda name: (
            holds_pii(name) or holds_term(name, terms) or (withheld is not None and withheld(name))
        ),
    )
