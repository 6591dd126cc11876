"""The look-up of a group's coordinator while the cluster names no broker."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka.errors import GroupCoordinatorNotAvailableError

from streams.engine.faust_host.fetch_sessions import coordinator_of

GROUP = 0
"""The kind of a coordinator."""


class Client:
    """As aiokafka's: brokers are those that the last metadata named."""

    def __init__(self, *brokers: int) -> None:
        self.brokers = brokers

    def get_random_node(self) -> int | None:
        return self.brokers[0] if self.brokers else None

    async def coordinator_lookup(self, kind: int, key: str) -> tuple[int, int, str]:
        node = self.get_random_node()
        assert node is not None, "Did we not perform bootstrap?"
        return node, kind, key


def test_it_is_asked_for_again_when_no_broker_is_known() -> None:
    with pytest.raises(GroupCoordinatorNotAvailableError) as refused:
        asyncio.run(coordinator_of(Client(), GROUP, "headrace"))
    assert refused.value.retriable


def test_it_is_what_a_broker_says() -> None:
    coordinator = asyncio.run(coordinator_of(Client(7), GROUP, "headrace"))
    assert coordinator == (7, GROUP, "headrace")
