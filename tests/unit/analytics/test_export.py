"""Check that each record is in one file, once, whatever was killed when."""

from __future__ import annotations

import fcntl
import json
import resource
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import CATALOGUE, encode
from streams.engine.memory import MemoryLog
from streams.engine.records import Output, TopicPartition
from streams.ops.topics import create_topics
from streams.settings import Settings
from tests.examples import example_count
from tests.unit.analytics.lake import TOPIC, append, files, new_log, positions, run, table_of
from tests.unit.schemas.random_values import generator

SIZE = 4
AGENTS, AGENT = "summit.agents", "headrace.summit.SummitAgent"


class Killed(BaseException):
    """The end of the process at a named step."""


STEPS = st.one_of(
    st.tuples(st.just("append"), st.integers(0, 1), st.integers(1, 6)),
    st.tuples(st.just("mark"), st.integers(0, 1), st.just(0)),
    st.tuples(st.just("kill"), st.integers(0, 1), st.integers(0, 5)),
    st.tuples(st.just("export"), st.just(0), st.just(0)),
)


@settings(max_examples=example_count(100), deadline=None)
@given(st.lists(STEPS, max_size=14))
def test_each_record_is_exported_once(steps: list[tuple[str, int, int]]) -> None:
    log = new_log()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "lake"
        for kind, which, count in steps:
            if kind == "append":
                for index in range(count):
                    append(log, which, index)
            elif kind == "mark":
                log.slots(TopicPartition(TOPIC, which)).append(None)
            elif kind == "kill":
                kill(log, path, after=count, renamed=bool(which))
            else:
                run(log, path, offsets_per_file=SIZE)
        run(log, path, offsets_per_file=SIZE)
        tps = [TopicPartition(TOPIC, n) for n in range(2)]
        records = [record for tp in tps for record in log.slots(tp) if record is not None]
        assert positions(path) == [(each.partition, each.offset) for each in records]
        assert all(int(each.stem) % SIZE == 0 for each in files(path))
        assert not list(path.rglob("*.tmp"))
        manifest = json.loads((path / "headrace.json").read_text())
        assert manifest["topics"][TOPIC]["cut"] == list(log.ends(tps).values())
        assert manifest["topics"][TOPIC]["rows"] == len(records)


def kill(log: MemoryLog, path: Path, after: int, renamed: bool) -> None:
    """Export until a file is to be renamed, or has been, for the time after so many others."""
    from streams.analytics import parquet_files

    passes = 0
    put_in_place = parquet_files.put_in_place

    def pass_point(temporary: Path, target: Path) -> None:
        nonlocal passes
        passes += 1
        if renamed or passes <= after:
            put_in_place(temporary, target)
        if passes > after:
            raise Killed

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(parquet_files, "put_in_place", pass_point)
        try:
            run(log, path, offsets_per_file=SIZE)
        except Killed:
            return


