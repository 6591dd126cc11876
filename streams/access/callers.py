"""The caller of a request, and the roles that a route requires."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from streams.errors import SettingsError

OPERATOR_NAME = "operator"
"""The name that every operator may also use."""
RESERVED = ("service", "unauthenticated")
"""Names that facts carry when there is no principal."""


def bearer(token: str | None) -> dict[str, str]:
    """Return the headers of a request with this token, if there is one.

    Space around the token is dropped.  Raises SettingsError for an invalid token; its message does
    not quote the token.
    """
    stripped = "" if token is None else token.strip()
    if not stripped.isascii() or not stripped.isprintable() or " " in stripped:
        raise SettingsError(
            "HEADRACE_TOKEN is not a token: it has characters that no header may have",
            advice="Give it as `headrace tokens new` has printed it.",
        )
    return {"Authorization": f"Bearer {stripped}"} if stripped else {}


class Role(StrEnum):
    """The roles of a token.

    reader: sends queries and follows events.  producer: sends envelopes in its own name.
    operator: registers and withdraws agents, sends signals, rewinds; has all other roles too.
    """

    READER = "reader"
    PRODUCER = "producer"
    OPERATOR = "operator"


class Caller(NamedTuple):
    """The caller of a request.

    principal: the name in the token file.  until: the end of the session, for a caller by a cookie.
    """

    principal: str
    roles: frozenset[Role]
    token_id: str = ""
    until: datetime | None = None

    @property
    def is_operator(self) -> bool:
        return Role.OPERATOR in self.roles

    def has(self, needed: tuple[Role, ...]) -> bool:
        """Return whether the caller has one of these roles; true if none is needed."""
        return not needed or self.is_operator or not self.roles.isdisjoint(needed)

    def is_called(self, name: str | None) -> bool:
        """Return whether the caller may use that name."""
        return name == self.principal or (name == OPERATOR_NAME and self.is_operator)


class AccessRule(NamedTuple):
    """The access rule of a route.

    roles: the token must have one of them.  rule: the rule code of the refusal.
    checked_by_endpoint: the endpoint checks access itself, by the rules of its protocol.
    optional: no token is needed, and a valid one says who asks.
    checks_origin: pages of other origins are refused with tokens too, but for those of
    HEADRACE_MCP_ORIGINS.
    """

    roles: tuple[Role, ...]
    rule: str = "role_missing"
    checked_by_endpoint: bool = False
    optional: bool = False
    checks_origin: bool = False

    @property
    def is_open(self) -> bool:
        """Return whether the route is open to everybody, with or without a token."""
        return not self.roles


OPEN = AccessRule(())
"""The access rule of routes that return nothing that a caller has sent."""
IDENTIFYING = AccessRule(tuple(Role), optional=True)
"""The access rule of routes that tell a caller who it is."""
