"""An export of a log is checked without a broker, and names what was changed in it."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from streams.errors import InvalidInput, NotFound, UsageError
from streams.log.reading import partitions
from streams.ops.tlog.export import LOG, POLICY, RECORDS, ExportCounts, write_export
from streams.ops.tlog.export_check import verify_export
from streams.ops.tlog.keys import verifier_key
from streams.ops.tlog.logged_topics import LOGGED
from streams.ops.tlog.policy import Policy, parse_policy
from streams.ops.tlog.verify import LogResult
from tests.unit.ops.tlog import example_log
from tests.unit.ops.tlog.example_log import ORIGIN
from tests.unit.ops.tlog.logged import EVENTS, KEYS, PARTITIONS, Logged

COUNT = 300
"""The number of facts of each of two partitions, so that the log has a full tile and a partial."""
Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Export a log, and return the folder."""
    logged = Logged(tmp_path_factory.mktemp("logged"))
    for tp in PARTITIONS[:2]:
        logged.write_facts(COUNT, tp)
    run_round(logged)
    logged.write_facts(2)
    folder = tmp_path_factory.mktemp("export")
    assert export(logged, folder) == ExportCounts(2 * COUNT + 2, 2 * COUNT)
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "export"))


def run_round(logged: Logged) -> None:
    with logged.writer() as writer:
        writer.round()


def export(logged: Logged, folder: Path, *topics: str) -> ExportCounts:
    tps = partitions(logged.log, topics or [topic.name for topic in LOGGED])
    policy = example_log.POLICY.encode()
    return write_export(logged.log, "", KEYS.policy, policy, ORIGIN, tps, folder)


def verify(folder: Path, *topics: str, policy: Policy = KEYS.policy) -> LogResult:
    return verify_export(folder, policy, topics)


def codes_of(result: LogResult) -> set[tuple[str, str, int, int]]:
    return {(each.code, each.place, each.first, each.last) for each in result.findings}


def test_an_export_holds_and_says_what_it_covers(folder: Path) -> None:
    result = verify(folder)
    assert (result.findings, result.origin, result.size) == ((), ORIGIN, 2 * COUNT)
    coverage = {each.place: (each.records, each.beyond) for each in result.partitions}
    assert coverage == {"apc.events/0": (COUNT, 2), "apc.events/1": (COUNT, 0)}
    assert (folder / POLICY).read_text() == example_log.POLICY
    assert parse_policy((folder / POLICY).read_bytes()) == KEYS.policy


def test_topics_are_chosen_when_exporting_and_when_verifying(tmp_path: Path) -> None:
    logged = Logged(tmp_path)
    logged.write_facts(3)
    logged.write_facts(2, PARTITIONS[2])
    run_round(logged)
    assert export(logged, tmp_path / "all").records == 5
    assert export(logged, tmp_path / "some", PARTITIONS[2].topic) == ExportCounts(2, 5)
    (coverage,) = verify(tmp_path / "some").partitions
    assert (coverage.place, coverage.records) == ("audit.checkpoints/0", 2)
    (coverage,) = verify(tmp_path / "all", "apc.events").partitions
    assert (coverage.place, coverage.records) == ("apc.events/0", 3)
    with pytest.raises(UsageError, match=r"apc\.events is not in the export"):
        verify(tmp_path / "some", "apc.events")


def edit(folder: Path, change: Callable[[Lines], Any]) -> None:
    """Change the records of an export; the first line is the format."""
    path = folder / RECORDS
    lines: Lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    change(lines)
    path.write_bytes(gzip.compress("".join(f"{json.dumps(line)}\n" for line in lines).encode()))


def records_of(lines: Lines) -> list[dict[str, Any]]:
    """Return the records of the events, by offset."""
    return [line["record"] for line in lines[1:] if line["record"]["partition"] == 0]


def remove(lines: Lines, first: int, last: int) -> None:
    gone = records_of(lines)[first : last + 1]
    lines[:] = [line for line in lines if line.get("record") not in gone]


def add(lines: Lines) -> None:
    """Add a record where the log has the marker of a transaction."""
    position = max(at for at, line in enumerate(lines) if line.get("record") in records_of(lines))
    lines.insert(position - 1, {"record": {**records_of(lines)[0], "offset": COUNT}})


def swap(lines: Lines) -> None:
    first, second = records_of(lines)[5:7]
    first["value"], second["value"] = second["value"], first["value"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda lines: records_of(lines)[7].update(value="AAAA"), ("records_differ", 7, 7)),
        (lambda lines: records_of(lines)[7].update(timestamp=1), ("records_differ", 7, 7)),
        (lambda lines: records_of(lines)[7].update(key=None), ("records_differ", 7, 7)),
        (lambda lines: records_of(lines)[7].update(headers=[["x", ""]]), ("records_differ", 7, 7)),
        (lambda lines: remove(lines, 4, 6), ("records_missing", 4, 6)),
        (lambda lines: remove(lines, COUNT - 2, COUNT + 1), ("records_missing", COUNT - 2, 299)),
        (swap, ("records_differ", 5, 6)),
    ],
)
def test_a_record_that_was_changed_is_named(
    folder: Path, change: Callable[[Lines], Any], expected: tuple[str, int, int]
) -> None:
    edit(folder, change)
    code, *offsets = expected
    assert codes_of(verify(folder)) == {(code, "apc.events/0", *offsets)}


