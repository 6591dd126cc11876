"""A gateway that is lost, found, slow or in the way, and what agents may write."""

from __future__ import annotations

from typing import Any

import pytest

from streams.cli.watch.app import Details
from streams.cli.watch.details import explain, open_thing
from streams.cli.watch.gateway import WatchedGateway
from streams.cli.watch.lines import ListRow, text_of
from streams.errors import GatewayUnavailable, Unauthenticated
from streams.settings import Settings
from tests.unit.cli.hostile_values import HOSTILE
from tests.unit.cli.watch.stub import Answer, WatchedStub, serving, thought
from tests.unit.cli.watch.watching import Watching, watching


@pytest.mark.asyncio
async def test_a_lost_gateway_is_shown_and_one_that_is_back_is_found(stub: WatchedStub) -> None:
    async with watching(stub) as watched:
        stub.send(thought(1, "Before."))
        await watched.until_text("1 received")
        stub.lose()
        await watched.until_text("s old, asking again: no gateway answers at")
        assert "commands   11" in watched.text
        await watched.press("3")
        await watched.until_text("packet_conflict")
        stub.lose(False)
        stub.send(thought(2, "After."))
        await watched.until_text("● current")
        await watched.press("2")
        await watched.until_text("2 received")
        assert [row.key for row in watched.app.tail.rows] == ["s-9 1"]


@pytest.mark.asyncio
async def test_a_problem_is_shown_while_it_lasts(answer: Answer) -> None:
    refused: list[int] = []

    def refusing(path: str) -> tuple[int, Any]:
        if refused:
            return 401, {"status": 401, "detail": "The token is revoked.", "rule": "token_unknown"}
        return answer(path)

    with serving(refusing) as stub:
        async with watching(stub) as watched:
            refused.append(401)
            await watched.until_text("asking again: The token is revoked.")
            refused.clear()
            await watched.until_text("● current")


@pytest.mark.asyncio
async def test_texts_of_agents_are_text_everywhere(answer: Answer) -> None:
    def hostile(path: str) -> tuple[int, Any]:
        status, body = answer(path)
        return status, _hostile(body)

    with serving(hostile) as stub:
        async with watching(stub, width=160, height=40) as watched:
            stub.send(thought(1, HOSTILE), thought(2, HOSTILE, turn=4))
            await watched.until_text("2 received")
            for pane in "123":
                await watched.press(pane)
                await _until_escaped(watched)
            for key in ("enter", "e"):
                await watched.open(key)
                await _until_escaped(watched)
            await watched.press("5")
            await watched.until_text("undecodable")
            await _until_escaped(watched)
            await watched.open("enter")
            await _until_escaped(watched)
            await watched.press("escape", "c")
            await watched.until(lambda: bool(watched.app._notifications), "a toast")
            await _until_escaped(watched)


async def _until_escaped(watched: Watching) -> None:
    await watched.until_text("[red]a[/red]\\x1b[31m")
    assert all(line.isprintable() for line in watched.lines), watched.text
    assert "\u202e" not in watched.text


def _hostile(value: Any, name: str = "") -> Any:
    """Return the answer with hostile texts in the members that others write."""
    if isinstance(value, dict):
        return {key: _hostile(member, key) for key, member in value.items()}
    if isinstance(value, list):
        return [_hostile(member, name) for member in value]
    free = ("message", "title", "rule", "code", "key", "principal", "id", "detail", "kind")
    return HOSTILE if isinstance(value, str) and name in free else value


def test_without_a_gateway_it_says_so() -> None:
    with pytest.raises(GatewayUnavailable, match="no gateway answers at"):
        WatchedGateway(Settings(url="http://127.0.0.1:9")).get("/v1/service")
    nowhere = Settings(bootstrap="127.0.0.1:1")
    with pytest.raises(GatewayUnavailable, match="headrace up"):
        WatchedGateway(nowhere).get("/v1/service")


def test_the_token_is_sent_and_a_refusal_is_raised() -> None:
    def answer(path: str) -> tuple[int, Any]:
        return 401, {"status": 401, "detail": f"no {path}", "rule": "token_unknown"}

    with serving(answer) as stub, pytest.raises(Unauthenticated):
        WatchedGateway(Settings(url=stub.url)).get("/v1/overview", window="1h")
    assert stub.requests == ["/v1/overview?window=1h"]


@pytest.mark.parametrize("function", [open_thing, explain])
def test_what_was_refused_and_made_no_thing_is_shown_as_a_record(
    function: Details, stub: WatchedStub
) -> None:
    row = ListRow("apc.events/0/4", (), "apc:packet:none", "apc.packets/0/2", "apc.events/0/4")
    lines = [text_of(line) for line in function(stub.gateway.get, row, 79)]
    assert any(line.startswith("apc.packets/0/2") for line in lines)
    assert any("packet_conflict" in line for line in lines)
    assert any("derived again" in line for line in lines) == (function is explain)
