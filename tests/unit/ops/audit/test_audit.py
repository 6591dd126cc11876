"""One record changed, removed, moved or added is found, and named to within two checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas import encode
from streams.engine.records import LogRecord, Output, Record, TopicPartition
from streams.errors import Fenced, InputTruncated, InvalidInput, SettingsError, UsageError
from streams.log.reading import partitions, records
from streams.ops.audit import (
    COVERED,
    AuditResult,
    AuditWriter,
    Signer,
    checkpoints,
    segment,
    verify,
)
from streams.ops.audit.chain import Head
from streams.ops.audit.keys import keys_of, new_pair, public_path, signer
from tests.examples import example_count
from tests.unit.envelopes import idea
from tests.unit.views.bench import Bench
from topology.core import AUDIT_CHECKPOINTS

EVENTS = TopicPartition("apc.events", 1)


def writer(bench: Bench, key: Signer, **more: Any) -> AuditWriter:
    return AuditWriter(bench.log, bench.settings, key, bench.tick, **more)


def sealed(bench: Bench, key: Signer, rounds: int = 3) -> None:
    """Facts, and checkpoints over them."""
    with writer(bench, key) as audit:
        for n in range(rounds):
            bench.send("apc.packets", idea(10 * n), idea(10 * n + 1), idea(10 * n + 2))
            audit.read()
            audit.seal()


def facts(bench: Bench) -> list[Record]:
    tps = partitions(bench.log, [topic.name for topic in COVERED])
    return list(records(bench.log, tps))


def account(bench: Bench, key: Signer, records: Sequence[Record] | None = None) -> AuditResult:
    tps = partitions(bench.log, [topic.name for topic in COVERED])
    evidence = facts(bench) if records is None else records
    return verify(evidence, checkpoints(bench.log, ""), tps, {key.verifier.id: key.verifier})


def on_events(bench: Bench) -> tuple[list[Record], list[Record]]:
    """The facts of one partition, and all others."""
    records = facts(bench)
    event_records = [r for r in records if (r.topic, r.partition) == EVENTS]
    return event_records, [record for record in records if record not in event_records]


def test_what_was_not_touched_holds(bench: Bench, key: Signer) -> None:
    sealed(bench, key)
    result = account(bench, key)
    assert result.findings == ()
    (standing,) = [each for each in result.partitions if each.place == "apc.events/1"]
    records, _ = on_events(bench)
    assert (standing.sequence, standing.records, standing.beyond) == (3, len(records), 0)
    assert standing.offset == records[-1].offset + 1


def test_what_lies_behind_the_last_checkpoint_is_counted_apart(bench: Bench, key: Signer) -> None:
    sealed(bench, key)
    bench.send("apc.packets", idea(99))
    result = account(bench, key)
    assert result.findings == ()
    assert [each.beyond for each in result.partitions if each.place == "apc.events/1"] == [1]


def changed(record: Record, **members: Any) -> LogRecord:
    copy = LogRecord(
        record.topic,
        record.partition,
        record.offset,
        record.timestamp,
        record.key,
        record.value,
        tuple(record.headers),
    )
    return copy._replace(**members)


CHANGES = ("value", "key", "timestamp", "header", "removed", "moved", "added", "offset")


@settings(max_examples=example_count(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(place=st.integers(0, 100), change=st.sampled_from(CHANGES), bit=st.integers(0, 10_000))
def test_one_change_is_found_between_its_checkpoints(
    audited: tuple[Bench, Signer], place: int, change: str, bit: int
) -> None:
    bench, key = audited
    records, others = on_events(bench)
    n = place % len(records)
    record = records[n]
    value = bytearray(record.value or b"")
    value[bit % len(value)] ^= 1 << bit % 8
    match change:
        case "value":
            records[n] = changed(record, value=bytes(value))
        case "key":
            records[n] = changed(record, key=b"another")
        case "timestamp":
            records[n] = changed(record, timestamp=record.timestamp + 1)
        case "header":
            records[n] = changed(record, headers=tuple(record.headers)[1:])
        case "removed":
            del records[n]
        case "moved":
            other = (n + 1) % len(records)
            first, second = records[n], records[other]
            records[n] = changed(second, offset=first.offset)
            records[other] = changed(first, offset=second.offset)
        case "added":
            records.insert(n, changed(record))
        case _:
            records[n] = changed(record, offset=record.offset + 1)
    result = account(bench, key, [*records, *others])
    assert result.findings
    assert {finding.place for finding in result.findings} == {"apc.events/1"}
    assert any(each.first <= record.offset <= each.last for each in result.findings)
    assert len(result.findings) <= 2  # two where it moved from one segment to another


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Bench, Signer]]:
    folder = tmp_path_factory.mktemp("audited")
    new_pair(folder / "auditor.pem")
    bench, key = Bench(folder), signer(folder / "auditor.pem")
    sealed(bench, key)
    yield bench, key
    bench.close()


def test_a_checkpoint_left_out_is_found(bench: Bench, key: Signer) -> None:
    sealed(bench, key)
    tps = [EVENTS]
    chain = [c for c in checkpoints(bench.log, "") if (c["topic"], c["partition"]) == EVENTS]
    keys = {key.verifier.id: key.verifier}
    for n in range(len(chain) - 1):
        left = chain[:n] + chain[n + 1 :]
        findings = verify(on_events(bench)[0], left, tps, keys).findings
        codes = [each.code for each in findings]
        assert codes == ["chain_broken"]


def test_a_forged_checkpoint_is_found_and_not_gone_on_from(
    bench: Bench, key: Signer, tmp_path: Path
) -> None:
    sealed(bench, key)
    new_pair(tmp_path / "forger.pem")
    forger = signer(tmp_path / "forger.pem")
    _, forged = Head.genesis(EVENTS, 0).sealed(forger, bench.now)
    place_checkpoint(bench, forged)
    place_checkpoint(bench, {**forged, "key_id": key.verifier.id})
    codes = [finding.code for finding in account(bench, key).findings]
    assert codes == ["checkpoint_invalid", "checkpoint_invalid"]
    sealed(bench, key, rounds=1)
    assert len(account(bench, key).findings) == 2


def place_checkpoint(bench: Bench, checkpoint: dict[str, Any]) -> None:
    value = encode(AUDIT_CHECKPOINTS.record or "", checkpoint)
    place = f"{checkpoint['topic']}/{checkpoint['partition']}".encode()
    bench.log.append([Output(AUDIT_CHECKPOINTS.name, place, value)])


def test_a_second_writer_goes_on_with_the_one_chain(bench: Bench, key: Signer) -> None:
    bench.send("apc.packets", idea(1))
    with writer(bench, key) as first:
        first.read()
        first.seal()
        bench.send("apc.packets", idea(2))
        first.read()
        with writer(bench, key) as second:
            with pytest.raises(Fenced, match="another audit writer"):
                first.seal()
            second.read()
            second.seal()
    assert account(bench, key).findings == ()
    chain = [c for c in checkpoints(bench.log, "") if (c["topic"], c["partition"]) == EVENTS]
    assert [checkpoint["sequence"] for checkpoint in chain] == [1, 2]


def test_nothing_new_is_not_sealed_again(bench: Bench, key: Signer) -> None:
    sealed(bench, key, rounds=1)
    with writer(bench, key) as audit:
        assert audit.read() == 0
        assert audit.seal() == []


def test_long_logs_are_sealed_on_the_way(
    bench: Bench, key: Signer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.ops.audit.writer.AT_ONCE", 1)
    sealed(bench, key, rounds=1)
    with writer(bench, key) as audit:
        while audit.read():
            audit.seal()
    result = account(bench, key)
    assert result.findings == ()
    assert sum(standing.beyond for standing in result.partitions) == 0


def test_a_chain_is_not_gone_on_with_where_facts_were_removed(bench: Bench, key: Signer) -> None:
    sealed(bench, key)
    bench.log.delete(EVENTS.topic)
    bench.create()
    with pytest.raises(InputTruncated, match=r"apc\.events/1 holds offsets 0 to 0"):
        writer(bench, key).__enter__()
    codes = {finding.code for finding in account(bench, key).findings}
    assert codes == {"records_missing"}


def test_a_new_key_follows_an_old_one_by_name(bench: Bench, key: Signer, tmp_path: Path) -> None:
    sealed(bench, key, rounds=1)
    new_pair(tmp_path / "next.pem")
    following = signer(tmp_path / "next.pem")
    with pytest.raises(SettingsError, match=key.verifier.id):
        writer(bench, following).__enter__()
    before = {key.verifier.id: key.verifier}
    bench.send("apc.packets", idea(2))
    with writer(bench, following, before=before) as audit:
        audit.read()
        assert audit.seal()
    keys = {**before, following.verifier.id: following.verifier}
    tps = partitions(bench.log, [topic.name for topic in COVERED])
    assert verify(facts(bench), checkpoints(bench.log, ""), tps, keys).findings == ()
    assert account(bench, key).findings


@pytest.mark.parametrize("name", ["facts.jsonl", "facts.jsonl.gz"])
def test_an_exported_segment_is_checked_alone(
    bench: Bench, key: Signer, tmp_path: Path, name: str
) -> None:
    sealed(bench, key)
    path, keys = tmp_path / name, {key.verifier.id: key.verifier}
    counts = segment.write(path, checkpoints(bench.log, ""), facts(bench))
    content = segment.read(path)
    there = verify(content.records, content.checkpoints, (), keys)
    assert there.findings == ()
    assert sum(each.records for each in there.partitions) == counts[1]
    records, others = on_events(bench)
    segment.write(path, checkpoints(bench.log, ""), [*records[1:], *others])
    content = segment.read(path)
    (finding,) = verify(content.records, content.checkpoints, (), keys).findings
    assert finding.code == "records_missing"


@pytest.mark.parametrize("text", [b"", b"{}\n", b"nothing\n", b'{"format": "another"}\n'])
def test_what_is_no_segment_is_refused(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "a.jsonl").write_bytes(text)
    with pytest.raises(InvalidInput, match="segment_invalid"):
        segment.read(tmp_path / "a.jsonl")


def test_keys_are_made_once_and_kept_private(tmp_path: Path) -> None:
    made = new_pair(tmp_path / "k.pem")
    assert (tmp_path / "k.pem").stat().st_mode & 0o777 == 0o600
    assert list(keys_of([public_path(tmp_path / "k.pem")])) == [made.id]
    with pytest.raises(UsageError, match="is there already"):
        new_pair(tmp_path / "k.pem")


def test_what_is_no_key_is_refused(tmp_path: Path) -> None:
    new_pair(tmp_path / "k.pem")
    with pytest.raises(SettingsError, match="names no private key"):
        signer(None)
    with pytest.raises(SettingsError, match="holds no private key"):
        signer(public_path(tmp_path / "k.pem"))
    with pytest.raises(SettingsError, match="holds no public key"):
        keys_of([tmp_path / "k.pem"])
    with pytest.raises(SettingsError, match="cannot be read"):
        keys_of([tmp_path / "none.pem"])
