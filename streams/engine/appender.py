"""Sending records to Kafka outside of transactions, from any number of threads.

A separate thread serves the delivery reports, so no caller waits for the records of others.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from streams.engine.records import Output, Record
from streams.errors import HeadraceError

Report = Callable[[HeadraceError | Record], None]
_POLL_S = 0.1
_FLUSH_S = 30


class Client(Protocol):
    """An idempotent producer whose `poll` and `flush` call the delivery reports that are due."""

    def produce(self, output: Output, report: Report) -> bool:
        """Hand over a record; return False when this client has failed for good."""

    def poll(self, timeout_s: float) -> Any: ...

    def flush(self, timeout_s: float) -> Any: ...

    def idle(self) -> bool:
        """Return True when no delivery report is outstanding."""


class Appender:
    """A queue of records for an idempotent producer, shared by threads.

    The producer is created with `make` on first use and replaced after a fatal error.
    """

    def __init__(self, make: Callable[[], Client]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._client: Client | None = None
        self._failed: list[Client] = []
        self._closed = threading.Event()
        self._poller: threading.Thread | None = None

    def submit(self, outputs: Sequence[Output]) -> Future[list[Record]]:
        """Send the records; the future holds them as written, or the first error.

        An empty list only connects, which takes a new client a while.
        """
        delivery = Delivery(len(outputs))
        self._open()
        for index, output in enumerate(outputs):
            client = self._open()
            if not client.produce(output, delivery.report(index)):
                self._give_up(client)
        return delivery.done

    def _open(self) -> Client:
        with self._lock:
            if self._client is None:
                self._client = self._make()
            if self._poller is None:
                self._closed.clear()
                self._poller = threading.Thread(target=self._poll, name="appender", daemon=True)
                self._poller.start()
            return self._client

    def _give_up(self, client: Client) -> None:
        with self._lock:
            if self._client is client:
                self._client = None
                self._failed.append(client)

    def _poll(self) -> None:
        while not self._closed.is_set():
            with self._lock:
                self._failed = [client for client in self._failed if not client.idle()]
                client, failed = self._client, list(self._failed)
            for old in failed:
                old.poll(0)
            if client is None:
                self._closed.wait(_POLL_S)
            else:
                client.poll(_POLL_S)

    def close(self) -> None:
        """Wait for outstanding records, up to 30 s, and stop the thread."""
        if self._client is not None:
            self._client.flush(_FLUSH_S)
        self._closed.set()
        if self._poller is not None:
            self._poller.join()
        self._client = self._poller = None
        self._failed.clear()


class Delivery:
    """The delivery reports of one `submit`.

    done: a future of all records with their offsets, or of the first error.
    """

    def __init__(self, count: int) -> None:
        self.done: Future[list[Record]] = Future()
        self._results: list[HeadraceError | Record | None] = [None] * count
        self._missing = count
        self._lock = threading.Lock()
        if not count:
            self.done.set_result([])

    def report(self, index: int) -> Report:
        def store_result(result: HeadraceError | Record) -> None:
            with self._lock:
                self._results[index] = result
                self._missing -= 1
                missing = self._missing
            if not missing and self.done.set_running_or_notify_cancel():
                self._settle()

        return store_result

    def _settle(self) -> None:
        records: list[Record] = []
        for result in self._results:
            if isinstance(result, HeadraceError):
                self.done.set_exception(result)
                return
            if result is not None:
                records.append(result)
        self.done.set_result(records)
