"""Raised where values grow beyond limits."""

from __future__ import annotations


class DefaultsTooLarge(ValueError):
    """A value would grow beyond every limit: a small one can ask for a large default often."""
