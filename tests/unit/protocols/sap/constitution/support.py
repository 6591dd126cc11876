"""A constitution to evaluate by, and a task's context in few words."""

from __future__ import annotations

from typing import Any

from streams.protocols.sap.constitution import Constitution, Evaluation, evaluate
from streams.protocols.sap.constitution.load import load, parse

SHIPPED = load(None)


def constitution(text: str) -> Constitution:
    """From the text of a file."""
    return parse(text.encode())


def entry(evaluator: str, params: str = "", **members: str) -> str:
    """An operator's constraint that the text `this` means."""
    lines = [f"{name} = {value}" for name, value in members.items()]
    table = ["[[constraint]]", 'id = "own"', f'evaluator = "{evaluator}"']
    if "match" not in members:
        lines.append('match = ["this"]')
    return "\n".join([*table, *lines, f"params = {{ {params} }}"])


def final(
    *constraints: str,
    level: str = "consulted",
    by: Constitution = SHIPPED,
    phase: str = "final",
    context: dict[str, Any] | None = None,
    **more: Any,
) -> Evaluation:
    """Evaluate an output, or whatever else is given."""
    whole_context = {"pressureLevel": level, "constraints": list(constraints), **(context or {})}
    return evaluate(phase, whole_context, **{"policy": {}, "constitution": by, **more})


def statuses(evaluation: Evaluation) -> dict[str, str]:
    return {check["principle"]: check["status"] for check in evaluation.checks}
