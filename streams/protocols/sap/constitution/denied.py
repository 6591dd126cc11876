"""Terms as whole words in texts.

Source: SAP spec, 3.4 (denylist).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from streams.protocols.sap.constitution.texts import folded


@lru_cache(maxsize=4096)
def _whole_words(term: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(term)}(?!\w)")


def holds(value: str, terms: Sequence[str]) -> bool:
    """Whether a text holds one of the folded terms as whole words."""
    if not terms:
        return False
    value = folded(value)
    return any(term in value and _whole_words(term).search(value) is not None for term in terms)
