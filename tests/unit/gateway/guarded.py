"""A gateway that takes tokens, and who asks it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streams.access import Role
from streams.access.tokens import new_token
from streams.engine.records import header
from tests.processes import wait_for
from tests.unit.protocols.summit.routes.summit_bench import SummitBench

Json = dict[str, Any]
READER, PRODUCER, OPERATOR = Role.READER, Role.PRODUCER, Role.OPERATOR
KEY = "a key that both have"
PATIENCE_S = 60
PLANNER = "urn:asap:agent:planner"


class Guarded:
    """bench: a gateway that takes the tokens of a file."""

    def __init__(self, bench: SummitBench, tokens: Path) -> None:
        self.bench = bench
        self.tokens = tokens
        self._known: dict[tuple[str, frozenset[Role]], str] = {}

    def token(self, principal: str, *roles: Role) -> str:
        """One of that principal; always the same."""
        key = principal, frozenset(roles)
        if key not in self._known:
            self._known[key], entry = new_token(*key)
            with self.tokens.open("a") as file:
                file.write(f"{entry.line()}\n")
        return self._known[key]

    def ask(self, method: str, path: str, token: str | None = None, **more: Any) -> Any:
        headers = {**more.pop("headers", {})}
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        return self.bench.ask(method, path, headers=headers, **more)

    def principal(self, topic: str, position: str) -> str:
        """What the facts about a record show, once there are any."""
        principals: set[bytes | None] = set()

        def come() -> bool:
            principals.update(
                header(record, "headrace-principal")
                for record in self.bench.bench.records(topic)
                if header(record, "headrace-cause") == position.encode()
            )
            return bool(principals)

        wait_for(come, f"a fact about {position}", PATIENCE_S)
        (principal,) = principals
        return (principal or b"").decode()
