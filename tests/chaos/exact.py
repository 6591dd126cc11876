"""What exactly-once means, asserted of everything that a run has left behind."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from schemas import decode
from streams.engine.records import position
from streams.engine.state import State
from streams.engine.store import Store
from streams.engine.worker import worker_directory
from tests.chaos.cluster import PARTITIONS, Cluster, Fact
from tests.toy import COUNTS, OPEN, RECORD, ROWS
from topology.core import CHANGELOG


def check(cluster: Cluster, facts: list[Fact] | None = None) -> list[Fact]:
    """One fact per record, none twice, in order; the table is what the facts add up to."""
    facts = check_facts(cluster, cluster.facts() if facts is None else facts)
    check_table(cluster, facts)
    return facts


def check_facts(cluster: Cluster, facts: list[Fact]) -> list[Fact]:
    """Check that each record has one fact and each id has one timer, and return the facts."""
    caused = Counter(fact.cause for fact in facts if fact.kind != "fired")
    sent = Counter(position(record) for record in cluster.sent)
    assert not {cause: n for cause, n in caused.items() if n > 1}, "facts that are there twice"
    assert caused.keys() - sent.keys() == set(), "facts without a record"
    assert sent.keys() - caused.keys() == set(), "records without a fact"
    fired = Counter(fact.id for fact in facts if fact.kind == "fired")
    assert not {ident: n for ident, n in fired.items() if n > 1}, "timers that fired twice"
    return facts


def check_table(cluster: Cluster, facts: Iterable[Fact]) -> None:
    """Counts run 1, 2, 3… per id, and the table holds the last of them."""
    seen = check_counts(facts)
    table = {
        key.decode(): int(decode(value, RECORD).value["data"]["n"])
        for (_, key), value in cluster.fold(ROWS).items()
    }
    assert table == {ident: len(counts) for ident, counts in seen.items()}


def check_counts(facts: Iterable[Fact]) -> dict[str, list[int]]:
    """Check that counts run 1, 2, 3… per id, and return them."""
    seen: dict[str, list[int]] = defaultdict(list)
    for fact in facts:
        if fact.kind not in ("fired", "too_large"):  # which count nothing
            seen[fact.id].append(fact.n)
    for ident, counts in seen.items():
        assert counts == list(range(1, len(counts) + 1)), ident
    return seen


def check_stores(cluster: Cluster, name: str) -> None:
    """RocksDB of a worker that owned all tasks and ended, and one restored from nothing, hold
    what the changelogs hold.
    """
    directory = worker_directory(cluster.settings_of(name))
    for partition in range(PARTITIONS):
        expected = _changelog(cluster, partition)
        assert _rows(directory / str(partition)) == expected
        restored = cluster.directory / "restored" / str(partition)
        state = State(restored, cluster.log, cluster.prefix, partition, (COUNTS, OPEN))
        state.open(0)
        state.close()
        assert _rows(restored) == expected


def _changelog(cluster: Cluster, partition: int) -> dict[bytes, bytes]:
    table = COUNTS.name.encode() + b"\0"
    counts = {table + key: row for (p, key), row in cluster.fold(ROWS).items() if p == partition}
    return counts | {
        key: row for (p, key), row in cluster.fold(CHANGELOG).items() if p == partition
    }


def _rows(path: Path) -> dict[bytes, bytes]:
    with Store(path) as store:
        return dict(store.scan(b"", b"\1"))  # what lies below are the store's own notes
