"""The transparency log on a real broker: each record has one entry, whatever is killed."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path

import httpx
import pytest

from streams.engine.records import TopicPartition
from streams.log.reading import partitions, records
from streams.ops.tlog.batches import EntrySequence
from streams.ops.tlog.crash_points import POINTS
from streams.ops.tlog.entries import RecordEntry, parse_entry
from streams.ops.tlog.heads import choose_newest, read_heads
from streams.ops.tlog.logged_topics import LOGGED
from streams.ops.tlog.policy import Policy, parse_policy
from streams.ops.tlog.tiles import WIDTH, Tile
from tests.integration.system import Live, live
from tests.interop.go_tools import GoTool
from tests.processes import Process, environ_of, named, wait_for
from tests.unit.envelopes import idea
from topology.core import AUDIT_ENTRIES
from topology.topics import full_name

pytestmark = pytest.mark.slow

ORIGIN = "hr.example.com/tlog"
KILLS = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("audit-log")


@pytest.fixture(scope="module")
def system(broker: str, folder: Path) -> Iterator[Live]:
    key = str(folder / "auditor.pem")
    run_audit({}, "key", key, "--origin", ORIGIN)
    settings = {"AUDIT_KEY": key, "TLOG_POLICY": f"{key}.policy", "TLOG_DIR": str(folder / "tlog")}
    with live(broker, folder, **settings) as running:
        yield running


def run_audit(settings: dict[str, str], *arguments: str, code: int = 0) -> str:
    done = audit(settings, *arguments)
    assert done.returncode == code, done.stderr + done.stdout
    return done.stdout


def audit(settings: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "streams.cli", "audit", *arguments]
    return subprocess.run(
        command,
        env=environ_of(named(settings)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def send(system: Live, numbers: range) -> list[str]:
    """Send packets without timers, wait until all are judged, and return their positions."""
    with system.client as client:
        packets = [idea(number, routing__requires_ack=False) for number in numbers]
        positions: list[str] = client.post("/v1/apc/packets", json=packets).json()["positions"]
        last_of_each = {position.rpartition("/")[0]: position for position in positions}
        for position in last_of_each.values():
            response = client.get("/v1/apc/packets", params={"after": position, "limit": 1})
            assert response.status_code == 200, response.text
    return positions


def policy_of(folder: Path) -> Policy:
    return parse_policy((folder / "auditor.pem.policy").read_bytes())


def read_log(system: Live, folder: Path, sizes: set[int]) -> tuple[EntrySequence, list[bytes]]:
    """Return the log, which checks every signature and tree, and its entries."""
    state = EntrySequence(ORIGIN, policy_of(folder).keys_of(ORIGIN), sizes)
    tps = partitions(system.log, [full_name(AUDIT_ENTRIES, system.prefix)])
    written = records(system.log, tps, system.log.high_watermarks(tps))
    return state, [line for record in written for line in state.read(record)]


def facts(system: Live) -> set[tuple[TopicPartition, int]]:
    """Return the places of all committed records that have entries."""
    tps = partitions(system.log, [full_name(topic, system.prefix) for topic in LOGGED])
    logged = records(system.log, tps, system.log.high_watermarks(tps))
    return {(TopicPartition(each.topic, each.partition), each.offset) for each in logged}


def has_entries(system: Live, folder: Path, goal: int) -> bool:
    return len(read_log(system, folder, set())[1]) >= goal


def start_writer(system: Live, name: str, **environ: str) -> Process:
    return system.process(name, "streams.cli", "audit", "write", "--every", "0.1", **environ)


def check_log(system: Live, folder: Path) -> None:
    """Check that each record has one entry, and that each published head is a root of the log."""
    heads = read_heads(system.log, system.prefix, policy_of(folder), ORIGIN)
    state, lines = read_log(system, folder, {head.checkpoint.size for head in heads})
    for head in heads:
        assert state.roots[head.checkpoint.size] == head.checkpoint.root
    places = Counter(
        (TopicPartition(entry.topic, entry.partition), entry.offset)
        for entry in map(parse_entry, lines)
        if isinstance(entry, RecordEntry)
    )
    assert max(places.values()) == 1
    assert places.keys() == facts(system)
    newest = choose_newest(heads)
    assert newest is not None
    assert newest.checkpoint.size == len(lines)
    assert (folder / "tlog" / "checkpoint").read_bytes() == newest.note.encode()
    verified = json.loads(run_audit(system.environ, "verify", "--json"))
    assert (verified["holds"], verified["covered"], verified["size"]) == (True, True, len(lines))


def test_each_record_has_one_entry_whatever_is_killed(system: Live, folder: Path) -> None:
    dice = random.Random(20)
    for kill in range(KILLS):
        writer = start_writer(system, f"writer-{kill}")
        if kill == 0:
            send(system, range(1, 3))
            writer.wait_text("published")
        goal = len(read_log(system, folder, set())[1]) + dice.randrange(1, 30)
        send(system, range(100 * (kill + 1), 100 * (kill + 1) + 40))
        wait_for(partial(has_entries, system, folder, goal), "entries")
        writer.kill()
    run_audit(system.environ, "write", "--once")
    check_log(system, folder)


STANDING = {
    "audit-before-commit": (False, False),
    "audit-after-commit": (True, False),
    "audit-in-tiles": (True, False),
    "audit-after-sign": (True, False),
    "audit-after-witness": (True, False),
    "audit-before-publish": (True, True),
}
"""Whether entries, and a tree head, are on the log when the writer is killed at a point."""


@pytest.mark.parametrize("lost", [False, True], ids=["folder-there", "folder-lost"])
@pytest.mark.parametrize("point", POINTS)
def test_a_crash_at_each_point_leaves_one_history(
    system: Live, folder: Path, numbers: Iterator[range], point: str, lost: bool
) -> None:
    send(system, next(numbers))
    run_audit(system.environ, "write", "--once")
    before = count_written(system, folder)
    checkpoint = (folder / "tlog" / "checkpoint").read_bytes()
    send(system, next(numbers))
    writer = start_writer(system, f"{point}-{lost}", CRASH_AT=point)
    assert writer.exit_code() == -signal.SIGKILL
    after = count_written(system, folder)
    assert tuple(now > then for now, then in zip(after, before, strict=True)) == STANDING[point]
    assert (folder / "tlog" / "checkpoint").read_bytes() == checkpoint
    if lost:
        shutil.rmtree(folder / "tlog")
    run_audit(system.environ, "write", "--once")
    check_log(system, folder)


def count_written(system: Live, folder: Path) -> tuple[int, int]:
    """Return the numbers of entries and of published heads."""
    heads = read_heads(system.log, system.prefix, policy_of(folder), ORIGIN)
    return len(read_log(system, folder, set())[1]), len(heads)


@pytest.fixture(scope="module")
def numbers() -> Iterator[range]:
    """Return the numbers of packets that were not sent yet, ten at a time."""
    return (range(first, first + 10) for first in count(10_000, 10))


def test_the_last_of_two_writers_stays(system: Live, folder: Path) -> None:
    first = start_writer(system, "writer-first")
    send(system, range(5000, 5010))
    first.wait_text("published")
    second = start_writer(system, "writer-second")
    numbers = iter(range(6000, 9000))

    def first_gave_way() -> bool:
        send(system, range(next(numbers), 9000)[:1])
        return not first.running

    wait_for(first_gave_way, "the first writer gives way")
    assert "another audit writer has begun" in first.text()
    send(system, range(9100, 9110))
    second.wait_text("published")
    second.kill()
    run_audit(system.environ, "write", "--once")
    heads = read_heads(system.log, system.prefix, policy_of(folder), ORIGIN)
    state, _ = read_log(system, folder, {head.checkpoint.size for head in heads})
    assert all(state.roots[head.checkpoint.size] == head.checkpoint.root for head in heads)


@pytest.fixture(scope="module")
def go_program(tmp_path_factory: pytest.TempPathFactory) -> GoTool:
    module = Path(__file__).parents[1] / "interop" / "tlog"
    return GoTool(".", tmp_path_factory.mktemp("go"), module)


def test_go_proves_what_the_folder_and_the_gateway_hold(
    system: Live, folder: Path, numbers: Iterator[range], go_program: GoTool, tmp_path: Path
) -> None:
    for _ in range(3):
        send(system, next(numbers))
        run_audit(system.environ, "write", "--once")
    heads = read_heads(system.log, system.prefix, policy_of(folder), ORIGIN)
    lines = read_log(system, folder, set())[1]
    for name in ("notes", "receipts"):
        (tmp_path / name).mkdir()
    for head in heads:
        (tmp_path / "notes" / str(head.checkpoint.size)).write_bytes(head.note.encode())
    shutil.copy(folder / "auditor.pem.policy", tmp_path / "policy")
    checkpoint = (folder / "tlog" / "checkpoint").read_bytes()
    with system.client as client:
        wait_for(
            lambda: client.get("/tlog/checkpoint").content == checkpoint, "the gateway has the log"
        )
        for index in {0, len(lines) // 2, len(lines) - 1}:
            receipt = tmp_path / "receipts" / str(index)
            receipt.write_bytes(get_receipt(client, lines[index]))
            run_audit({}, "check", str(receipt), "--policy", str(tmp_path / "policy"))
    shutil.copytree(folder / "tlog", tmp_path / "changed")
    path = tmp_path / "changed" / Tile(None, 0, min(WIDTH, len(lines))).path
    path.write_bytes(path.read_bytes()[:-2] + b"x\n")
    places = [str(folder / "tlog"), f"{system.url}/tlog", str(tmp_path / "changed")]
    key = str(folder / "auditor.pem.vkey")
    runs = [go_program.run("log", key, place, cwd=tmp_path) for place in places]
    assert [ran.returncode for ran in runs] == [0, 0, 1], [ran.stderr for ran in runs]
    notes = len({head.checkpoint.size for head in heads})
    assert runs[0].stdout == runs[1].stdout == f"{notes} notes, {len(lines)} entries\n"


@pytest.fixture(scope="module")
def fsck(tmp_path_factory: pytest.TempPathFactory) -> GoTool:
    module = Path(__file__).parents[1] / "interop" / "fsck"
    return GoTool(".", tmp_path_factory.mktemp("fsck"), module)


def test_the_fsck_of_tessera_reads_the_gateway_and_an_export(
    system: Live, folder: Path, numbers: Iterator[range], fsck: GoTool, tmp_path: Path
) -> None:
    send(system, next(numbers))
    run_audit(system.environ, "write", "--once")
    checkpoint = (folder / "tlog" / "checkpoint").read_bytes()
    with system.client as client:
        wait_for(
            lambda: client.get("/tlog/checkpoint").content == checkpoint, "the gateway has the log"
        )
    export = tmp_path / "export"
    run_audit(system.environ, "export", str(export))
    key = str(folder / "auditor.pem.vkey")
    for place in (f"{system.url}/tlog", str(folder / "tlog"), str(export / "tlog")):
        ran = fsck.run(key, place, cwd=tmp_path)
        assert (ran.returncode, ran.stdout) == (0, "whole\n"), ran.stderr
    policy = str(folder / "auditor.pem.policy")
    command = ("verify", "--json", "--segment", str(export), "--policy", policy)
    verified = json.loads(run_audit({}, *command))
    assert (verified["holds"], verified["covered"]) == (True, True)
    assert sum(each["records"] for each in verified["partitions"]) == verified["size"]


def get_receipt(client: httpx.Client, line: bytes) -> bytes:
    entry = parse_entry(line)
    assert isinstance(entry, RecordEntry)
    response = client.get(f"/v1/audit/receipts/{entry.position}")
    assert response.status_code == 200, response.text
    return response.content
