"""Whoever may write to the topics, or edit a segment, but has no key."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schemas import encode
from streams.engine.records import Output
from streams.errors import InvalidInput, UsageError
from streams.ops.audit import AuditResult, Signer, checkpoints, segment, verify
from tests.unit.ops.audit.test_audit import (
    EVENTS,
    account,
    changed,
    facts,
    on_events,
    place_checkpoint,
    sealed,
)
from tests.unit.views.bench import Bench
from topology.core import AUDIT_CHECKPOINTS

Json = dict[str, Any]


def own_chain(bench: Bench) -> list[Any]:
    return [c for c in checkpoints(bench.log, "") if (c["topic"], c["partition"]) == EVENTS]


@pytest.mark.parametrize("value", [None, b"", b"nonsense", b"\x00\x00\x00\x00\x01"])
def test_bytes_that_are_no_checkpoint_stop_nobody(
    bench: Bench, key: Signer, value: bytes | None
) -> None:
    sealed(bench, key, rounds=1)
    bench.log.append([Output(AUDIT_CHECKPOINTS.name, b"apc.events/1", value)])
    sealed(bench, key, rounds=1)
    assert account(bench, key).findings == ()
    assert len(own_chain(bench)) == 2


@pytest.mark.parametrize("signature", ["", "é", "AA==", "\x00", "not base64"])
def test_a_signature_of_any_text_is_one_that_does_not_hold(
    bench: Bench, key: Signer, signature: str
) -> None:
    sealed(bench, key)
    (first, *_) = own_chain(bench)
    place_checkpoint(bench, {**first, "offset": 1 << 60, "signature": signature})
    assert [f.code for f in account(bench, key).findings] == ["checkpoint_invalid"]
    sealed(bench, key, rounds=1)
    assert [c["sequence"] for c in own_chain(bench)] == [1, 2, 3, 1, 4]


def test_a_checkpoint_sent_again_does_not_turn_the_chain_back(bench: Bench, key: Signer) -> None:
    sealed(bench, key)
    (first, *_) = own_chain(bench)
    place_checkpoint(bench, first)
    sealed(bench, key, rounds=1)
    assert [c["sequence"] for c in own_chain(bench)] == [1, 2, 3, 1, 4]
    (finding,) = account(bench, key).findings  # and no record is said to have changed
    assert finding.code == "chain_broken"
    assert "checkpoint 1 does not follow checkpoint 3" in finding.what


def test_a_chain_without_its_beginning_shows_nothing_of_what_it_sealed(
    bench: Bench, key: Signer
) -> None:
    sealed(bench, key)
    records, _ = on_events(bench)
    records[0] = changed(records[0], value=b"forged")
    keys = {key.verifier.id: key.verifier}
    (finding,) = verify(records, own_chain(bench)[1:], [EVENTS], keys).findings
    assert finding.code == "chain_broken"
    assert "nothing shows what lies below" in finding.what


def test_records_below_the_beginning_of_a_chain_are_too_many(bench: Bench, key: Signer) -> None:
    sealed(bench, key, rounds=1)
    bench.log.truncate(EVENTS, 1)
    bench.log.delete(AUDIT_CHECKPOINTS.name)
    bench.create()
    sealed(bench, key, rounds=1)
    assert account(bench, key).findings == ()
    (first, *later), others = on_events(bench)
    records = [changed(first, offset=0), first, *later, *others]
    (finding,) = account(bench, key, records).findings
    assert (finding.code, finding.first, finding.last) == ("records_differ", 0, 0)


def of_segment(path: Path, key: Signer) -> AuditResult:
    content = segment.read(path)
    return verify(content.records, content.checkpoints, (), {key.verifier.id: key.verifier})


def edited(bench: Bench, path: Path, edit: Callable[[Json], Json | None]) -> None:
    """A segment whose lines behind the first went through `edit`."""
    segment.write(path, checkpoints(bench.log, ""), facts(bench))
    head, *lines = path.read_text("utf-8").splitlines()
    objects = [edit(json.loads(line)) for line in lines]
    texts = [json.dumps(line) for line in objects if line is not None]
    path.write_text("\n".join([head, *texts]) + "\n", "utf-8")


def test_records_whose_checkpoints_were_left_out_are_not_covered(
    bench: Bench, key: Signer, tmp_path: Path
) -> None:
    sealed(bench, key)
    records, _ = on_events(bench)
    path = tmp_path / "a.jsonl"

    def without(line: Json) -> Json | None:
        checkpoint = line.get("checkpoint")
        return (
            None
            if checkpoint and (checkpoint["topic"], checkpoint["partition"]) == EVENTS
            else line
        )

    edited(bench, path, without)
    (standing,) = [s for s in of_segment(path, key).partitions if s.place == "apc.events/1"]
    assert (standing.sequence, standing.beyond) == (0, len(records))


MALFORMED: tuple[Json, ...] = (
    {"checkpoint": {}},
    {"checkpoint": 5},
    {"checkpoint": None},
    {"record": {"topic": "apc.events"}},
    {"record": 5},
    {"other": 1},
)


@pytest.mark.parametrize("line", MALFORMED, ids=json.dumps)
def test_a_line_that_is_neither_is_refused(bench: Bench, tmp_path: Path, line: Json) -> None:
    path = tmp_path / "a.jsonl"
    segment.write(path, [], [])
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")
    with pytest.raises(InvalidInput, match=r"line 2: this is no"):
        list(segment.read(path).records)


@pytest.mark.parametrize("member", ["offset", "timestamp", "partition", "topic", "key", "headers"])
@pytest.mark.parametrize("value", [1.5, 1 << 70, True, [1]], ids=repr)
def test_a_record_of_another_form_is_refused(
    bench: Bench, key: Signer, tmp_path: Path, member: str, value: Any
) -> None:
    sealed(bench, key, rounds=1)

    def spoiled(line: Json) -> Json:
        return {"record": {**line["record"], member: value}} if "record" in line else line

    edited(bench, tmp_path / "a.jsonl", spoiled)
    with pytest.raises(InvalidInput, match="this is no record"):
        of_segment(tmp_path / "a.jsonl", key)


def test_a_spoiled_archive_is_refused(bench: Bench, key: Signer, tmp_path: Path) -> None:
    sealed(bench, key)
    path = tmp_path / "a.jsonl.gz"
    segment.write(path, checkpoints(bench.log, ""), facts(bench))
    whole = path.read_bytes()
    for cut in (whole[:40], whole[:-9], whole[:60] + b"\xff" * 40 + whole[100:], b"plain"):
        path.write_bytes(cut)
        with pytest.raises(InvalidInput, match="segment_invalid"):
            of_segment(path, key)
    path.write_bytes(gzip.compress(b"\x00"))
    with pytest.raises(InvalidInput, match="segment_invalid"):
        of_segment(path, key)


def test_a_line_without_end_is_read_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment, "MAX_LINE_BYTES", 1000)
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b" " * 2_000_000))
    with pytest.raises(InvalidInput, match="more than 1000 bytes"):
        segment.read_record(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        segment.read(tmp_path / "none.jsonl")


def test_headers_without_a_value_are_exported_as_they_are(
    bench: Bench, key: Signer, tmp_path: Path
) -> None:
    none: Any = [("empty", b""), ("none", None)]
    bench.log.append([Output("apc.events", b"k", b"v", none, 1)])
    sealed(bench, key, rounds=1)
    path = tmp_path / "a.jsonl"
    segment.write(path, checkpoints(bench.log, ""), facts(bench))
    assert of_segment(path, key).findings == ()


def test_a_place_of_no_partition_is_no_chain_of_ours(bench: Bench, key: Signer) -> None:
    sealed(bench, key, rounds=1)
    stray = {**own_chain(bench)[0], "topic": "elsewhere"}
    value = encode(AUDIT_CHECKPOINTS.record or "", stray)
    bench.log.append([Output(AUDIT_CHECKPOINTS.name, b"elsewhere/1", value)])
    sealed(bench, key, rounds=1)
    findings = account(bench, key).findings
    assert [each.place for each in findings] == ["elsewhere/1"]
