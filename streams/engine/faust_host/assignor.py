"""The group protocol that assigns whole partition numbers to members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from aiokafka.coordinator.protocol import (
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)

from streams.engine.assignment import Member, Share, assign


class WholeNumbers(AbstractPartitionAssignor):
    """A partition assignor for `streams.engine.assignment`."""

    name = "headrace-numbers"

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._owned: tuple[int, ...] = ()
        self.missing: frozenset[str] = frozenset()

    def metadata(self, topics: Any) -> ConsumerProtocolMemberMetadata:
        user_data = Member(frozenset(topics), frozenset(self._owned)).data()
        return ConsumerProtocolMemberMetadata(0, sorted(topics), user_data)

    def assign(
        self, cluster: Any, members: Mapping[str, ConsumerProtocolMemberMetadata]
    ) -> dict[str, ConsumerProtocolMemberAssignment]:
        shares = assign({name: _member(m) for name, m in members.items()}, self._partitions)
        return {
            name: _assignment(share, members[name].subscription) for name, share in shares.items()
        }

    def on_assignment(self, assignment: ConsumerProtocolMemberAssignment) -> None:
        numbers = {p for _, partitions in assignment.assignment for p in partitions}
        self._owned = tuple(sorted(numbers))
        self.missing = frozenset(filter(None, assignment.user_data.decode().split(",")))


def _member(metadata: ConsumerProtocolMemberMetadata) -> Member:
    return Member.decode(metadata.subscription, metadata.user_data or b"")


def _assignment(share: Share, topics: Sequence[str]) -> ConsumerProtocolMemberAssignment:
    parts = [(topic, list(share.numbers)) for topic in sorted(topics)] if share.numbers else []
    return ConsumerProtocolMemberAssignment(0, parts, ",".join(sorted(share.missing)).encode())
