"""Verification against the log: each forgery and each cut is found by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from schemas import encode
from streams.engine.records import Output, TopicPartition
from streams.log.reading import partitions
from streams.ops.tlog import comparison
from streams.ops.tlog.batches import EntrySequence, sign_batch
from streams.ops.tlog.entries import RecordEntry, parse_entry
from streams.ops.tlog.keys import cosigner_key, sign_checkpoint
from streams.ops.tlog.logged_topics import LOGGED
from streams.ops.tlog.merkle import RightEdge
from streams.ops.tlog.note import Checkpoint, Note
from streams.ops.tlog.policy import Policy, parse_policy
from streams.ops.tlog.verify import LogResult, verify_log
from streams.ops.tlog.writer import NOT_PUBLISHED
from tests.unit.ops.tlog.example_log import KEY, ORIGIN, POLICY, PRIVATE
from tests.unit.ops.tlog.logged import ENTRIES, EVENTS, HEADS, Logged
from topology.core import AUDIT_TREE_HEADS

COUNT = 9
"""The number of facts of each partition, at the offsets 0 to 8; 9 is the transaction's marker."""
OTHER = TopicPartition("apc.events", 1)


@pytest.fixture
def logged(tmp_path: Path) -> Logged:
    """Return a log with a published round for each of two partitions."""
    system = Logged(tmp_path)
    for tp in (EVENTS, OTHER):
        system.write_facts(COUNT, tp)
        run_round(system)
    return system


def run_round(logged: Logged) -> None:
    with logged.writer() as writer:
        writer.round()


def verify(logged: Logged, topics: tuple[str, ...] = (), policy: Policy | None = None) -> LogResult:
    covered = partitions(logged.log, [topic.name for topic in LOGGED])
    tps = [tp for tp in covered if not topics or tp.topic in topics]
    chosen = policy or parse_policy(POLICY.encode())
    return verify_log(logged.log, "", chosen, ORIGIN, covered, tps)


def places_of(result: LogResult) -> list[tuple[str, str, int, int]]:
    return [(each.code, each.place, each.first, each.last) for each in result.findings]


def coverage_of(result: LogResult, tp: TopicPartition) -> dict[str, Any]:
    name = f"{tp.topic}/{tp.partition}"
    (coverage,) = [each for each in result.partitions if each.place == name]
    return asdict(coverage)


def change(logged: Logged, offset: int, **members: Any) -> None:
    """Change a record of the events in its place."""
    slots = logged.log.slots(EVENTS)
    record = slots[offset]
    assert record is not None
    slots[offset] = record._replace(**members)


def test_records_as_they_were_logged(logged: Logged) -> None:
    result = verify(logged)
    assert (result.findings, result.uncovered, result.size) == ((), (), 2 * COUNT)
    assert result.head is not None
    assert result.head.checkpoint == logged.checkpoint()
    covered = {"covered_to": COUNT, "records": COUNT, "beyond": 0, "uncovered_since": None}
    assert coverage_of(result, EVENTS) == {"place": "apc.events/0", **covered}


