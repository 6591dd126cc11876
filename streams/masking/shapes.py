"""The kind of a secret by its own shape, for texts that must hold none.

The masking rules that need a name beside the secret, or guess, do not count: honest texts speak of
passwords and hold long hashes.

Source: policies, 2; SAP guide, 5.2.
"""

from __future__ import annotations

from streams.masking.find import spans_of
from streams.masking.rules import ALL

NO_SHAPE = frozenset({"assignment", "authorization", "basic", "bearer", "high_entropy"})
"""The masking rules that need a name beside the secret, or guess."""
MAX_LEVELS = 8


def secret_kind(text: str, levels: int = MAX_LEVELS) -> str | None:
    """Return the masking rule of the first secret in a text; None if there is none.

    levels: how often a value of a key is searched for keys of its own; what is deeper is a secret.
    """
    for line in text.splitlines():
        for span in spans_of(line, None):
            rule, secret = ALL[span.rule].name, line[span.start : span.end]
            if rule not in NO_SHAPE:
                return rule
            if secret == line:
                continue
            kind = secret_kind(secret, levels - 1) if levels else rule
            if kind is not None:  # a token as value of a key
                return kind
    return None
