"""Summit v1 for agents and their callers (Summit 6.5): `serve_agent`, and what is raised.

The calls themselves are members of `streams.Client`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streams.summit.errors import (
        BudgetExceeded,
        CallRejected,
        ManifestRejected,
        Rejected,
        RunPending,
        VerdictPending,
    )
    from streams.summit.serving.handlers import AgentResult
    from streams.summit.serving.run import Run, ThreadRun
    from streams.summit.serving.serve import serve_agent

__all__ = [
    "AgentResult",
    "BudgetExceeded",
    "CallRejected",
    "ManifestRejected",
    "Rejected",
    "Run",
    "RunPending",
    "ThreadRun",
    "VerdictPending",
    "serve_agent",
]
_AT_WORK = {"AgentResult": "handlers", "Run": "run", "ThreadRun": "run", "serve_agent": "serve"}
"""Names of the parts that serve an agent, by their module."""


def __getattr__(name: str) -> Any:
    """On first use: who only serves HTTP needs no agent."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    part = f"serving.{_AT_WORK[name]}" if name in _AT_WORK else "errors"
    return getattr(importlib.import_module(f"streams.summit.{part}"), name)
