"""How long `POST /summit` waits for a batch, on a clock of its waits (Summit guide, 6.1)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from streams.asap.blocking import run_without_loop
from streams.engine.records import Output
from streams.settings import Settings
from streams.summit.rpc import Server, commands
from streams.views.reads import ReadOnlyStore
from tests.unit.protocols.summit.queries.stage import cancel, invoke

WAIT_S, VERDICT_S = 30, 5


class Deaf:
    """A host on whose log nothing is judged; the clock goes on by what is waited."""

    def __init__(self) -> None:
        self.settings = Settings(summit_wait_s=WAIT_S, gateway_wait_s=VERDICT_S)
        self.now_s = 100.0
        self.sent = 0

    def monotonic(self) -> float:
        return self.now_s

    async def append(self, outputs: Sequence[Output]) -> list[str]:
        positions = [f"summit.calls/0/{self.sent + number}" for number in range(len(outputs))]
        self.sent += len(outputs)
        return positions

    async def find(self, row: bytes, look: Callable[[ReadOnlyStore], Any], seconds: float) -> None:
        self.now_s += seconds

    async def read(self, look: Callable[[ReadOnlyStore], Any], after: str | None = None) -> Any:
        raise AssertionError("no query is asked")


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> Deaf:
    host = Deaf()
    monkeypatch.setattr(commands, "time", host)
    return host


@pytest.mark.parametrize(
    ("request_of", "prefer", "waited_s"),
    [
        (invoke, None, WAIT_S),
        (invoke, "wait=7", 7),
        (invoke, "wait=0", 0),
        (cancel, None, WAIT_S),
        (cancel, "wait=7", 7),
        (cancel, "wait=0", VERDICT_S),
    ],
)
@pytest.mark.parametrize("many", [1, 20])
def test_a_batch_waits_as_long_as_one_request(
    deaf: Deaf, request_of: Callable[[str], Any], prefer: str | None, waited_s: int, many: int
) -> None:
    batch = [{**request_of(f"r-{number}"), "id": number} for number in range(many)]
    headers = {} if prefer is None else {"Prefer": prefer}
    reply = run_without_loop(Server(deaf).answer(json.dumps(batch).encode(), headers))
    assert [answer["id"] for answer in reply.body] == list(range(many))
    assert {answer["error"]["data"]["rule"] for answer in reply.body} == {"run.pending"}
    assert deaf.now_s - 100.0 == pytest.approx(waited_s)


def test_calls_do_not_wait_longer_for_the_cancels_beside_them(deaf: Deaf) -> None:
    batch = [cancel("r-1"), invoke("r-2"), cancel("r-3"), invoke("r-4")]
    reply = run_without_loop(Server(deaf).answer(json.dumps(batch).encode(), {"Prefer": "wait=1"}))
    assert len(reply.body) == len(batch)
    assert deaf.now_s - 100.0 == pytest.approx(VERDICT_S)
