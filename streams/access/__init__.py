"""Who asks: tokens and their principals, roles, and as whom a principal may speak."""

from streams.access.callers import OPERATOR_NAME, Caller, Role
from streams.access.tokens import TokenFile

__all__ = ["OPERATOR_NAME", "Caller", "Role", "TokenFile"]
