"""Tests of `GET /v1/audit/log`: how far the log is published, and what it covers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from schemas import encode
from streams.engine.records import Output
from streams.gateway.log_metrics import ALL
from streams.ops.audit import Signer
from streams.ops.audit.chain import Head
from streams.ops.tlog.note import Checkpoint, to_base64
from streams.ops.tlog.writer import NOT_PUBLISHED
from tests.unit.doors.tlog.served import ServedLog, get, rule_of
from tests.unit.gateway.test_answers import conforms
from tests.unit.ops.tlog.example_log import ORIGIN, PRIVATE
from tests.unit.ops.tlog.logged import ENTRIES, EVENTS, HEADS, PARTITIONS
from topology.core import AUDIT_CHECKPOINTS

PATH = "/v1/audit/log"


@pytest.fixture
def served(tmp_path: Path) -> ServedLog:
    return ServedLog(tmp_path)


def status_of(http: httpx.AsyncClient) -> dict[str, Any]:
    response = get(http, PATH)
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    conforms("GET", PATH, 200, body)
    return body


def partitions_of(body: dict[str, Any]) -> dict[tuple[str, int], tuple[int, int, int]]:
    return {
        (each["topic"], each["partition"]): (each["covered_to"], each["end"], each["uncovered"])
        for each in body["partitions"]
    }


def test_a_log_that_is_published_whole(served: ServedLog) -> None:
    served.write(300)
    with served.gateway() as http:
        body = status_of(http)
    checkpoint = served.logged.checkpoint()
    assert (body["origin"], body["size"], body["sequenced"]) == (ORIGIN, 300, 300)
    assert body["root"] == to_base64(checkpoint.root)
    assert (body["quorum"], body["conflict"], body["refused"]) == (True, False, 0)
    assert (body["cosigners"], body["published_at"][:10]) == ([], "2024-11-24")
    partitions = partitions_of(body)
    assert partitions[EVENTS] == (300, 301, 0)  # the marker of the transaction is no record
    assert partitions[PARTITIONS[1]] == (0, 0, 0)


def test_what_is_not_published_is_not_covered(
    served: ServedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.write(3)
    served.logged.write_facts(300)
    with monkeypatch.context() as patched, served.logged.writer() as writer:
        patched.setattr(writer, "_publish", lambda: NOT_PUBLISHED)
        writer.round()
    served.logged.write_facts(5)
    with served.gateway() as http:
        body = status_of(http)
    assert (body["size"], body["sequenced"]) == (3, 303)
    assert partitions_of(body)[EVENTS] == (3, 311, 305)


def test_before_the_first_checkpoint(served: ServedLog) -> None:
    with served.gateway() as http:
        body = status_of(http)
    assert (body["size"], body["root"], body["published_at"]) == (0, None, None)
    assert body["quorum"] is False


def test_noise_is_counted_and_a_forked_checkpoint_is_a_conflict(served: ServedLog) -> None:
    served.write(5)
    served.logged.log.append([Output(ENTRIES.topic, ORIGIN.encode(), b"noise")])
    served.logged.log.append([Output(HEADS.topic, ORIGIN.encode(), b"noise")])
    with served.gateway() as http:
        assert (status_of(http)["conflict"], status_of(http)["refused"]) == (False, 2)
    served.logged.add_head(Checkpoint(ORIGIN, 4, bytes(32)))
    with served.gateway() as http:
        body = status_of(http)
    assert (body["conflict"], body["refused"], body["size"]) == (True, 2, 5)


def metrics_of(http: httpx.AsyncClient) -> dict[str, float]:
    """Return the values of the log's metrics by their names and labels."""
    lines = get(http, "/metrics").text.splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    names = tuple(declared.name for declared in ALL)
    return {name: float(value) for name, value in values.items() if name.startswith(names)}


def test_metrics_say_how_far_the_log_is_published(
    served: ServedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.write(3)
    served.logged.log.append([Output(ENTRIES.topic, ORIGIN.encode(), b"noise")])
    with served.gateway() as http:
        assert metrics_of(http) == {
            'headrace_tlog_entries{state="sequenced"}': 3,
            'headrace_tlog_entries{state="published"}': 3,
            "headrace_audit_unpublished_seconds": 0,
            "headrace_tlog_conflict": 0,
            "headrace_tlog_refused_total": 1,
        }
    served.logged.write_facts(2)
    with monkeypatch.context() as patched, served.logged.writer() as writer:
        patched.setattr(writer, "_publish", lambda: NOT_PUBLISHED)
        writer.round()
    served.logged.now += 60_000
    with served.gateway() as http:
        metrics = metrics_of(http)
    assert metrics['headrace_tlog_entries{state="sequenced"}'] == 5
    assert metrics['headrace_tlog_entries{state="published"}'] == 3
    assert 60 <= metrics["headrace_audit_unpublished_seconds"] < 70
    with served.gateway(tlog_policy=None) as http:
        assert metrics_of(http) == {}


def unpublished_s(served: ServedLog) -> float:
    with served.gateway() as http:
        return metrics_of(http)["headrace_audit_unpublished_seconds"]


def write_checkpoint(served: ServedLog) -> None:
    """Write a checkpoint of a chain, a record that a view reads and that has an entry."""
    _, checkpoint = Head.genesis(EVENTS, 0).sealed(Signer(PRIVATE), served.logged.tick())
    value = encode(AUDIT_CHECKPOINTS.record or "", checkpoint)
    served.logged.log.append([Output(AUDIT_CHECKPOINTS.name, b"apc.events/0", value)])


def test_facts_grow_old_while_no_writer_runs(served: ServedLog) -> None:
    write_checkpoint(served)
    served.logged.now += 600_000
    assert 600 <= unpublished_s(served) < 610
    served.write(0)
    assert unpublished_s(served) == 0
    write_checkpoint(served)
    assert 0 < unpublished_s(served) < 60


def test_without_a_policy_there_is_no_log(served: ServedLog) -> None:
    with served.gateway(tlog_policy=None) as http:
        assert rule_of(get(http, PATH)) == (404, "tlog_off")
