"""The snapshot store on the log (ASAP guide, 4.4), over HTTP and the system in memory."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from schemas.asap import ASAPError, TaskAlreadyCompletedError, TaskNotFoundError
from streams import ASAPConnectionError, StreamSnapshotStore
from tests.unit.asap.served import served
from tests.unit.asap.snapshot_contract import SnapshotContract, snapshot
from tests.unit.asap.support import AGENT, PAYLOADS, envelope_json
from tests.unit.protocols.asap.routes.asap_bench import AsapBench, asap_bench, from_worker

THREADS, EACH = 4, 10


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AsapBench]:
    with asap_bench(tmp_path_factory.mktemp("snapshots")) as snapshots_bench:
        yield snapshots_bench


@pytest.fixture(scope="module")
def url(bench: AsapBench) -> Iterator[str]:
    with served(bench.app) as address:
        yield address


@pytest.fixture
def store(url: str) -> Iterator[StreamSnapshotStore]:
    with StreamSnapshotStore(url, AGENT) as snapshot_store:
        yield snapshot_store


def task_ids(bench: AsapBench, **config: object) -> Iterator[str]:
    while True:
        payload = {**PAYLOADS["TaskRequest"], "config": config or None}
        yield str(bench.result(envelope_json(payload=payload))["task_id"])


@pytest.fixture
def tasks(bench: AsapBench) -> Iterator[str]:
    return task_ids(bench)


class TestOnTheLog(SnapshotContract):
    pass


def test_what_a_worker_saved_outlives_it(
    url: str, store: StreamSnapshotStore, tasks: Iterator[str]
) -> None:
    task = next(tasks)
    made = [store.create_snapshot(task, {"page": n}, checkpoint=n == 1) for n in (1, 2)]
    with StreamSnapshotStore(url, AGENT) as other:
        assert other.get(task) == made[1]
        assert other.latest_checkpoint(task) == made[0]
        assert other.create_snapshot(task, {}).version == 3


def test_versions_have_no_gap_and_no_double_whatever_runs_at_once(
    url: str, tasks: Iterator[str]
) -> None:
    task = next(tasks)

    def work(number: int) -> list[int]:
        with StreamSnapshotStore(url, AGENT) as thread_store:
            return [thread_store.create_snapshot(task, {"by": number}).version for _ in range(EACH)]

    with ThreadPoolExecutor(THREADS) as pool:
        versions = [version for each in pool.map(work, range(THREADS)) for version in each]
    assert sorted(versions) == list(range(1, THREADS * EACH + 1))


def test_only_the_worker_saves(url: str, tasks: Iterator[str]) -> None:
    task = next(tasks)
    with StreamSnapshotStore(url, "urn:asap:agent:other") as other:
        with pytest.raises(ASAPError) as caught:
            other.create_snapshot(task, {})
        assert caught.value.code == "asap:security/permission_denied"
        assert caught.value.details["rule"] == "not_participant"
        assert other.list_versions(task) == []


def test_a_task_that_nobody_knows(store: StreamSnapshotStore) -> None:
    with pytest.raises(TaskNotFoundError) as caught:
        store.save(snapshot("nobody-s", 1))
    assert caught.value.task_id == "nobody-s"
    assert store.delete("nobody-s") is False


def test_a_task_that_has_ended(
    bench: AsapBench, store: StreamSnapshotStore, tasks: Iterator[str]
) -> None:
    task = next(tasks)
    first = store.create_snapshot(task, {"n": 1})
    bench.result(from_worker("TaskResponse", task, status="completed"))
    with pytest.raises(TaskAlreadyCompletedError) as caught:
        store.restore(task, first.id)
    assert caught.value.current_status == "completed"


def test_an_event_sourced_task_numbers_its_states_itself(
    bench: AsapBench, store: StreamSnapshotStore
) -> None:
    task = next(task_ids(bench, state_mode="event-sourced"))
    with pytest.raises(ASAPError) as caught:
        store.save(snapshot(task, 5))
    assert caught.value.code == "asap:protocol/invalid_state"
    assert caught.value.details["rule"] == "state_mode_conflict"
    made = store.create_snapshot(task, {"n": 1})
    assert (made.version, made.id) == (2, f"{task}@2")
    assert store.get(task, 2) == made


def test_a_service_that_is_away() -> None:
    store = StreamSnapshotStore("http://127.0.0.1:9", AGENT, timeout=1.0)
    with store, pytest.raises(ASAPConnectionError, match="connection"):
        store.get("t-1")


@pytest.mark.parametrize("url", ["", "ftp://x", "127.0.0.1"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(ValueError, match="Invalid"):
        StreamSnapshotStore(url, AGENT)
