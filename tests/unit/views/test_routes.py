"""Dispatch, producing, `?after=` and problem details."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streams.routes.table import ROUTES
from tests.unit.envelopes import IDEA_ID, ack, idea, packet_id, transition
from tests.unit.views.bench import Bench

PACKET = f"/v1/apc/sessions/s1/packets/{IDEA_ID}"


def problem_of(bench: Bench, path: str, query: str = "") -> tuple[int, str | None, str | None]:
    answer = bench.get(path, query)
    assert answer.body["status"] == answer.status
    assert answer.body["type"] == "about:blank"
    return answer.status, answer.body.get("rule"), answer.body.get("path")


@pytest.mark.parametrize(
    ("path", "query", "name"),
    [
        ("/v1/apc/packets", "colour=red", "colour"),
        ("/v1/apc/packets", "limit=0", "limit"),
        ("/v1/apc/packets", "limit=-1", "limit"),
        ("/v1/apc/packets", "limit=1.5", "limit"),
        ("/v1/apc/packets", "limit=", "limit"),
        ("/v1/apc/packets", "limit=99999999999999999999", "limit"),
        ("/v1/apc/packets", "session_id=a&session_id=b", "session_id"),
        ("/v1/apc/packets", "include_events=maybe", "include_events"),
        ("/v1/apc/packets", "cursor=x", "cursor"),
        ("/v1/apc/replay", "", "run_id"),
        (f"{PACKET}/events", "cursor=x", "cursor"),
        (f"{PACKET}/events", "cursor=%C3%A9", "cursor"),
        (PACKET, "limit=3", "limit"),
        ("/v1/rtes/events", "", "session_id"),
        ("/v1/rtes/events", "session_id=s1&after_sequence=x", "after_sequence"),
        ("/v1/apc/packets", "after=nowhere", "after"),
        ("/v1/apc/packets", "after=apc.events/0/1", "after"),
        ("/v1/apc/packets", "after=apc.transfers/0/1", "after"),
        ("/v1/apc/packets", "after=lineage.edges/0/1", "after"),
        ("/v1/apc/packets", "after=apc.packets/7/1", "after"),
        ("/v1/apc/packets", "after=apc.packets/0/-1", "after"),
    ],
)
def test_a_bad_query_is_named(bench: Bench, path: str, query: str, name: str) -> None:
    assert problem_of(bench, path, query) == (422, "query_value", name)


def test_the_limit_of_saop_lists_has_a_rule_of_its_own(bench: Bench) -> None:
    for query in ("limit=0", "limit=1001"):
        assert problem_of(bench, "/v1/saop/tasks", query) == (422, "limit_invalid", "limit")


def test_a_cursor_of_another_query_is_refused(bench: Bench) -> None:
    bench.send("rtes.raw", transition(1), transition(2, task_id="t2"))
    page = bench.look("/v1/rtes/events", "session_id=s1&limit=1")
    assert page["next"]
    query = f"session_id=s2&cursor={page['next']}"
    assert problem_of(bench, "/v1/rtes/events", query) == (422, "query_value", "cursor")


@pytest.mark.parametrize("path", ["/", "/v1/nothing", "/v1/apc/packets/", "/v1/apc/sessions/s1"])
def test_an_unknown_path(bench: Bench, path: str) -> None:
    assert problem_of(bench, path)[0] == 404


def test_a_method_that_a_path_does_not_take(bench: Bench) -> None:
    answer = bench.routes.handle("DELETE", "/v1/apc/packets")
    assert answer.status == 405
    assert "GET, POST" in answer.body["detail"]


def test_an_answer_after_a_record(bench: Bench) -> None:
    (position,) = bench.send("apc.packets", idea())
    answer = bench.get(PACKET, f"after={position}")
    assert answer.status == 200


def test_an_answer_that_is_late_says_by_how_much(bench: Bench) -> None:
    (position,) = bench.append("apc.packets", idea())
    answer = bench.get(PACKET, f"after={position}")
    assert answer.status == 504
    assert answer.body["lag"] == 0
    assert position in answer.body["detail"]


def test_after_takes_the_name_on_the_log(tmp_path: Any) -> None:
    bench = Bench(tmp_path, prefix="acme.")
    (position,) = bench.send("apc.packets", idea())
    assert position.startswith("acme.apc.packets/")
    assert bench.get(PACKET, f"after={position}").status == 200
    assert bench.get(PACKET, "after=apc.packets/0/0").status == 422
    bench.close()


def post(bench: Bench, path: str, body: Any, **headers: str) -> tuple[int, Any]:
    answer = bench.routes.handle("POST", path, "", headers, body)
    bench.host.run()
    return answer.status, answer.body


def test_one_packet_is_produced(bench: Bench) -> None:
    status, body = post(bench, "/v1/apc/packets", json.dumps(idea()).encode())
    assert status == 202
    assert len(body["positions"]) == 1
    assert bench.look(PACKET, f"after={body['positions'][0]}")["state"] == "ROUTED"


def test_many_packets_are_produced_in_order(bench: Bench) -> None:
    status, body = post(bench, "/v1/apc/packets", [idea(1), idea(2, created_at=...)])
    assert status == 202
    assert len(body["positions"]) == 2
    packet = bench.look(f"/v1/apc/sessions/s1/packets/{packet_id(2)}")["packet"]
    assert packet["created_at"] == "2026-01-01T00:00:00.000Z"


def test_one_bad_packet_of_many_stops_all(bench: Bench) -> None:
    packets = [idea(1), idea(2, packet_id=...), ack(idea(1), 3, payload__ack_status="MAYBE")]
    status, body = post(bench, "/v1/apc/packets", packets)
    assert status == 422
    assert [(e["index"], e["rule"], e["path"]) for e in body["errors"]] == [
        (1, "member_missing", "/packet_id"),
        (2, "enum_value", "/payload/ack_status"),
    ]
    assert (body["rule"], body["path"]) == ("member_missing", "/packet_id")
    assert bench.records("apc.packets") == []


@pytest.mark.parametrize("body", [b"{", b"", b'{"a":1,"a":2}', b"3", None])
def test_a_body_that_is_no_packet(bench: Bench, body: Any) -> None:
    status, answer = post(bench, "/v1/apc/packets", body)
    assert (status, answer["rule"], answer["errors"][0]["index"]) == (422, "json_invalid", 0)


def test_events_may_be_json_lines(bench: Bench) -> None:
    lines = "\n".join(json.dumps(event) for event in (transition(1), transition(2, task_id="t2")))
    status, body = post(bench, "/v1/rtes/events", lines)
    assert status == 202
    assert len(body["positions"]) == 2
    assert len(bench.look("/v1/rtes/events", "session_id=s1")["items"]) == 2


def test_too_many_at_once(bench: Bench) -> None:
    status, body = post(bench, "/v1/rtes/events", [transition()] * 1001)
    assert (status, body["rule"]) == (413, "too_large")


def test_the_trace_context_goes_with_the_record(bench: Bench) -> None:
    context = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    post(bench, "/v1/apc/packets", idea(), Traceparent=context)
    (packet,) = bench.look("/v1/apc/packets")["packets"]
    assert packet["trace_id"] == "4bf92f3577b34da6a3ce929d0e0e4736"


def test_every_route_says_what_it_is_for() -> None:
    assert all(route.meaning for route in ROUTES)
    assert len({(route.method, route.template) for route in ROUTES}) == len(ROUTES)
