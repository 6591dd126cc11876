"""The faults that a worker can be given, and how it tells that one has happened."""

from __future__ import annotations

from enum import StrEnum

ARM = "arm"
"""A file in the worker's state directory: from now on the fault may happen, once."""
TOLD = "injected: "
"""What the line of the log begins with that says so; the rest is JSON, positions by topic."""


class Fault(StrEnum):
    NONE = "none"  # killed between decision and commit
    DROP_COMMIT = "drop-commit"  # a transaction is aborted and taken for committed
    APPLY_FIRST = "apply-first"  # the store is written, then killed before the commit
    NO_FENCING = "no-fencing"  # stopped before a commit; its next owner does not fence it
    DOUBLE_DELIVERY = "double-delivery"  # a fetched record comes twice
    SLEEP = "sleep"  # stopped before a commit, and fenced as it should be
