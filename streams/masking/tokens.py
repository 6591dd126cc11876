"""The replacement token: what stands where a secret stood."""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import NamedTuple

from streams.masking.rules import ALL, Rule

OPENING = "[REDACTED:"
PATTERN = rf"\[REDACTED:(?:{'|'.join(rule.name for rule in ALL)})(?::[0-9a-f]{{8}})?\]"
TOKEN = re.compile(PATTERN)


class Span(NamedTuple):
    """A piece of a text that is replaced.  rule: its index in the order of the rules."""

    start: int
    end: int
    rule: int


def token(rule: Rule, replaced: str, key: bytes | None) -> str:
    """With a key, the first 8 hex digits of HMAC-SHA256 over what is replaced tell secrets apart.

    Source: spec 5.4.
    """
    if key is None:
        return f"{OPENING}{rule.name}]"
    digest = hmac.new(key, replaced.encode("utf-8", "surrogatepass"), hashlib.sha256)
    return f"{OPENING}{rule.name}:{digest.hexdigest()[:8]}]"


def merged(spans: list[Span]) -> list[Span]:
    """Overlapping ones as one, named after the first, then the longer, then the earlier rule."""
    if len(spans) < 2:
        return spans
    spans.sort(key=lambda span: (span.start, -span.end, span.rule))
    kept = [spans[0]]
    for span in spans[1:]:
        last = kept[-1]
        if span.start >= last.end:
            kept.append(span)
        elif span.end > last.end:
            kept[-1] = last._replace(end=span.end)
    return kept


def replaced(text: str, spans: list[Span], key: bytes | None) -> str:
    """The text with a token for each span; they must not overlap, and come in order."""
    parts: list[str] = []
    done = 0
    for span in spans:
        parts += text[done : span.start], token(ALL[span.rule], text[span.start : span.end], key)
        done = span.end
    return "".join([*parts, text[done:]])
