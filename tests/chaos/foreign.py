"""Transactions of clients that are no workers: they stay open while others write behind them."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from confluent_kafka import Producer

from streams.engine.records import TopicPartition

_ANSWER_S = 30


class OpenTransaction:
    """One record in each of these partitions, in a transaction that is open until it is ended.

    timeout_s: after which the broker aborts it, if nobody has ended it before.
    """

    def __init__(
        self, bootstrap: str, tps: Collection[TopicPartition], timeout_s: float = 120
    ) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": f"foreign-{uuid.uuid4().hex}",
                "transaction.timeout.ms": int(timeout_s * 1000),
            }
        )
        self._producer.init_transactions(_ANSWER_S)
        self._producer.begin_transaction()
        for tp in tps:
            self._producer.produce(tp.topic, b"no record of ours", b"key", tp.partition)
        assert self._producer.flush(_ANSWER_S) == 0

    def commit(self) -> None:
        self._producer.commit_transaction(_ANSWER_S)

    def abort(self) -> None:
        self._producer.abort_transaction(_ANSWER_S)
