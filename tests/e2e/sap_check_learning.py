"""What was learned is a fold of what was told, and no version of it is ever written again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from schemas import decode, to_json
from streams.engine.processor import Message
from streams.engine.records import LogRecord
from streams.protocols.sap.learning import SapLearningProcessor
from streams.settings import Settings
from tests.e2e.findings import differences, repeated
from tests.e2e.outputs import PARTITIONS, Json
from tests.e2e.sap_check_cache import record_hash
from tests.e2e.sap_check_tasks import ENDS
from tests.e2e.sap_history import Entry, SapHistory
from tests.unit.processing.harness import Harness
from topology.sap import (
    SAP_ACKS,
    SAP_HEURISTICS,
    SAP_KNOWLEDGE,
    SAP_LEARNING,
    SAP_LEARNING_SIGNALS,
    SAP_OUTCOMES,
    SAP_SIGNALS,
)

_COUNTS = ("outcomes", "computed", "cacheHits", "approved", "rejected")


def check(history: SapHistory) -> Iterator[str]:
    yield from _told(history)
    yield from _versions(history)
    yield from _folded(history)
    yield from _counted(history)


def _told(history: SapHistory) -> Iterator[str]:
    """One signal for each closed task, and for each rating, note and approval taken on."""
    signals = history.values(SAP_LEARNING_SIGNALS)
    yield from repeated("learning signal", (signal["signalId"] for signal in signals))
    signal_counts = Counter((signal["kind"], signal["taskId"].lower()) for signal in signals)
    expected: Counter[tuple[str, str]] = Counter(
        ("outcome", outcome["taskId"].lower())
        for outcome in history.values(SAP_OUTCOMES)
        if outcome["status"] in ENDS
    )
    sent = history.at(SAP_SIGNALS)
    for ack in history.values(SAP_ACKS):
        if ack["subject"] == "SIGNAL" and ack["verdict"] == "accepted":
            kind = sent[ack["position"]].value["kind"]
            if kind != "cancel":
                expected[kind, ack["taskId"].lower()] += 1
    yield from differences("learning signals of", signal_counts, expected)


def _versions(history: SapHistory) -> Iterator[str]:
    """Of `sap.heuristics`: one record per key, versions 1 to n, a chain."""
    entries = history.of(SAP_HEURISTICS)
    yield from repeated("row of sap.heuristics", (entry.key for entry in entries))
    heads: dict[str, tuple[int, str]] = {}
    for entry in entries:
        if entry.json is None:
            yield f"{entry.place} is a tombstone, or no record"
            continue
        row = entry.value
        last, sha256 = heads.get(row["capability"], (0, "0" * 64))
        name = f"heuristics {row['version']} of {row['capability']}"
        if row["version"] != last + 1 or row["previousSha256"] != sha256:
            yield f"{name} does not follow {last}"
        if row["sha256"] != record_hash({n: v for n, v in row.items() if n != "sha256"}):
            yield f"{name} has a hash that is not its own"
        heads[row["capability"]] = row["version"], row["sha256"]


def _folded(history: SapHistory) -> Iterator[str]:
    """The rows are those that the pure decisions give for the signals in their order."""
    harness = _decided(history.of(SAP_LEARNING_SIGNALS))
    for topic in (SAP_LEARNING, SAP_HEURISTICS, SAP_KNOWLEDGE):
        assert topic.record is not None
        made = harness.tables.get(topic.name, {})
        expected = {
            key: to_json(topic.record, decode(raw, topic.record).value) for key, raw in made.items()
        }
        yield from differences(f"row of {topic.name}", history.rows(topic), expected)


def _decided(signals: list[Entry]) -> Harness:
    harness = Harness(SapLearningProcessor(), Settings.load({}).as_work(), partitions=PARTITIONS)
    for entry in signals:
        assert entry.raw is not None
        topic, _, _ = entry.place.split("/")
        record = LogRecord(topic, entry.partition, entry.offset, 0, entry.key, entry.raw)
        read = decode(entry.raw, SAP_LEARNING_SIGNALS.record or "")
        harness.decide(Message(SAP_LEARNING_SIGNALS, record, read.value, read.body, read.current))
    return harness


def _counted(history: SapHistory) -> Iterator[str]:
    """The plain counts, added up here."""
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for signal in history.values(SAP_LEARNING_SIGNALS):
        key = "/".join((signal["capability"], signal["territory"] or "", signal["fingerprint"]))
        sums[key].update(_ones(signal))
    expected = {
        key: {name: count[name] for name in (*_COUNTS, "ratings")} for key, count in sums.items()
    }
    counts = {
        key: {name: row[name] for name in _COUNTS} | {"ratings": row["ratings"]["count"]}
        for key, row in history.rows(SAP_LEARNING).items()
    }
    yield from differences("counts of", counts, expected)


def _ones(signal: Json) -> Iterator[str]:
    if signal["kind"] == "rating":
        yield "ratings"
    elif signal["kind"] == "approval":
        yield signal["decision"]
    elif signal["kind"] == "outcome":
        yield "outcomes"
        yield from ["computed"] * signal["computed"]
        yield from ["cacheHits"] * signal["cacheHit"]
