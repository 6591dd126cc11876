"""A worker that is killed by the first transaction that writes a row of `sap.cache`.

`python -m tests.e2e.sap_dying_worker before|after`: with everything written and nothing committed,
or committed with nobody told.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

from streams.engine import kafka
from streams.engine.records import Output, TopicPartition
from streams.engine.worker import run_worker
from streams.protocols.commands import all_processors, bind_files
from streams.settings import Settings
from topology.sap import SAP_CACHE


class Doomed:
    """A producer in its last transaction."""

    def __init__(self, producer: Any) -> None:
        self._producer = producer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._producer, name)

    def commit_transaction(self, timeout_s: float) -> None:
        if "before" in sys.argv:
            self._producer.flush(timeout_s)
        else:
            self._producer.commit_transaction(timeout_s)
        os.kill(os.getpid(), signal.SIGKILL)


class DyingTransactions(kafka.KafkaTransactions):
    def _commit(self, producer: Any, outputs: Sequence[Output]) -> dict[TopicPartition, int]:
        stores = any(output.topic.endswith(SAP_CACHE.name) for output in outputs)
        return super()._commit(Doomed(producer) if stores else producer, outputs)


def main() -> None:
    settings = Settings.load()
    bind_files(settings)
    with patch.object(kafka, "KafkaTransactions", DyingTransactions):
        run_worker(settings, all_processors, static=True)


if __name__ == "__main__":
    main()
