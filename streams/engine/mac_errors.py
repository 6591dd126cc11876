"""Errors of tasks whose rows have no MACs of the keys, or MACs without a key.

A worker keeps such a task closed and goes on with its others.
"""

from __future__ import annotations

from streams.errors import InfrastructureError, PositionsLost


class PositionsRefused(PositionsLost):
    """An error for forged rows of a task's positions, of which no other ones are left."""

    default_advice = "Restore the changelog, or begin with another HEADRACE_PREFIX."

    @property
    def code(self) -> str:
        return "positions_lost"


class MacMissing(InfrastructureError):
    default_advice = (
        "Set HEADRACE_MAC_KEY to the keys that have signed them; `headrace topics sign` signs the"
        " rows of a log that has never had a key."
    )


class MacKeyMissing(InfrastructureError):
    default_advice = "Set HEADRACE_MAC_KEY to the key that has signed them."
