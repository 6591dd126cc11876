"""Tests of the list of subscriptions, and of `headrace subscriptions`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from streams.cli import common, main
from streams.cli.subscriptions import command
from streams.doors.push.cursors import write_cursor
from streams.doors.push.listing import list_subscriptions
from streams.doors.push.subscriptions import Delivery, State, Subscription
from streams.engine.memory import MemoryLog
from streams.engine.records import Output
from tests.unit.doors.push.support import Clock, new_log
from topology.core import PUSH_DELIVERIES, PUSH_SUBSCRIPTIONS

CURSOR = write_cursor("fact", {"apc.events": [1, 0]})
ACTIVE = Subscription(
    "sub_1",
    1,
    "mcp",
    "kim",
    "fact",
    '{"topic":"apc.events"}',
    "https://hooks.example/secret-path?key=1",
    b"sealed",
    CURSOR,
    1_000,
    refresh_before=2_000_000,
)
OF_TASK = Subscription(
    "a2a_1", 1, "a2a", "", "task-1", '{"agentId":"a"}', "https://h/", b"s", CURSOR, 1
)


@pytest.fixture
def log() -> MemoryLog:
    log = new_log(Clock())
    log.append([Output("apc.events", b"s", b"value", (), number % 2) for number in range(6)])
    subscriptions = [ACTIVE, OF_TASK, ACTIVE._replace(id="sub_2", refresh_before=5)]
    for each in (*subscriptions, ACTIVE._replace(id="sub_3")):
        log.append([Output(PUSH_SUBSCRIPTIONS.name, each.id.encode(), each.encode())])
    log.append([Output(PUSH_SUBSCRIPTIONS.name, b"sub_3", None)])
    delivery = Delivery("a2a_1", 1, CURSOR, State.SUSPENDED, 9, 3, 4, 5, "http_503", "failing")
    log.append([Output(PUSH_DELIVERIES.name, b"a2a_1", delivery.encode())])
    return log


def test_each_subscription_is_listed_without_secrets(log: MemoryLog) -> None:
    pushed, active, expired = list_subscriptions(log, "", 1_000_000)
    assert active == {
        "id": "sub_1",
        "door": "mcp",
        "principal": "kim",
        "name": "fact",
        "arguments": {"topic": "apc.events"},
        "host": "hooks.example",
        "state": "active",
        "reason": None,
        "lag": 5,
        "attempts": 0,
        "last_error": None,
        "last_delivery_at": None,
        "refresh_before": "1970-01-01T00:33:20.000Z",
    }
    assert (expired["id"], expired["state"], expired["lag"]) == ("sub_2", "expired", None)
    assert (pushed["id"], pushed["state"], pushed["lag"]) == ("a2a_1", "suspended", None)
    assert (pushed["attempts"], pushed["last_error"]) == (3, "http_503")
    assert pushed["last_delivery_at"] == "1970-01-01T00:00:00.005Z"


def test_the_command_prints_them(log: MemoryLog, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def connect(settings: object) -> Iterator[MemoryLog]:
        yield log

    monkeypatch.setattr(common, "connect", connect)
    printed = CliRunner().invoke(command, ["--json"], **main.context_settings)
    assert printed.exit_code == 0, printed.output
    ids = [json.loads(line)["id"] for line in printed.output.splitlines()]
    assert ids == ["a2a_1", "sub_1", "sub_2"]
    for arguments in ([], ["--text"]):
        printed = CliRunner(env={"COLUMNS": "200"}).invoke(
            command, arguments, **main.context_settings
        )
        assert printed.exit_code == 0, printed.output
        assert "hooks.example" in printed.output
        assert "http_503" in printed.output
        assert "secret-path" not in printed.output
        assert "sealed" not in printed.output
