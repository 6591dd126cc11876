"""The target `jsonrpc` sees what the servers hide behind the status 200."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from streams.asap.server import Server as AsapServer
from streams.summit.rpc import commands, queries
from streams.summit.rpc.errors import service_unavailable
from streams.views.positions import Position, ViewBehind
from tests.fuzz import rpc_seeds
from tests.fuzz.examples import EXAMPLES
from tests.fuzz.rpc_answers import check_asap, check_summit
from tests.fuzz.targets import jsonrpc

SEND = rpc_seeds.send((EXAMPLES / "asap/task_request.json").read_bytes())
STATUS = b'{"jsonrpc": "2.0", "id": 1, "method": "agent.status", "params": {"runId": "run-7f2"}}'
INVOKE = (EXAMPLES / "summit/calls/invoke.json").read_bytes()
ERROR = b'{"code": -32602, "message": "Invalid params", "data": {"rule": "params.shape"}}'


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """The system that a target keeps."""
    jsonrpc.run(b"\x02[]")
    yield
    jsonrpc.close()


def fail(*args: Any, **kwargs: Any) -> Any:
    raise KeyError("made to fail")


@pytest.mark.parametrize(
    ("owner", "name", "data"),
    [
        (AsapServer, "_serve", b"\0" + SEND),
        (AsapServer, "_serve", b"\1" + SEND),
        (AsapServer, "_label", b"\0" + SEND),
        (queries, "answer", b"\2" + STATUS),
        (queries, "answer", b"\2[" + STATUS + b"]"),
        (commands, "await_outcome", b"\5" + INVOKE),
    ],
)
def test_a_method_that_raises_is_found(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, data: bytes
) -> None:
    jsonrpc.run(data)
    monkeypatch.setattr(owner, name, fail)
    with pytest.raises(AssertionError, match="KeyError: 'made to fail'"):
        jsonrpc.run(data)


def test_a_fault_that_is_but_logged_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def label_and_log(self: AsapServer, payload_type: str | None) -> str:
        logging.getLogger("streams.asap.server").error("a thread has failed")
        return "unknown"

    monkeypatch.setattr(AsapServer, "_label", label_and_log)
    logging.disable(logging.CRITICAL)  # as `python -m tests.fuzz` does
    try:
        with pytest.raises(AssertionError, match="a thread has failed"):
            jsonrpc.run(b"\0" + SEND)
        assert logging.root.manager.disable == logging.CRITICAL
    finally:
        logging.disable(logging.NOTSET)


@pytest.mark.parametrize(
    "answer",
    [
        b'{"jsonrpc": "2.0", "id": 2, "error": %b}' % ERROR,
        b'{"jsonrpc": "2.0", "id": true, "error": %b}' % ERROR,
        b'{"jsonrpc": "2.0", "error": %b}' % ERROR,
        b'{"id": 1, "error": %b}' % ERROR,
        b'{"jsonrpc": "2.0", "id": 1}',
        b'{"jsonrpc": "2.0", "id": 1, "result": {}, "error": %b}' % ERROR,
        b'{"jsonrpc": "2.0", "id": 1, "error": %b}' % ERROR.replace(b"02", b"00"),
        b'{"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "Invalid params"}}',
        b'{"jsonrpc": "2.0", "id": 1, "result": {"n": NaN}}',
        b'[{"jsonrpc": "2.0", "id": 1, "error": %b}]' % ERROR,
        None,
    ],
)
def test_an_answer_that_is_none_is_found(answer: bytes | None) -> None:
    with pytest.raises((AssertionError, AttributeError, ValueError, TypeError)):
        check_summit(STATUS, 200, answer, 100)
    with pytest.raises((AssertionError, AttributeError, ValueError, TypeError, KeyError)):
        check_asap(SEND, answer or b"")


def test_an_answer_that_is_one_is_no_finding() -> None:
    check_summit(STATUS, 200, b'{"jsonrpc": "2.0", "id": 1, "error": %b}' % ERROR, 100)


AFTER = STATUS.replace(
    b'"runId": "run-7f2"', b'"agentId": "word-stats", "after": "summit.calls/0/5"'
)


def test_waiting_for_what_is_not_written_yet_may_end_without_an_answer() -> None:
    jsonrpc.run(b"\2" + AFTER)


def test_an_unavailable_service_is_found_where_nothing_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late = ViewBehind(Position("summit.calls", 0, 5), 0)

    async def answer(*_: Any) -> Any:
        raise service_unavailable(str(late))

    monkeypatch.setattr(queries, "answer", answer)
    with pytest.raises(AssertionError, match="was not seen in time"):
        jsonrpc.run(b"\2" + STATUS)
    jsonrpc.run(b"\2" + AFTER)
