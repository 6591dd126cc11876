"""A thread that checks whether Kafka answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from streams.errors import InfrastructureError

EVERY_S = 1.0
PATIENCE_S = 3.0


class BrokerWatch:
    """The state of Kafka.  ask: a blocking request to Kafka that may raise InfrastructureError."""

    def __init__(self, ask: Callable[[], object]) -> None:
        self._ask = ask
        self._stopping = threading.Event()
        self._probe_started_at: float | None = None
        self._error: str | None = None

    @property
    def up(self) -> bool:
        return self.reason is None

    @property
    def reason(self) -> str | None:
        """Return why Kafka is down; None while it is up, and before the first request times out."""
        started_at = self._probe_started_at
        if started_at is not None and time.monotonic() - started_at > PATIENCE_S:
            return f"Kafka has not answered for {PATIENCE_S:.0f} s"
        return self._error

    def start(self) -> None:
        threading.Thread(target=self._watch, name="broker-watch", daemon=True).start()

    def stop(self) -> None:
        """Stop without waiting for a request that may never be answered."""
        self._stopping.set()

    def _watch(self) -> None:
        while not self._stopping.wait(EVERY_S):
            self._probe_started_at = time.monotonic()
            try:
                self._ask()
                self._error = None
            except InfrastructureError as exc:
                self._error = exc.message
            self._probe_started_at = None
