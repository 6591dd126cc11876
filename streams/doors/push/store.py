"""The subscriptions on the log and the state of their deliveries, as one gateway knows them.

Every gateway follows both topics as a whole, since any may be asked for any subscription.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future

from streams.doors.push.subscriptions import (
    Delivery,
    Entry,
    Subscription,
    read_delivery,
    read_subscription,
)
from streams.engine.log import Log, Pace, Reader
from streams.engine.records import LogRecord, Output, Record, TopicPartition
from streams.errors import BrokerUnavailable, HeadraceError, ProduceUnknown
from streams.log.reading import partitions
from topology.core import PUSH_DELIVERIES, PUSH_SUBSCRIPTIONS
from topology.topics import full_name

PATIENCE_S = 10.0
_POLL_S = 0.25
_RETRY_S = 1.0
_NO_ENTRY = Entry()

_log = logging.getLogger(__name__)


class Rows:
    """The entries that have been read, and the offset of the record behind each half of them."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self._offsets: dict[tuple[str, str], int] = {}

    def apply(self, record: Record, is_subscription: bool) -> bool:
        """Take a record over, unless a later one is known; return whether it was taken."""
        id = (record.key or b"").decode(errors="replace")
        place = record.topic, id
        if record.offset <= self._offsets.get(place, -1):
            return False
        self._offsets[place] = record.offset
        entry = self.entries.get(id, _NO_ENTRY)
        value = record.value
        if is_subscription:
            entry = entry._replace(subscription=None if value is None else read_subscription(value))
        else:
            entry = entry._replace(delivery=None if value is None else read_delivery(value))
        if entry == _NO_ENTRY:
            self.entries.pop(id, None)
        else:
            self.entries[id] = entry
        return True


class Store:
    """Follows the topics in a thread of its own; used on one event loop.

    on_change: called in that thread when subscriptions have changed.
    """

    def __init__(self, log: Log, prefix: str, on_change: Callable[[], None]) -> None:
        self._log = log
        self._subscriptions = full_name(PUSH_SUBSCRIPTIONS, prefix)
        self._deliveries = full_name(PUSH_DELIVERIES, prefix)
        self._on_change = on_change
        self._rows = Rows()
        self._positions: dict[TopicPartition, int] = {}
        self._read = threading.Condition()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="push store", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def entry(self, id: str) -> Entry:
        """Return what is known of an id."""
        with self._read:
            return self._rows.entries.get(id, _NO_ENTRY)

    def entries(self) -> Mapping[str, Entry]:
        """Return what is known of all ids."""
        with self._read:
            return dict(self._rows.entries)

    async def catch_up(self) -> None:
        """Wait until everything is read that was on the log before.  Raises BrokerUnavailable."""
        await asyncio.to_thread(self._catch_up)

    async def put(self, subscription: Subscription) -> None:
        """Write a subscription.  Raises ProduceUnknown."""
        await self._write(self._subscriptions, subscription.id, subscription.encode())

    async def put_delivery(self, delivery: Delivery) -> None:
        """Write the state of deliveries.  Raises ProduceUnknown."""
        await self._write(self._deliveries, delivery.id, delivery.encode())

    async def remove(self, id: str) -> None:
        """Remove a subscription, and then the state of its deliveries.  Raises ProduceUnknown."""
        await self._write(self._subscriptions, id, None)
        await self.remove_delivery(id)

    async def remove_delivery(self, id: str) -> None:
        await self._write(self._deliveries, id, None)

    async def _write(self, topic: str, id: str, value: bytes | None) -> None:
        submitted: Future[list[Record]] = self._log.submit([Output(topic, id.encode(), value)])
        try:
            async with asyncio.timeout(PATIENCE_S):
                (record,) = await asyncio.wrap_future(submitted)
        except TimeoutError as exc:
            raise ProduceUnknown(f"Kafka has not confirmed it within {PATIENCE_S:.0f} s") from exc
        with self._read:
            self._rows.apply(_with_value(record, id, value), topic == self._subscriptions)
        if topic == self._subscriptions:
            self._on_change()

    def _catch_up(self) -> None:
        ends = self._log.high_watermarks(self._partitions())
        with self._read:
            is_done = self._read.wait_for(
                lambda: all(self._positions.get(tp, 0) >= end for tp, end in ends.items()),
                PATIENCE_S,
            )
        if not is_done:
            raise BrokerUnavailable(f"subscriptions could not be read within {PATIENCE_S:.0f} s")

    def _partitions(self) -> list[TopicPartition]:
        return partitions(self._log, (self._subscriptions, self._deliveries))

    def _run(self) -> None:
        last_warning = ""
        while not self._stopped.is_set():
            try:
                self._follow()
            except HeadraceError as exc:
                if exc.message != last_warning:
                    _log.warning("subscriptions cannot be read: %s", exc.message)
                last_warning = exc.message
                self._stopped.wait(_RETRY_S)

    def _follow(self) -> None:
        """Read both topics from their start on.  Raises HeadraceError."""
        tps = self._partitions()
        ends, rows = self._log.ends(tps), Rows()
        with self._log.reader(self._log.starts(tps), Pace.LIVE) as reader:
            while any(reader.position(tp) < end for tp, end in ends.items()):
                if self._stopped.is_set():
                    return
                for record in reader.poll(_POLL_S):
                    rows.apply(record, record.topic == self._subscriptions)
            with self._read:
                self._rows = rows
            self._advance(reader, tps)
            self._on_change()
            while not self._stopped.is_set():
                self._take(reader.poll(_POLL_S))
                self._advance(reader, tps)

    def _take(self, records: list[Record]) -> None:
        has_changed = False
        with self._read:
            for record in records:
                is_subscription = record.topic == self._subscriptions
                has_changed |= self._rows.apply(record, is_subscription) and is_subscription
        if has_changed:
            self._on_change()

    def _advance(self, reader: Reader, tps: list[TopicPartition]) -> None:
        with self._read:
            self._positions = {tp: reader.position(tp) for tp in tps}
            self._read.notify_all()


def _with_value(record: Record, id: str, value: bytes | None) -> Record:
    """Return a record that was written, with its value, which the client may leave out."""
    return LogRecord(
        record.topic, record.partition, record.offset, record.timestamp, id.encode(), value
    )
