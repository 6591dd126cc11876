"""Packets that have a row, as the replay of a history knows them."""

from __future__ import annotations

from tests.e2e.outputs import Json


class Known:
    """A packet that has a row, as the facts so far leave it."""

    def __init__(self, packet: Json, fact: Json, identity: str) -> None:
        self.packet = packet
        self.identity = identity
        self.position = fact["cause"]
        self.state: str = fact["state"]
        self.acks: Json | None = fact["acks"]
        self.outcome: tuple[str | None, str | None] = (None, None)
        metadata = packet.get("metadata")
        self.deferred = isinstance(metadata, dict) and metadata.get("verification") == "deferred"
        self.ended_due = 0
        """When the timer was due that ended it, ms."""

    @property
    def agents(self) -> list[str]:
        return list(dict.fromkeys(one["agent_id"] for one in self.packet["recipients"]))
