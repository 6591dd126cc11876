"""The masker for given settings; edges and processors share it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from streams.masking import Masker
from streams.masking.own_rules import own_rules
from streams.settings.masking import MaskingSettings
from streams.settings.values import words_of

_NAMES = (
    "MASK_KEY", "RTES_MASK_ARGUMENTS", "RTES_PEM_LINES", "RTES_PEM_S", "MASKING_DISABLED",
    "MASKING_RULE",
)  # fmt: skip


def masker_of(work: Mapping[str, Any]) -> Masker:
    """Return the masker for the settings as processors see them."""
    return _masker(*(work[name] for name in _NAMES))


def masker_for(settings: MaskingSettings) -> Masker:
    return _masker(
        settings.mask_key,
        settings.rtes_mask_arguments,
        settings.rtes_pem_lines,
        settings.rtes_pem_s,
        settings.masking_disabled,
        settings.masking_rule,
    )


@lru_cache(maxsize=8)
def _masker(
    key: str | None, arguments: bool, lines: int, seconds: int, disabled: str, policy_rules: str
) -> Masker:
    key_bytes = key.encode() if key else None
    return Masker(key_bytes, arguments, lines, seconds, words_of(disabled), own_rules(policy_rules))
