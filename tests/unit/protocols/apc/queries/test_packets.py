"""packet, its events, packet-trace and packet-replay."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.envelopes import IDEA_ID, ack, idea, packet_id, transition
from tests.unit.views.bench import Bench

PACKET = f"/v1/apc/sessions/s1/packets/{IDEA_ID}"
LIFE = ["init", "emit", "schema_pass", "policy_pass", "route_selected"]


def names(steps: list[dict[str, Any]]) -> list[str]:
    return [step["event"] for step in steps]


def test_a_packet_shows_its_row(bench: Bench) -> None:
    (position,) = bench.send("apc.packets", idea())
    row = bench.look(PACKET)
    assert row["state"] == "ROUTED"
    assert row["position"] == position
    assert row["packet"] == idea()
    assert names(row["history"]) == LIFE
    assert row["acks"]["pending"] == ["sentinel-1"]


def test_a_packet_is_shown_whole_after_its_row_has_dropped_it(bench: Bench) -> None:
    bench.send("apc.packets", idea(), ack(idea(), 2))
    row = bench.look(PACKET)
    assert row["state"] == "ARCHIVED"
    assert row["packet"] == idea()


def test_packet_ids_are_compared_in_lower_case(bench: Bench) -> None:
    bench.send("apc.packets", idea())
    assert bench.look(PACKET.replace(IDEA_ID, IDEA_ID.upper()))["packet_id"] == IDEA_ID
    assert bench.look("/v1/apc/packets", f"packet_id={IDEA_ID.upper()}")["count"] == 1


def test_ids_in_paths_are_percent_encoded(bench: Bench) -> None:
    bench.send("apc.packets", idea(trace__session_id="a/b c%"))
    row = bench.look(f"/v1/apc/sessions/a%2Fb%20c%25/packets/{IDEA_ID}")
    assert row["session_id"] == "a/b c%"


def test_a_packet_of_another_session_is_not_found(bench: Bench) -> None:
    bench.send("apc.packets", idea())
    bench.view.catch_up(0)
    for path in (PACKET, f"{PACKET}/events"):
        answer = bench.get(path.replace("/s1/", "/s2/"))
        assert answer.status == 404
        assert answer.body["title"] == "Not Found"


def test_events_are_the_facts_in_log_order(bench: Bench) -> None:
    bench.send("apc.packets", idea(), ack(idea(), 2), idea(), idea(confidence=0.5))
    events = bench.look(f"{PACKET}/events")
    assert [(e["verdict"], e["rule"]) for e in events["items"]] == [
        ("accepted", "accepted"),
        ("effect", "delivered"),
        ("duplicate", "duplicate"),
        ("rejected", "packet_conflict"),
    ]
    assert events["next"] is None


def test_events_come_in_pages(bench: Bench) -> None:
    bench.send("apc.packets", *[idea()] * 5)
    whole = bench.look(f"{PACKET}/events")["items"]
    events: list[Any] = []
    query = "limit=2"
    for _ in range(3):
        page = bench.look(f"{PACKET}/events", query)
        events += page["items"]
        query = f"limit=2&cursor={page['next']}"
    assert page["next"] is None
    assert events == whole
    assert len(whole) == 5


def test_a_packet_with_facts_but_no_row_has_events(bench: Bench) -> None:
    bench.send_bytes("apc.packets", bench_value(idea()), key=b"another")
    assert bench.look(f"{PACKET}/events")["items"][0]["rule"] == "key_mismatch"
    assert bench.get(PACKET).status == 404


def bench_value(packet: dict[str, Any]) -> bytes:
    from streams.ingress.edges import ingress_topic_of
    from streams.processing.encode import to_output
    from streams.settings import Settings

    value = to_output(ingress_topic_of("apc.packets"), packet, 0, Settings()).value
    assert value is not None
    return value


def test_a_trace_shows_the_newest_packets_first(bench: Bench) -> None:
    bench.send("apc.packets", idea(1), idea(2, trace__session_id="s2"), idea(3))
    trace = bench.look("/v1/apc/packets")
    assert [p["packet_id"] for p in trace["packets"]] == [packet_id(n) for n in (3, 2, 1)]
    assert (trace["source"], trace["count"], trace["event_count"]) == ("views", 3, 15)


def test_a_row_of_a_trace(bench: Bench) -> None:
    packet = idea(metadata={"attempt_number": 2})
    (position,) = bench.send("apc.packets", packet)
    trace = bench.look("/v1/apc/packets")
    assert trace["packets"] == [
        {
            "packet_id": IDEA_ID,
            "task_id": "t1",
            "run_id": "r1",
            "attempt_number": 2,
            "packet_type": "IDEA",
            "channel": "INTER_AGENT",
            "run_phase": "DISCOVERY",
            "sender_role": "builder",
            "trace_id": "r1",
            "lifecycle_state": "ROUTED",
            "created_at": "2026-01-01T00:00:00.001Z",
            "payload_keys": sorted(packet["payload"]),
            "verdict": "accepted",
            "rule": "accepted",
            "message": trace["packets"][0]["message"],
            "position": position,
        }
    ]
    assert trace["events"][0] == {
        "packet_id": IDEA_ID,
        "event": "route_selected",
        "from_state": "POLICY_VALIDATED",
        "to_state": "ROUTED",
        "metadata": None,
        "occurred_at": "2026-01-01T00:00:00.001Z",
        "rule": "accepted",
        "message": trace["packets"][0]["message"],
    }
    assert names(trace["events"]) == LIFE[::-1]
    assert trace["next"] is None


def test_a_trace_shows_rejected_packets_too(bench: Bench) -> None:
    bench.send("apc.packets", idea(run_phase="EXECUTION"))
    trace = bench.look("/v1/apc/packets")
    assert trace["packets"][0]["lifecycle_state"] == "REJECTED_POLICY"
    assert trace["events"][0]["event"] == "policy_fail"


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("session_id=s1", [4, 2, 1]),
        ("session_id=s2", [3]),
        ("run_id=r2", [2]),
        ("task_id=t2", [4]),
        ("session_id=s1&run_id=r1", [4, 1]),
        ("packet_type=ACK", []),
        ("run_phase=RESEARCH", [4]),
        ("trace_id=r2", [2]),
        (f"packet_id={packet_id(3)}", [3]),
        (f"packet_id={packet_id(3)}&session_id=s1", []),
        ("limit=2", [4, 3]),
        ("session_id=s", []),
    ],
)
def test_filters_of_a_trace(bench: Bench, query: str, numbers: list[int]) -> None:
    bench.send(
        "apc.packets",
        idea(1),
        idea(2, trace__run_id="r2"),
        idea(3, trace__session_id="s2"),
        idea(4, trace__task_id="t2", run_phase="RESEARCH"),
    )
    trace = bench.look("/v1/apc/packets", query)
    assert [p["packet_id"] for p in trace["packets"]] == [packet_id(n) for n in numbers]
    assert {e["packet_id"] for e in trace["events"]} == {packet_id(n) for n in numbers}


def test_a_trace_without_events(bench: Bench) -> None:
    bench.send("apc.packets", idea())
    trace = bench.look("/v1/apc/packets", "include_events=false")
    assert (trace["count"], trace["event_count"], trace["events"]) == (1, 0, [])


def test_a_replay_shows_packets_in_log_order_with_their_transitions(bench: Bench) -> None:
    bench.send("apc.packets", idea(1), idea(2), ack(idea(1), 3), idea(4, trace__run_id="r2"))
    replay = bench.look("/v1/apc/replay", "run_id=r1")
    assert [p["packet_id"] for p in replay["packets"]] == [packet_id(n) for n in (1, 2, 3)]
    assert replay["packet_count"] == 3
    assert (replay["source"], replay["run_id"], replay["task_id"]) == ("views", "r1", None)
    first = replay["packets"][0]
    assert first["final_state"] == "ARCHIVED"
    assert names(first["transitions"])[-1] == "non_promotable_complete"
    assert replay["event_count"] == sum(len(p["transitions"]) for p in replay["packets"])
    stream = [step["occurred_at"] for step in replay["event_stream"]]
    assert stream == sorted(stream)
    assert set(replay["event_stream"][0]) == {
        *("packet_id", "packet_type", "run_phase"),
        *("event", "from_state", "to_state", "metadata", "occurred_at", "rule", "message"),
    }
    rules = {step["rule"] for step in first["transitions"]}
    assert rules == {"accepted", "delivered"}


def test_the_limit_of_a_replay_cuts_the_stream_only(bench: Bench) -> None:
    bench.send("apc.packets", idea(1), idea(2))
    replay = bench.look("/v1/apc/replay", "run_id=r1&limit=3&task_id=t1")
    assert len(replay["event_stream"]) == 3
    assert (replay["event_count"], len(replay["packets"])) == (10, 2)
    assert replay["task_id"] == "t1"


def test_a_replay_of_an_unknown_run_is_empty(bench: Bench) -> None:
    replay = bench.look("/v1/apc/replay", "run_id=nowhere")
    assert (replay["packet_count"], replay["packets"], replay["event_stream"]) == (0, [], [])


def test_events_of_a_session_by_sequence(bench: Bench) -> None:
    bench.send(
        "rtes.raw", transition(1), transition(2, from_state="IN_PROGRESS", to_state="PAUSED")
    )
    items = bench.look("/v1/rtes/events", "session_id=s1")["items"]
    assert [item["sequence"] for item in items] == [1, 2]
    assert items[1]["payload"]["to_state"] == "PAUSED"
    for query, expected in (
        ("after_sequence=1", [2]),
        ("type=TASK_TRANSITION", [1, 2]),
        ("type=SANDBOX_PULSE", []),
        ("task_id=t2", []),
        ("limit=1", [1]),
    ):
        items = bench.look("/v1/rtes/events", f"session_id=s1&{query}")["items"]
        assert [item["sequence"] for item in items] == expected


def test_rejections_of_a_session(bench: Bench) -> None:
    bench.send("rtes.raw", transition(1), transition(1), transition(2, to_state="COMPLETED"))
    items = bench.look("/v1/rtes/rejections", "session_id=s1")["items"]
    assert [item["rule"] for item in items] == ["event_duplicate", "from_state_mismatch"]


def test_tasks_by_session_and_task(bench: Bench) -> None:
    bench.send(
        "rtes.raw",
        transition(1, task_id="t2"),
        transition(2, task_id="t1"),
        {**transition(3), "session_id": "s0"},
    )
    items = bench.look("/v1/saop/tasks")["items"]
    assert [(t["session_id"], t["task_id"]) for t in items] == [
        ("s0", "t1"),
        ("s1", "t1"),
        ("s1", "t2"),
    ]
    for query, count in (
        ("session_id=s1", 2),
        ("session_id=s", 0),
        ("task_id=t1", 2),
        ("state=IN_PROGRESS", 3),
        ("state=PENDING", 0),
        ("origin=apc", 0),
    ):
        assert len(bench.look("/v1/saop/tasks", query)["items"]) == count


def test_a_trace_comes_in_pages(bench: Bench) -> None:
    bench.send("apc.packets", *map(idea, range(1, 6)))
    packets: list[Any] = []
    for base in ("", "session_id=s1&", f"packet_id={packet_id(3)}&"):
        query, pages = f"{base}limit=2", 0
        packets.clear()
        while True:
            trace = bench.look("/v1/apc/packets", query)
            packets += [each["packet_id"] for each in trace["packets"]]
            pages += 1
            if trace["next"] is None:
                break
            query = f"{base}limit=2&cursor={trace['next']}"
        listed = [3] if "packet_id" in base else [5, 4, 3, 2, 1]
        assert (packets, pages) == ([packet_id(n) for n in listed], -(-len(listed) // 2))


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("verdict=rejected", [2]),
        ("verdict=accepted", [3, 1]),
        ("state=REJECTED_POLICY", [2]),
        ("state=ROUTED&sender=builder-1", [1]),
        ("sender=other", [3]),
        ("sender=nobody", []),
    ],
)
def test_a_trace_is_filtered_by_state_sender_and_verdict(
    bench: Bench, query: str, numbers: list[int]
) -> None:
    refused = idea(2, run_phase="EXECUTION")
    bench.send("apc.packets", idea(1), refused, idea(3, sender__agent_id="other"))
    packets = bench.look("/v1/apc/packets", query)["packets"]
    assert [each["packet_id"] for each in packets] == [packet_id(n) for n in numbers]


@pytest.mark.parametrize("base", ["", "session_id=s1&", "run_id=r1&", "sender=builder-1&"])
def test_a_trace_has_the_packets_of_a_window(bench: Bench, base: str) -> None:
    def list_numbers(query: str) -> list[str]:
        return [each["packet_id"] for each in bench.look("/v1/apc/packets", query)["packets"]]

    bench.send("apc.packets", *(idea(n, trace__run_id="r1") for n in range(1, 7)))
    packets = bench.look("/v1/apc/packets")["packets"]
    times = {each["packet_id"]: each["created_at"] for each in packets}
    start, end = times[packet_id(2)], times[packet_id(5)]
    assert list_numbers(f"{base}from={start}&to={end}") == [packet_id(n) for n in (4, 3, 2)]
    assert list_numbers(f"{base}to={start}") == [packet_id(1)]
    assert list_numbers(f"{base}from={end}") == [packet_id(n) for n in (6, 5)]
    assert list_numbers(f"packet_id={packet_id(3)}&to={start}") == []
    page = bench.look("/v1/apc/packets", f"{base}from={start}&to={end}&limit=2")
    second_page = list_numbers(f"{base}from={start}&to={end}&limit=2&cursor={page['next']}")
    assert second_page == [packet_id(2)]


def test_sessions_come_the_latest_first_with_their_counts(bench: Bench) -> None:
    bench.send("apc.packets", idea(1), idea(2, trace__session_id="s2"))
    bench.send("apc.packets", idea(3, run_phase="EXECUTION"), idea(1, confidence=0.5))
    first, second = bench.look("/v1/apc/sessions")["items"]
    assert (first["session_id"], first["packets"], first["rejected"]) == ("s1", 2, 1)
    assert first["state"] == bench.look("/v1/apc/sessions/s1/coordination")["inter"]["state"]
    assert (second["session_id"], second["packets"], second["rejected"]) == ("s2", 1, 0)
    assert second["last_at"] < first["last_at"]
    page = bench.look("/v1/apc/sessions", "limit=1")
    assert page["items"] == [first]
    assert bench.look("/v1/apc/sessions", f"cursor={page['next']}")["items"] == [second]
