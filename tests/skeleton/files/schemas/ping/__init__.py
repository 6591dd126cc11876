"""Pings: validation."""

from schemas.ping import rules
from schemas.problems import Problem

__all__ = ["validate"]


def validate(value: object) -> list[Problem]:
    """What breaks the shape of a ping."""
    members = value if isinstance(value, dict) else {}
    return [
        Problem(rules.PING_SHAPE.code, f"/{name}", f"{name} is a string.")
        for name in ("ping_id", "sender")
        if not isinstance(members.get(name), str)
    ]
