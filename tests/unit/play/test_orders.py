"""What play fills in for requests, and what text it takes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streams.play import fill
from streams.play.lines import LineError
from streams.play.scenario import play
from streams.settings import Settings
from tests.unit.envelopes import idea, transition

Json = dict[str, Any]
ONE = Settings(partitions=1)
REWIND = "/v1/saop/sessions/s1/rewind"
ORDER = {"query": f"POST {REWIND}", "body": {"git_hash": "5c0ffee"}}


def run(*lines: Json) -> list[Json]:
    return list(play([json.dumps(line) for line in lines], ONE))


def commit(n: int = 1) -> Json:
    event = transition(n)
    return {
        "topic": "rtes.raw",
        "value": event | {"payload": event["payload"] | {"git_hash": "5c0ffee"}},
    }


def without_lines(outputs: list[Json]) -> list[Json]:
    return [{name: x for name, x in output.items() if name != "input"} for output in outputs]


def test_a_rewind_ordered_without_an_id_is_the_same_on_every_run() -> None:
    outputs = run(commit(), ORDER, ORDER)
    assert outputs == run(commit(), ORDER, ORDER)
    restart = {"restart": True}
    assert without_lines(outputs) == without_lines(run(commit(), restart, ORDER, restart, ORDER))
    ids = [x["value"]["rewind_id"] for x in outputs if x.get("topic") == "saop.rewind-log"]
    assert len(set(ids)) == 2


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", REWIND, {"rewind_id": "mine"}),
        ("POST", REWIND, ["no object"]),
        ("POST", REWIND, "no JSON"),
        ("POST", "/v1/saop/turns", {}),
        ("GET", REWIND, {}),
    ],
)
def test_nothing_else_is_filled_in(method: str, path: str, body: object) -> None:
    assert fill.fill_body(method, path, body, 1, lambda: "new") is body


@pytest.mark.parametrize("body", [{"task_id": "t"}, '{"task_id": "t"}'])
def test_an_order_is_filled_in_as_text_and_as_a_value(body: object) -> None:
    filled = fill.fill_body("POST", REWIND, body, 1, lambda: "new")
    assert sorted(filled) == ["rewind_id", "task_id"]
    assert (
        filled["rewind_id"] != fill.fill_body("POST", REWIND, body, 2, lambda: "new")["rewind_id"]
    )


def test_a_lone_surrogate_gets_the_edges_answer() -> None:
    outputs = run(
        {"topic": "rtes.raw", "value": transition() | {"session_id": "\ud800"}},
        {"topic": "apc.packets", "value": idea() | {"x": "\ud800"}},
    )
    assert [x["rejected"]["rule"] for x in outputs] == ["text_invalid", "json_invalid"]


@pytest.mark.parametrize("member", [{"key": "\ud800"}, {"headers": {"h": "\ud800"}}])
def test_keys_and_headers_are_text(member: Json) -> None:
    with pytest.raises(LineError, match="lone surrogate"):
        run({"topic": "rtes.raw", "value": transition(), **member})
