"""Summit v1 for agents and their callers (Summit guide, 6.5): `serve_agent`, and the errors raised.

The calls themselves are methods of `streams.Client`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streams.summit.errors import (
        AgentError,
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
    "AgentError",
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
_SERVING_MODULES = {
    "AgentResult": "handlers",
    "Run": "run",
    "ThreadRun": "run",
    "serve_agent": "serve",
}
"""The modules of the names that serve an agent; all others are in `errors`."""


def __getattr__(name: str) -> Any:
    """Import a public name on first use: a process that only serves HTTP needs no agent."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    module = f"serving.{_SERVING_MODULES[name]}" if name in _SERVING_MODULES else "errors"
    return getattr(importlib.import_module(f"streams.summit.{module}"), name)