def identity_of(path: Path) -> tuple[int, int, int]:
    """Return what changes when a file is written or replaced, but not when it is read."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def test_a_full_file_is_not_touched_again(tmp_path: Path) -> None:
    log = new_log()
    for index in range(SIZE):
        append(log, 0, index)
    run(log, tmp_path, offsets_per_file=SIZE)
    full = identity_of(files(tmp_path)[0])
    append(log, 0, SIZE)
    (done,) = run(log, tmp_path, offsets_per_file=SIZE)
    assert (done.new, done.rows) == (1, SIZE + 1)
    assert identity_of(files(tmp_path)[0]) == full


def test_a_table_has_the_last_row_of_each_key(tmp_path: Path) -> None:
    """Check also that of a key of two parts, which is written once here, it has the first."""
    log, make = new_log(), generator(CATALOGUE.latest(AGENT).schema)
    values = [encode(AGENT, make(Random(n))) for n in range(6)]
    keys = (b"b", b"a", b"b", b"c", b"d/1", b"d/1")
    log.append([Output(AGENTS, *pair, partition=0) for pair in zip(keys, values, strict=True)])
    log.append([Output(AGENTS, key, None, partition=0) for key in (b"c", b"d/1")])
    run(log, tmp_path, AGENTS)
    table = table_of(tmp_path, AGENTS, "tables")
    assert table["_key"].to_pylist() == ["a", "b", "d/1"]
    assert table["_offset"].to_pylist() == [1, 2, 4]


def test_a_table_is_written_anew_only_if_it_has_changed(tmp_path: Path) -> None:
    log, make = new_log(), generator(CATALOGUE.latest(AGENT).schema)
    log.append([Output(AGENTS, b"a", encode(AGENT, make(Random(1))), partition=0)])
    assert [done.new for done in run(log, tmp_path, AGENTS)] == [1]
    assert [done.new for done in run(log, tmp_path, AGENTS)] == [0]
    log.append([Output(AGENTS, b"a", None, partition=0)])
    run(log, tmp_path, AGENTS)
    assert table_of(tmp_path, AGENTS, "tables").num_rows == 0


def test_a_record_that_no_schema_decodes_is_named(tmp_path: Path) -> None:
    log, lines = new_log(), list[str]()
    append(log, 0, 0)
    log.append([Output(TOPIC, b"task-1", b"no record", partition=0)])
    append(log, 0, 1)
    run(log, tmp_path, on_undecodable=lines.append)
    assert lines == [f"{TOPIC}/0/1"]
    assert positions(tmp_path) == [(0, 0), (0, 2)]


def test_records_that_are_gone_end_the_export_unless_accepted(tmp_path: Path) -> None:
    from streams.analytics.errors import LogTruncated

    log, lines = new_log(), list[str]()
    for index in range(6):
        append(log, 0, index)
        if index == 1:
            run(log, tmp_path, offsets_per_file=SIZE)
    log.truncate(TopicPartition(TOPIC, 0), 5)
    with pytest.raises(LogTruncated, match=r"log_truncated: the offsets 2 to 4 of saop\.log/0"):
        run(log, tmp_path, offsets_per_file=SIZE)
    run(log, tmp_path, offsets_per_file=SIZE, accept_gap=True, on_gap=lines.append)
    assert len(lines) == 1
    assert positions(tmp_path) == [(0, 0), (0, 1), (0, 5)]


def test_after_a_full_disk_the_next_export_goes_on(tmp_path: Path) -> None:
    """The limit of the size of a file stands for the disk."""
    from streams.analytics.errors import ExportFailed

    log = new_log()
    for index in range(20):
        append(log, index % 2, index)
    run(log, tmp_path)
    before = {path: path.read_bytes() for path in files(tmp_path)}
    for index in range(3000):
        append(log, index % 2, index)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    room = max(map(len, before.values())) + 1024
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        with pytest.raises(ExportFailed, match=r"export_failed: .*\.parquet cannot be written"):
            run(log, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {path: path.read_bytes() for path in files(tmp_path)} == before
    run(log, tmp_path)
    assert len(positions(tmp_path)) == len(set(positions(tmp_path))) == 3020
    assert not list(tmp_path.rglob("*.tmp"))


def test_another_log_and_another_size_of_files_are_refused(tmp_path: Path) -> None:
    from streams.analytics.errors import ExportForeign, ExportFormat

    log = new_log()
    run(log, tmp_path)
    before = (tmp_path / "headrace.json").read_bytes()
    with pytest.raises(ExportForeign, match="export_foreign: the folder has cluster_id"):
        run(new_log(), tmp_path)
    with pytest.raises(ExportFormat, match="131072 offsets each"):
        run(log, tmp_path, offsets_per_file=SIZE)
    log.delete(TOPIC)
    create_topics(log, Settings(partitions=2))
    with pytest.raises(ExportForeign, match="created anew"):
        run(log, tmp_path)
    assert (tmp_path / "headrace.json").read_bytes() == before


def test_a_folder_of_other_things_stays_as_it_is(tmp_path: Path) -> None:
    from streams.analytics.errors import ExportFormat

    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ExportFormat, match=r"export_format: .* something else: thesis\.txt"):
        run(new_log(), tmp_path)
    with pytest.raises(ExportFormat, match="is no folder"):
        run(new_log(), tmp_path / "thesis.txt")
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_second_export_into_the_folder_is_refused(tmp_path: Path) -> None:
    from streams.analytics.errors import ExportRunning

    with (tmp_path / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(ExportRunning, match="export_running"):
            run(new_log(), tmp_path)


def test_topics_that_may_not_leave_are_refused(tmp_path: Path) -> None:
    from streams.analytics.errors import TopicInternal, TopicUnknown

    for name in ("rtes.raw", "headrace.changelog", "apc.transfers", "apc.packets.dlq"):
        with pytest.raises(TopicInternal, match="topic_internal"):
            run(new_log(), tmp_path / "lake", name)
    with pytest.raises(TopicUnknown, match="topic_unknown"):
        run(new_log(), tmp_path / "lake", "apc.pakets")
    assert not (tmp_path / "lake").exists()


def test_only_the_owner_can_read_the_files(tmp_path: Path) -> None:
    path = tmp_path / "lake"
    run(new_log(), path)
    modes = {each.stat().st_mode & 0o777 for each in path.rglob("*") if each.is_file()}
    assert modes == {0o600}
    assert {each.stat().st_mode & 0o777 for each in (path, *path.rglob("*/"))} == {0o700}


def test_files_of_an_earlier_schema_are_rewritten(tmp_path: Path) -> None:
    """Check that the later member is null in their rows."""
    from streams.analytics.columns import RECORD_COLUMNS, Columns
    from streams.analytics.parquet_files import read_footer, replaced

    log = new_log()
    append(log, 0, 0)
    run(log, tmp_path)
    path, columns = files(tmp_path)[0], Columns(RECORD_COLUMNS, "headrace.saop.SaopTurnLogged")
    earlier = Columns(RECORD_COLUMNS, "headrace.saop.SaopTurnLogged")
    earlier.schema = columns.schema.remove(columns.schema.get_field_index("dropped_keys"))
    with replaced(path, earlier) as writer:
        writer.copy(path)
        writer.finish(read_footer(path)[0]._replace(avro_schema="{}"))
    append(log, 0, 1)
    run(log, tmp_path)
    assert table_of(tmp_path).schema.equals(columns.schema)
    assert table_of(tmp_path)["dropped_keys"].to_pylist() == [None, 0]
