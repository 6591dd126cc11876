"""The replacement token, and the replacement of spans by tokens."""

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
    """A part of a text that is replaced.  rule: its index in the order of the rules."""

    start: int
    end: int
    rule: int


def token(rule: Rule, replaced: str, key: bytes | None) -> str:
    """Return the replacement token of a secret.

    With a key, the first 8 hex digits of HMAC-SHA256 over the secret distinguish secrets.
    Source: SAOP guide, 5.4.
    """
    if key is None:
        return f"{OPENING}{rule.name}]"
    digest = hmac.new(key, replaced.encode("utf-8", "surrogatepass"), hashlib.sha256)
    return f"{OPENING}{rule.name}:{digest.hexdigest()[:8]}]"


def merge_spans(spans: list[Span]) -> list[Span]:
    """Merge overlapping spans; the rule is that of the first, the longer, then the lower one."""
    if len(spans) < 2:
        return spans
    spans.sort(key=lambda span: (span.start, -span.end, span.rule))
    merged_spans = [spans[0]]
    for span in spans[1:]:
        last = merged_spans[-1]
        if span.start >= last.end:
            merged_spans.append(span)
        elif span.end > last.end:
            merged_spans[-1] = last._replace(end=span.end)
    return merged_spans


def replace_spans(text: str, spans: list[Span], key: bytes | None) -> str:
    """Replace each span of the text by a token; spans must be in order and not overlap."""
    parts: list[str] = []
    done = 0
    for span in spans:
        parts += text[done : span.start], token(ALL[span.rule], text[span.start : span.end], key)
        done = span.end
    return "".join([*parts, text[done:]])
