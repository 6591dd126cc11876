"""The thread of the group's consumer, and the requests made there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import Any

import aiokafka
from aiokafka.errors import GroupAuthorizationFailedError, TopicAuthorizationFailedError
from aiokafka.protocol.commit import OffsetCommitRequest
from aiokafka.protocol.group import HeartbeatRequest
from faust.transport.drivers import aiokafka as driver

from streams.engine.faust_host.app import HostApp
from streams.engine.faust_host.fetch_sessions import SessionConsumer
from streams.engine.records import TopicPartition
from streams.settings.kafka_security import for_aiokafka

log = logging.getLogger(__name__)

SESSION_TIMEOUT_S = 10.0
HEARTBEAT_S = 1.0
DENIED = (GroupAuthorizationFailedError, TopicAuthorizationFailedError)
_MAX_POLL_S = 24 * 3600.0  # a long restore polls nothing
_FETCH_BYTES = 4 << 20
_FETCH_WAIT_MS = 500
_REQUEST_TIMEOUT_S = 5.0
"""The limit for a coordinator that does not answer: Faust's thread serves two calls at a time,
fetches included."""


class ConsumerThread(driver.AIOKafkaConsumerThread):
    """Faust's consumer thread around a consumer with our settings."""

    def _create_worker_consumer(self, transport: Any) -> aiokafka.AIOKafkaConsumer:
        # Faust offers neither read_committed without its own exactly_once, nor an assignor of
        # the app's, nor the fetch wait.
        app: HostApp = self.app
        self._assignor = app.group_assignor
        return SessionConsumer(
            bootstrap_servers=app.headrace.bootstrap,
            client_id="headrace",
            group_id=app.conf.id,
            group_instance_id=app.conf.consumer_group_instance_id,
            partition_assignment_strategy=[app.group_assignor],
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="none",  # tasks seek; a deleted offset must raise
            max_poll_records=None,
            max_poll_interval_ms=int(_MAX_POLL_S * 1000),
            max_partition_fetch_bytes=_FETCH_BYTES,
            fetch_max_wait_ms=_FETCH_WAIT_MS,
            check_crcs=False,
            session_timeout_ms=int(SESSION_TIMEOUT_S * 1000),
            rebalance_timeout_ms=60_000,
            heartbeat_interval_ms=int(HEARTBEAT_S * 1000),
            **for_aiokafka(app.headrace.security()),
        )

    def member_id(self) -> str:
        """Return the id by which the group knows us."""
        return str(self._ensure_consumer()._coordinator.member_id)

    async def denied(self) -> str | None:
        """Return why the group rejects us, which aiokafka reports only to a fetching caller."""
        try:
            self._ensure_consumer()._coordinator.check_errors()
        except DENIED as exc:
            return str(exc)
        return None

    async def gone_topics(self) -> list[str]:
        """Return the input topics that have been deleted while we read them."""
        topics: list[str] = self._ensure_consumer().gone_topics()
        return topics

    async def confirmed(self) -> bool:
        """Send a heartbeat of our generation; return whether the coordinator accepts it.

        aiokafka's own heartbeat also succeeds during a rebalance, and so proves nothing.
        """
        coordinator = self._ensure_consumer()._coordinator
        request = HeartbeatRequest(
            coordinator.group_id, coordinator.generation, coordinator.member_id
        )
        try:
            async with asyncio.timeout(_REQUEST_TIMEOUT_S):
                answer = await coordinator._send_req(request)
        except Exception as exc:
            log.info("the group does not confirm: %r", exc)
            return False
        return bool(answer.error_code == 0)

    async def tell_group(self, offsets: Mapping[TopicPartition, int]) -> bool:
        """Commit the group's offsets, which serve lag tools only: a refusal is no failure.

        It does not use the consumer's `commit`, which gives up the membership when a rebalance
        refuses it.
        """
        coordinator = self._ensure_consumer()._coordinator
        if coordinator.generation == OffsetCommitRequest.DEFAULT_GENERATION_ID:
            return False
        topics: dict[str, list[tuple[int, int, str]]] = {}
        for tp, offset in offsets.items():
            topics.setdefault(tp.topic, []).append((tp.partition, offset, ""))
        request = OffsetCommitRequest(
            coordinator.group_id,
            coordinator.generation,
            coordinator.member_id,
            OffsetCommitRequest.DEFAULT_RETENTION_TIME,
            list(topics.items()),
        )
        try:
            async with asyncio.timeout(_REQUEST_TIMEOUT_S):
                answer = await coordinator._send_req(request)
        except Exception as exc:
            log.info("the group does not take offsets: %r", exc)
            return False
        return not any(code for _, partitions in answer.topics for _, code in partitions)

    def position_changes(
        self, tps: Iterable[TopicPartition], reported: dict[TopicPartition, tuple[int, int]]
    ) -> list[tuple[TopicPartition, int, int]]:
        """Return (partition, fetch position, last stable offset) where they differ from `reported`.

        The last stable offset is the last one received, or 0.  Updates `reported`.
        """
        subscription = self._ensure_consumer()._subscription.subscription
        assignment = subscription and subscription.assignment
        changes = []
        for tp in tps if assignment else ():
            state = assignment._tp_state.get(tp)
            if state is not None and state._position is not None:
                position = state._position, state.lso or 0
                if reported.get(tp) != position:
                    reported[tp] = position
                    changes.append((tp, *position))
        return changes