def test_all_records_that_are_gone_are_named(folder: Path) -> None:
    edit(folder, lambda lines: lines.__delitem__(slice(1, None)))
    places = {f"apc.events/{number}" for number in (0, 1)}
    expected = {("records_missing", place, 0, COUNT - 1) for place in places}
    assert codes_of(verify(folder)) == expected


def test_a_record_behind_its_entries_is_not_covered(folder: Path) -> None:
    edit(folder, add)
    (uncovered,) = verify(folder).uncovered
    assert uncovered.beyond == 3


def spoil(folder: Path, path: str, at: int) -> None:
    data = bytearray((folder / LOG / path).read_bytes())
    data[at] ^= 1
    (folder / LOG / path).write_bytes(data)


@pytest.mark.parametrize(
    ("path", "at", "expected"),
    [
        ("tile/0/000", 40, {("tiles_invalid", "tlog/tile/0/000", 0, 0)}),
        ("tile/0/002.p/88", 0, {("tiles_invalid", "tlog/tile/0/002.p/88", 0, 0)}),
        ("tile/1/000.p/2", 63, {("tiles_invalid", "tlog/tile/1/000.p/2", 0, 0)}),
        (
            "tile/entries/001",
            -74,
            {
                ("head_conflict", "tlog/checkpoint", 0, 0),
                ("tiles_invalid", "tlog/tile/0/001", 0, 0),
                ("tiles_invalid", "tlog/tile/1/000.p/2", 0, 0),
                ("records_differ", "apc.events/1", 211, 211),
            },
        ),
    ],
)
def test_a_log_that_was_changed_is_named(
    folder: Path, path: str, at: int, expected: set[tuple[str, str, int, int]]
) -> None:
    spoil(folder, path, at)
    assert codes_of(verify(folder)) == expected


def test_a_checkpoint_that_the_policy_does_not_accept(folder: Path) -> None:
    key = verifier_key(ORIGIN, Ed25519PrivateKey.from_private_bytes(bytes(32)))
    policy = parse_policy(f"log {key}\nquorum none\n".encode())
    (finding,) = verify(folder, policy=policy).findings
    assert (finding.code, finding.place) == ("log_unknown", "tlog/checkpoint")
    spoil(folder, "checkpoint", len(f"{ORIGIN}\n600\n"))
    codes = {code for code, *_ in codes_of(verify(folder))}
    assert codes == {"signature_invalid", "head_conflict"}


@pytest.mark.parametrize(
    ("path", "data"),
    [
        (f"{LOG}/checkpoint", None),
        (f"{LOG}/checkpoint", b"hello"),
        (f"{LOG}/tile/entries/001", None),
        (f"{LOG}/tile/entries/001", b"\0\5x"),
        (f"{LOG}/tile/entries/002.p/88", b"\0\1x"),
        (RECORDS, gzip.compress(b'{"format": "headrace-audit-segment/1"}\n', mtime=0)),
        (RECORDS, gzip.compress(b'{"format": "headrace-audit-segment/2", "topics": 1}\n', mtime=0)),
        (
            RECORDS,
            gzip.compress(b'{"format": "headrace-audit-segment/2"}\n{"record": 1}\n', mtime=0),
        ),
        (RECORDS, b"no archive"),
        (RECORDS, b""),
    ],
)
def test_a_file_that_is_malformed_or_missing_is_named(
    folder: Path, path: str, data: bytes | None
) -> None:
    (folder / path).unlink()
    if data is not None:
        (folder / path).write_bytes(data)
    with pytest.raises(InvalidInput, match=path) as caught:
        verify(folder)
    assert [problem.rule for problem in caught.value.problems] == ["segment_invalid"]


def test_records_without_topics_are_those_of_all_entries(folder: Path) -> None:
    edit(folder, lambda lines: lines[0].pop("topics"))
    assert verify(folder).findings == ()
    edit(folder, lambda lines: lines.__delitem__(slice(1, None)))
    assert len(verify(folder).findings) == 2


def test_an_export_needs_a_published_log_and_a_folder_of_its_own(tmp_path: Path) -> None:
    logged = Logged(tmp_path)
    logged.write_facts(3, EVENTS)
    with pytest.raises(NotFound, match="no checkpoint"):
        export(logged, tmp_path / "export")
    assert not (tmp_path / "export").exists()
    run_round(logged)
    export(logged, tmp_path / "export")
    with pytest.raises(UsageError, match="is not empty"):
        export(logged, tmp_path / "export")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is no folder"):
        export(logged, tmp_path / "file")
