"""Whether Kafka answers, asked again and again beside the requests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from streams.errors import InfrastructureError

EVERY_S = 1.0
PATIENCE_S = 3.0


class BrokerWatch:
    """ask: a question to Kafka that blocks, and raises InfrastructureError."""

    def __init__(self, ask: Callable[[], object]) -> None:
        self._ask = ask
        self._stopping = threading.Event()
        self._asked_at: float | None = None
        self._fault: str | None = None

    @property
    def up(self) -> bool:
        return self.reason is None

    @property
    def reason(self) -> str | None:
        """Why it is not up; up until the first question was not answered in time."""
        asked_at = self._asked_at
        if asked_at is not None and time.monotonic() - asked_at > PATIENCE_S:
            return f"Kafka has not answered for {PATIENCE_S:.0f} s"
        return self._fault

    def start(self) -> None:
        threading.Thread(target=self._watch, name="broker-watch", daemon=True).start()

    def stop(self) -> None:
        """Without waiting for an answer that may never come."""
        self._stopping.set()

    def _watch(self) -> None:
        while not self._stopping.wait(EVERY_S):
            self._asked_at = time.monotonic()
            try:
                self._ask()
                self._fault = None
            except InfrastructureError as exc:
                self._fault = exc.message
            self._asked_at = None
