"""Who makes a request, and what routes ask of them."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from streams.errors import SettingsError

OPERATOR_NAME = "operator"
"""The principal that every operator may also go by."""
RESERVED = ("service", "unauthenticated")
"""What facts show where there is no principal."""


def bearer(token: str | None) -> dict[str, str]:
    """The headers of a request with that token, if there is one; space around it is dropped.

    Raises SettingsError, which does not quote it, as what sends a header would.
    """
    word = "" if token is None else token.strip()
    if not word.isascii() or not word.isprintable() or " " in word:
        raise SettingsError(
            "HEADRACE_TOKEN is not a token: it has characters that no header may have",
            advice="Give it as `headrace tokens new` has printed it.",
        )
    return {"Authorization": f"Bearer {word}"} if word else {}


class Role(StrEnum):
    """reader: asks queries and follows events.  producer: sends envelopes, as itself.

    operator: registers and withdraws agents, signals, turns back; may do what the others may.
    """

    READER = "reader"
    PRODUCER = "producer"
    OPERATOR = "operator"


class Caller(NamedTuple):
    """principal: whom the token names.  token_id: of that token."""

    principal: str
    roles: frozenset[Role]
    token_id: str = ""

    @property
    def is_operator(self) -> bool:
        return Role.OPERATOR in self.roles

    def has(self, needed: tuple[Role, ...]) -> bool:
        """Whether one of these roles is theirs; nothing is needed where there are none."""
        return not needed or self.is_operator or not self.roles.isdisjoint(needed)

    def is_called(self, name: str | None) -> bool:
        """Whether they may go by that name."""
        return name == self.principal or (name == OPERATOR_NAME and self.is_operator)


class Need(NamedTuple):
    """What a route needs of a token.  roles: one of which it must have.  rule: of the refusal.

    own: the endpoint itself says who may do what, in words of its protocol.
    """

    roles: tuple[Role, ...]
    rule: str = "role_missing"
    own: bool = False

    @property
    def is_open(self) -> bool:
        """For everybody, with or without a token."""
        return not self.roles


OPEN = Need(())
"""What shows nothing that anybody has sent."""