def test_what_is_behind_the_published_size_is_not_covered(
    logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_ms = logged.now + 1
    logged.write_facts(2)
    with monkeypatch.context() as patched, logged.writer() as writer:
        patched.setattr(writer, "_publish", lambda: NOT_PUBLISHED)
        writer.round()
    logged.write_facts(3)
    result = verify(logged)
    assert (result.findings, result.size) == ((), 2 * COUNT + 2)
    (uncovered,) = result.uncovered
    assert (uncovered.records, uncovered.beyond) == (COUNT, 5)
    assert uncovered.uncovered_since is not None
    assert uncovered.uncovered_since >= first_ms
    run_round(logged)
    assert verify(logged).uncovered == ()


def cut(logged: Logged, tp: TopicPartition, first: int, last: int) -> None:
    logged.log.slots(tp)[first : last + 1] = [None] * (last + 1 - first)


def swap(logged: Logged) -> None:
    slots = logged.log.slots(EVENTS)
    third, fourth = slots[3], slots[4]
    assert third is not None
    assert fourth is not None
    slots[3], slots[4] = fourth._replace(offset=3), third._replace(offset=4)


def add_in_place_of_the_marker(logged: Logged) -> None:
    slots = logged.log.slots(EVENTS)
    logged.write_facts(1)
    run_round(logged)
    assert slots[COUNT] is None
    first = slots[0]
    assert first is not None
    slots[COUNT] = first._replace(offset=COUNT)


def cut_end(logged: Logged) -> None:
    del logged.log.slots(EVENTS)[5:]


@pytest.mark.parametrize(
    ("tamper", "expected"),
    [
        (lambda logged: change(logged, 4, value=b"forged"), ("records_differ", 4, 4)),
        (lambda logged: change(logged, 4, value=None), ("records_differ", 4, 4)),
        (lambda logged: change(logged, 4, key=b"other"), ("records_differ", 4, 4)),
        (lambda logged: change(logged, 4, timestamp=1), ("records_differ", 4, 4)),
        (lambda logged: change(logged, 4, headers=[("a", b"b")]), ("records_differ", 4, 4)),
        (swap, ("records_differ", 3, 4)),
        (lambda logged: cut(logged, EVENTS, 2, 5), ("records_missing", 2, 5)),
        (lambda logged: cut(logged, EVENTS, 0, 0), ("records_missing", 0, 0)),
        (lambda logged: logged.log.truncate(EVENTS, 3), ("records_missing", 0, 2)),
        (cut_end, ("records_missing", 5, 8)),
        (add_in_place_of_the_marker, ("records_added", COUNT, COUNT)),
    ],
)
@pytest.mark.parametrize("portion", [1, comparison.PORTION])
def test_a_forged_or_missing_fact_is_found(
    logged: Logged,
    monkeypatch: pytest.MonkeyPatch,
    tamper: Callable[[Logged], None],
    expected: tuple[str, int, int],
    portion: int,
) -> None:
    monkeypatch.setattr(comparison, "PORTION", portion)
    tamper(logged)
    code, first, last = expected
    assert places_of(verify(logged)) == [(code, "apc.events/0", first, last)]
    assert places_of(verify(logged, topics=("saop.log",))) == []


def test_faults_that_whole_records_part_are_apart(logged: Logged) -> None:
    cut(logged, EVENTS, 1, 2)
    change(logged, 3, value=b"forged")
    cut(logged, EVENTS, 6, 6)
    places = [(code, first, last) for code, _, first, last in places_of(verify(logged))]
    expected = [("records_missing", 1, 2), ("records_differ", 3, 3), ("records_missing", 6, 6)]
    assert places == expected


def test_a_gap_that_was_accepted_is_none_that_is_found(tmp_path: Path) -> None:
    logged = Logged(tmp_path)
    logged.write_facts(COUNT)
    logged.log.truncate(EVENTS, 3)
    with logged.writer(gaps=(EVENTS,)) as writer:
        writer.round()
    result = verify(logged)
    assert result.findings == ()
    assert coverage_of(result, EVENTS)["records"] == COUNT - 3


def add_head(logged: Logged, size: int, root: bytes = bytes(32)) -> None:
    """Publish a checkpoint that the log's key has signed."""
    checkpoint = Checkpoint(ORIGIN, size, root)
    note = Note(checkpoint.text, (sign_checkpoint(PRIVATE, checkpoint, 0),)).encode().decode()
    head = {"origin": ORIGIN, "size": size, "root": root, "note": note, "quorum": True, "at": 0}
    value = encode(AUDIT_TREE_HEADS.record or "", head)
    logged.log.append([Output(HEADS.topic, ORIGIN.encode(), value)])


@pytest.mark.parametrize(
    ("size", "what"), [(5, "the log has another root there"), (99, "the log ends at 18")]
)
def test_a_signed_head_that_is_no_root_of_the_log_is_a_conflict(
    logged: Logged, size: int, what: str
) -> None:
    add_head(logged, size)
    result = verify(logged)
    (finding,) = result.findings
    assert (finding.code, finding.place) == ("head_conflict", "audit.tree-heads/0")
    assert what in finding.what
    assert result.head is not None
    assert result.head.checkpoint.size == 2 * COUNT


def test_entries_that_are_cut_off_are_seen_by_their_heads(logged: Logged) -> None:
    del logged.log.slots(ENTRIES)[:]
    result = verify(logged)
    assert [each.code for each in result.findings] == ["head_conflict"] * 2
    assert (result.head, result.size) == (None, 0)
    assert sum(each.beyond for each in result.partitions) == 2 * COUNT


def edge_of(logged: Logged) -> RightEdge:
    edge = RightEdge()
    edge.extend(logged.lines())
    return edge


def sign(logged: Logged, *entries: RecordEntry, **members: Any) -> None:
    """Add a batch that the log's key has signed."""
    lines = [entry.encode() for entry in entries]
    logged.add_batch(sign_batch(PRIVATE, ORIGIN, edge_of(logged), lines) | members)


def test_a_signed_batch_that_is_not_what_it_says(logged: Logged) -> None:
    entry = RecordEntry("apc.events", 0, 20, 0, "0" * 64)
    sign(logged, entry, count=2)
    sign(logged)
    codes = [(code, place) for code, place, _, _ in places_of(verify(logged))]
    assert codes == [("batch_invalid", "audit.entries/0")] * 2


def test_batches_without_the_key_are_counted_and_change_nothing(logged: Logged) -> None:
    sign(logged, RecordEntry("apc.events", 0, 20, 0, "0" * 64), signature=bytes(64))
    logged.log.append([Output(ENTRIES.topic, b"k", b"noise")])
    result = verify(logged)
    assert (result.findings, result.refused) == ((), 2)


def test_entries_out_of_order_are_found(logged: Logged) -> None:
    logged.write_facts(2)
    run_round(logged)
    entries = [entry for entry in map(parse_entry, logged.lines()) if entry is not None]
    first = entries[0]
    assert isinstance(first, RecordEntry)
    sign(logged, first)
    assert places_of(verify(logged)) == [("order_invalid", "apc.events/0", 0, 0)]


def test_entries_of_one_batch_out_of_order_are_found(logged: Logged) -> None:
    for tp in (EVENTS, OTHER):
        logged.write_facts(1, tp)
    state = EntrySequence(ORIGIN, [KEY])
    state.append(logged.lines())
    with logged.writer() as writer:
        writer.round()
    lines = logged.lines()[state.size :]
    logged.log.slots(ENTRIES)[-2:] = []
    logged.log.slots(HEADS)[-2:] = []
    logged.add_batch(sign_batch(PRIVATE, ORIGIN, state.edge, lines[::-1]))
    (finding,) = verify(logged).findings
    assert (finding.code, finding.place) == ("order_invalid", "apc.events/0")


def test_an_entry_of_a_partition_that_is_not_covered(logged: Logged) -> None:
    sign(logged, RecordEntry("apc.packets", 0, 4, 0, "0" * 64))
    assert places_of(verify(logged)) == [("records_missing", "apc.packets/0", 4, 4)]


def test_a_record_that_was_never_there(logged: Logged) -> None:
    sign(logged, RecordEntry("apc.events", 0, 40, 0, "0" * 64))
    assert places_of(verify(logged)) == [("records_missing", "apc.events/0", 40, 40)]


def test_a_head_without_its_quorum_publishes_nothing(logged: Logged) -> None:
    private = Ed25519PrivateKey.from_private_bytes(bytes(32))
    witness = f"witness w {cosigner_key('w.example', private)}\nquorum w\n"
    policy = parse_policy(POLICY.replace("quorum none\n", witness).encode())
    result = verify(logged, policy=policy)
    assert (result.findings, result.head) == ((), None)
    assert coverage_of(result, EVENTS)["beyond"] == COUNT
