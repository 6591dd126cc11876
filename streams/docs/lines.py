"""JSON for people and for diffs: objects near the root on lines, what lies deeper on one."""

from __future__ import annotations

import json
from typing import Any

LEVELS = 3


def lines(value: Any, levels: int = LEVELS, indent: str = "") -> str:
    """Return a value as JSON with a line for each member of the outer objects.

    levels: how many levels of objects are split into lines.
    """
    if levels == 0 or not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = f"{indent}  "
    members = (f"{inner}{json.dumps(k)}: {lines(v, levels - 1, inner)}" for k, v in value.items())
    return "{\n" + ",\n".join(members) + f"\n{indent}}}"
