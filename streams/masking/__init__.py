"""Masking of secrets in terminal output, tool arguments and dead letters.

Source: SAOP guide, 4.7 and 5.4.
"""

from __future__ import annotations

from streams.masking.masker import Masker, count_tokens, has_token
from streams.masking.pem import Block

__all__ = ["Block", "Masker", "count_tokens", "has_token"]
