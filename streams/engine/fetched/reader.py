"""A Kafka reader that inflates one batch at a time, within the bound of workers.

librdkafka, which all other readers use, inflates whatever it fetches, and bounds zstd only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import aiokafka
from aiokafka.errors import KafkaError, TopicAuthorizationFailedError

from streams.engine.fetched import records
from streams.engine.records import LogRecord, Record, TopicPartition
from streams.errors import AccessDenied, BrokerUnavailable
from streams.settings.kafka_security import for_aiokafka

T = TypeVar("T")

_FETCH_WAIT_MS = 100
_RETRY_MS = 20
_REQUEST_MS = 10_000


def open_reader(
    bootstrap: str, security: Mapping[str, str], positions: Mapping[TopicPartition, int]
) -> BoundedReader | None:
    """Return a reader; None within an event loop, where its client cannot run.

    Raises BrokerUnavailable.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return BoundedReader(bootstrap, security, positions)
    return None


class BoundedReader:
    """A read_committed reader of assigned partitions (the `Reader` contract).

    Its client runs only while a call waits, in the caller's thread.
    """

    def __init__(
        self, bootstrap: str, security: Mapping[str, str], positions: Mapping[TopicPartition, int]
    ) -> None:
        """Begin at the positions.  Raises BrokerUnavailable."""
        records.install()
        self._positions = dict(positions)
        # No asyncio.Runner: in the main thread it writes a call's result out, values and all.
        self._loop = asyncio.new_event_loop()
        self._consumer: Any = None
        try:
            self._run(self._start(bootstrap, security))
        except BaseException:
            self.close()
            raise

    async def _start(self, bootstrap: str, security: Mapping[str, str]) -> None:
        self._consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=bootstrap.split(","),
            client_id="headrace",
            enable_auto_commit=False,
            isolation_level="read_committed",
            auto_offset_reset="none",
            max_partition_fetch_bytes=1,  # a broker returns one whole batch at least
            fetch_max_wait_ms=_FETCH_WAIT_MS,
            retry_backoff_ms=_RETRY_MS,
            request_timeout_ms=_REQUEST_MS,
            check_crcs=False,
            **for_aiokafka(security),
        )
        await self._consumer.start()
        self._consumer.assign([aiokafka.TopicPartition(*tp) for tp in self._positions])
        for tp, offset in self._positions.items():
            self._consumer.seek(aiokafka.TopicPartition(*tp), offset)

    def poll(self, timeout_s: float, max_records: int = 10_000) -> list[Record]:
        """Return new records.  Raises AccessDenied, BrokerUnavailable."""
        return self._run(self._poll(timeout_s, max_records))

    async def _poll(self, timeout_s: float, max_records: int) -> list[Record]:
        timeout_ms = max(1, int(timeout_s * 1000))
        fetched = await self._consumer.getmany(timeout_ms=timeout_ms, max_records=max_records)
        for tp in self._positions:
            self._positions[tp] = await self._consumer.position(aiokafka.TopicPartition(*tp))
        return [_record_of(each) for group in fetched.values() for each in group]

    def position(self, tp: TopicPartition) -> int:
        return self._positions[tp]

    def seek(self, tp: TopicPartition, offset: int) -> None:
        async def seek() -> None:
            self._consumer.seek(aiokafka.TopicPartition(*tp), offset)

        self._run(seek())
        self._positions[tp] = offset

    def first_since(self, at_ms: int) -> dict[TopicPartition, int]:
        times = {aiokafka.TopicPartition(*tp): at_ms for tp in self._positions}
        offsets = self._run(self._consumer.offsets_for_times(times))
        return {
            TopicPartition(*tp): each.offset for tp, each in offsets.items() if each is not None
        }

    def _run(self, call: Coroutine[Any, Any, T]) -> T:
        try:
            return self._loop.run_until_complete(call)
        except TopicAuthorizationFailedError as exc:
            raise AccessDenied(f"Kafka does not let us read: {exc}") from exc
        except KafkaError as exc:
            raise BrokerUnavailable(f"reading from Kafka failed: {exc!r}") from exc

    def close(self) -> None:
        try:
            if self._consumer is not None:
                self._loop.run_until_complete(self._consumer.stop())
        finally:
            self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()


def _record_of(each: Any) -> LogRecord:
    """Convert a record of the client."""
    headers = [(name, value) for name, value in each.headers]
    return LogRecord(
        each.topic, each.partition, each.offset, each.timestamp, each.key, each.value, headers
    )
