"""Access control: tokens, principals and roles, and the sender names a principal may use."""

from streams.access.callers import OPERATOR_NAME, Caller, Role
from streams.access.tokens import TokenFile

__all__ = ["OPERATOR_NAME", "Caller", "Role", "TokenFile"]
