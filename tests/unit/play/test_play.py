from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from schemas import encode, from_json
from streams.play.lines import LineError
from streams.play.scenario import play
from streams.settings import Settings
from tests.unit.envelopes import IDEA_ID, ack, idea, packet_id, transition

Json = dict[str, Any]
ONE = Settings(partitions=1)
SCENARIOS = Path(__file__).resolve().parents[3] / "scenarios"


def run(*lines: Json | str, settings: Settings = ONE) -> list[Json]:
    return list(play([x if isinstance(x, str) else json.dumps(x) for x in lines], settings))


def packet(value: Any, **members: Any) -> Json:
    return {"topic": "apc.packets", "value": value, **members}


def event(value: Any, **members: Any) -> Json:
    return {"topic": "rtes.raw", "value": value, **members}


def verdicts(outputs: list[Json]) -> list[tuple[str, str]]:
    facts = (o["value"] for o in outputs if o.get("topic") == "apc.events")
    return [(fact["verdict"], fact["rule"]) for fact in facts]


def on(outputs: list[Json], topic: str) -> list[Json]:
    return [output for output in outputs if output.get("topic") == topic]


def test_records_come_in_log_order_with_the_line_that_caused_them() -> None:
    outputs = run(packet(idea()), packet(ack(idea(), 2)))
    assert [o["n"] for o in outputs] == list(range(1, len(outputs) + 1))
    assert [o["topic"] for o in outputs if o["input"] == 1] == [
        "apc.events",
        "apc.packet-states",
        "apc.inbox",
        "apc.coordination",
        "rtes.raw",
        "lineage.edges",
        "rtes.events",
        "saop.tasks",
    ]
    assert outputs[0]["key"] == "s1"
    assert outputs[0]["headers"]["headrace-cause"] == "apc.packets/0/0"
    assert outputs[0]["value"]["packet"] == idea()


def test_records_come_one_ms_apart() -> None:
    outputs = run(packet(idea(1)), packet(idea(2)), {"advance_ms": 10}, packet(idea(3)))
    assert [o["value"]["at"][-7:] for o in on(outputs, "apc.events")] == [
        "00.000Z",
        "00.001Z",
        "00.012Z",
    ]


def test_an_explicit_time_moves_the_clock() -> None:
    outputs = run(packet(idea(1), timestamp="2026-01-01T02:00:05+02:00"), packet(idea(2)))
    assert [o["value"]["at"][-7:] for o in on(outputs, "apc.events")] == ["05.000Z", "05.001Z"]


def test_a_time_before_the_clock_is_kept_on_the_record_only() -> None:
    outputs = run(
        {"advance_ms": 5000}, packet(idea(1), timestamp="2026-01-01T00:00:01Z"), packet(idea(2))
    )
    assert [o["value"]["at"][-7:] for o in on(outputs, "apc.events")] == ["01.000Z", "05.001Z"]


def test_the_edge_fills_in_what_http_fills_in() -> None:
    (first, *_) = run({"advance_ms": 7}, packet(idea(created_at=...)))
    assert first["value"]["packet"]["created_at"] == "2026-01-01T00:00:00.007Z"


def test_what_the_edge_refuses_is_not_on_the_log_and_takes_no_time() -> None:
    outputs = run(packet(idea(1, confidence=2)), packet(idea(2)))
    assert outputs[0] == {
        "n": 1,
        "input": 1,
        "topic": None,
        "rejected": outputs[0]["rejected"],
    }
    assert outputs[0]["rejected"]["rule"] == "number_range"
    assert outputs[0]["rejected"]["path"] == "/confidence"
    assert outputs[1]["value"]["cause"] == "apc.packets/0/0"
    assert outputs[1]["timestamp"] == "2026-01-01T00:00:00.000Z"


def test_as_the_service_the_processor_judges() -> None:
    outputs = run(packet(idea(confidence=2), **{"as": "service"}))
    assert verdicts(outputs) == [("rejected", "number_range")]


def test_as_the_service_what_avro_cannot_carry_is_still_refused() -> None:
    outputs = run(packet(idea(created_at=...), **{"as": "service"}))
    assert outputs[0]["rejected"]["rule"] == "member_missing"
    assert outputs[0]["rejected"]["path"] == "/created_at"


def test_the_origin_of_an_event_is_for_the_service_only() -> None:
    dropped = run(event(transition() | {"origin": "apc"}))
    from_service = run(event(transition() | {"origin": "apc"}, **{"as": "service"}))
    assert on(dropped, "rtes.events")[0]["value"]["origin"] is None
    assert on(dropped, "rtes.events")[0]["value"]["dropped_keys"] == 1
    assert on(from_service, "rtes.events")[0]["value"]["origin"] == "apc"


@pytest.mark.parametrize("key", ["wrong", None])
def test_a_key_may_be_given(key: str | None) -> None:
    assert verdicts(run(packet(idea(), key=key))) == [("rejected", "key_mismatch")]


def test_raw_bytes_that_decode_are_judged() -> None:
    value = encode("headrace.apc.ApcPacket", from_json("headrace.apc.ApcPacket", idea()))
    line = {
        "topic": "apc.packets",
        "key": "s1",
        "raw_base64": base64.b64encode(value).decode(),
    }
    assert verdicts(run(line)) == [("accepted", "accepted")]


def test_raw_bytes_that_do_not_decode_become_a_dead_letter() -> None:
    (letter,) = run({"topic": "apc.packets", "key": "s1", "raw_base64": "AG5vbnNlbnNl"})
    assert letter["topic"] == "apc.packets.dlq"
    assert letter["value"] == {"raw_base64": "AG5vbnNlbnNl"}
    assert letter["headers"]["kafka_dlt-original-offset"] == 0


def test_a_null_value_becomes_a_dead_letter() -> None:
    (letter,) = run({"topic": "apc.packets", "key": "s1", "value": None})
    assert (letter["topic"], letter["value"]) == ("apc.packets.dlq", None)


def test_a_masked_dead_letter_is_text() -> None:
    raw = base64.b64encode(b"password=hunter2hunter2").decode()
    (letter,) = run({"topic": "rtes.raw", "key": "s1", "raw_base64": raw})
    assert letter["value"] == {"text": "password=[REDACTED:assignment]"}
    assert letter["headers"]["headrace-masked"] == "true"


def routing(**members: Any) -> Json:
    return {**idea()["routing"], **members}


def test_timers_fire_at_their_own_times() -> None:
    waiting = idea(routing=routing(ack_timeout_ms=1000, retry_limit=2))
    outputs = run(packet(waiting), {"advance_ms": 60_000})
    fired = [o for o in on(outputs, "apc.events") if o["value"]["verdict"] == "fired"]
    assert [(f["value"]["rule"], f["timestamp"][-7:], f["input"]) for f in fired] == [
        ("redelivered", "01.000Z", 2),
        ("redelivered", "02.000Z", 2),
        ("ack_timeout", "03.000Z", 2),
    ]


def test_timers_on_the_way_to_a_record_fire_before_it() -> None:
    outputs = run(
        packet(idea(1, routing=routing(ttl_ms=1000))),
        packet(idea(2), timestamp="2026-01-01T00:00:09Z"),
    )
    second = [o["value"]["rule"] for o in on(outputs, "apc.events") if o["input"] == 2]
    assert second == ["ttl_expired", "accepted"]


def test_a_record_at_the_very_time_of_a_timer_comes_first() -> None:
    waiting = idea(1, routing=routing(ack_timeout_ms=1000, retry_limit=2))
    outputs = run(packet(waiting), packet(ack(waiting, 2), timestamp="2026-01-01T00:00:01Z"))
    assert [rule for _, rule in verdicts(outputs)] == ["accepted", "accepted", "delivered"]


def test_queries_see_everything_before_them() -> None:
    outputs = run(packet(idea()), {"query": f"GET /v1/apc/sessions/s1/packets/{IDEA_ID}"})
    answer = outputs[-1]
    assert (answer["input"], answer["status"], answer["body"]["state"]) == (2, 200, "ROUTED")
    assert set(answer) == {"n", "input", "query", "status", "body"}


def test_a_wait_that_is_not_met_is_timed_out() -> None:
    (answer,) = run({"query": "GET /v1/apc/packets?after=apc.packets/0/0"})
    assert (answer["status"], answer["body"]["lag"]) == (504, 0)


def test_records_may_be_posted() -> None:
    outputs = run(
        {"query": "POST /v1/apc/packets", "body": [idea(1), idea(2, created_at=...)]},
        {"query": "GET /v1/apc/packets?after=apc.packets/0/1"},
    )
    assert outputs[0]["status"] == 202
    assert outputs[0]["body"] == {"positions": ["apc.packets/0/0", "apc.packets/0/1"]}
    assert [o["value"]["at"][-7:] for o in on(outputs, "apc.events")] == ["00.000Z", "00.001Z"]
    assert outputs[-1]["body"]["count"] == 2


def test_more_partitions() -> None:
    packets = [packet(idea(n, trace__session_id=f"s{n}")) for n in range(8)]
    outputs = run(*packets, settings=Settings(partitions=3))
    causes = {o["value"]["cause"].split("/")[1] for o in on(outputs, "apc.events")}
    assert causes == {"0", "1", "2"}


def test_settings_reach_the_processors() -> None:
    strict = Settings(partitions=1, apc_require_anti_drift=True)
    assert verdicts(run(packet(idea()), settings=strict)) == [("rejected", "drift_check_missing")]


def test_a_prefix_is_on_the_log_only() -> None:
    outputs = run(
        packet(idea()),
        {"query": "GET /v1/apc/packets?after=acme.apc.packets/0/0"},
        settings=Settings(partitions=1, prefix="acme."),
    )
    assert outputs[0]["topic"] == "acme.apc.events"
    assert outputs[-1]["body"]["count"] == 1


def test_empty_lines_count_but_do_nothing() -> None:
    assert run("", packet(idea()), "\n")[0]["input"] == 2


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[]",
        "{}",
        {"topic": "nowhere", "value": {}},
        {"topic": "apc.events", "value": {}},
        {"topic": "apc.packets", "value": {}, "colour": "red"},
        {"topic": "apc.packets", "value": {}, "as": "king"},
        {"topic": "apc.packets"},
        {"topic": "apc.packets", "value": {}, "raw_base64": ""},
        {"topic": "apc.packets", "value": {}, "timestamp": "yesterday"},
        {"topic": "apc.packets", "value": {}, "timestamp": "2026-01-01T00:00:00"},
        {"topic": "apc.packets", "value": {}, "headers": [1]},
        {"topic": "apc.packets", "key": 3, "raw_base64": ""},
        {"topic": "apc.packets", "raw_base64": "?"},
        {"advance_ms": -1},
        {"advance_ms": 10**30},
        {"topic": "saop.turns", "value": {}, "timestamp": "9999-12-31T23:59:59Z"},
        {"topic": "saop.turns", "value": {}, "timestamp": "1969-12-31T23:59:59Z"},
        {"topic": "saop.turns", "raw_base64": "é"},
        {"advance_ms": "1"},
        {"advance_ms": True},
        {"restart": False},
        {"query": "nowhere"},
    ],
)
def test_a_line_that_says_nothing_is_named(line: Json | str) -> None:
    with pytest.raises(LineError, match="line 2: "):
        run({"advance_ms": 1}, line)


PLACES = 4
"""Of a restart by itself: each opens every store anew."""
SCENARIO_FILES = sorted(SCENARIOS.glob("*.jsonl"))
QUICK = ("idea", "rtes-masking", "summit-overdue")
"""Scenarios that the quick run restarts too."""


@pytest.mark.parametrize("path", SCENARIO_FILES, ids=lambda path: path.stem)
def test_a_scenario_gives_the_same_output_every_time(path: Path) -> None:
    lines = path.read_text().splitlines()
    first = [json.dumps(output) for output in play(lines, ONE)]
    assert first == [json.dumps(output) for output in play(lines, ONE)]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=() if path.stem in QUICK else pytest.mark.slow, id=path.stem)
        for path in SCENARIO_FILES
    ],
)
def test_restarts_anywhere_change_nothing(path: Path) -> None:
    lines = path.read_text().splitlines()
    plain = _without_places(run(*lines))
    restart = json.dumps({"restart": True})
    everywhere = [line for pair in ((restart, line) for line in lines) for line in pair]
    assert _without_places(run(*everywhere)) == plain
    for place in range(len(lines), 0, -max(1, len(lines) // PLACES)):
        assert _without_places(run(*lines[:place], restart, *lines[place:])) == plain


def _without_places(outputs: list[Json]) -> list[Json]:
    return [{k: v for k, v in output.items() if k not in ("n", "input")} for output in outputs]


def outputs_of(name: str) -> list[Json]:
    return run(*(SCENARIOS / f"{name}.jsonl").read_text().splitlines())


def test_the_scenario_of_acknowledgements_is_the_worked_example() -> None:
    outputs = outputs_of("acknowledgements")
    fired = [o for o in on(outputs, "apc.events") if o["value"]["verdict"] == "fired"]
    assert [(f["value"]["rule"], f["value"]["at"][11:19]) for f in fired] == [
        ("redelivered", "08:00:04"),
        ("redelivered", "08:00:10"),
        ("ack_timeout", "08:00:14"),
    ]
    again = [(o["key"], o["value"]["attempt"]) for o in on(outputs, "apc.inbox")]
    assert [pair for pair in again if pair[1] > 1] == [("b", 2), ("b", 3)]
    row, facts = (o["body"] for o in outputs if "query" in o)
    assert row["state"] == "EXPIRED"
    assert len(facts["items"]) == 6


def test_the_scenario_of_refusals_gives_one_answer_to_each_line() -> None:
    outputs = outputs_of("refusals")
    answers: dict[int, list[str]] = {}
    for output in outputs:
        if output.get("topic") is None and "rejected" in output:
            answers.setdefault(output["input"], []).append("rejected")
        elif output.get("topic") == "apc.events":
            if output["value"]["verdict"] in ("accepted", "duplicate", "rejected"):
                answers.setdefault(output["input"], []).append(output["value"]["rule"])
        elif output.get("topic") == "apc.packets.dlq":
            answers.setdefault(output["input"], []).append("dead letter")
    assert [answers[n] for n in range(1, 16)] == [
        ["accepted"],
        ["duplicate"],
        ["packet_conflict"],
        ["phase_type"],
        ["rejected"],
        ["number_range"],
        ["rejected"],
        ["key_mismatch"],
        ["key_mismatch"],
        ["drift_check_failed"],
        ["ack_target_unknown"],
        ["ack_not_recipient"],
        ["accepted"],
        ["dead letter"],
        ["dead letter"],
    ]
    assert [o["status"] for o in outputs if "query" in o] == [200, 422, 404]


def test_the_scenario_of_promotion_ends_in_a_retraction() -> None:
    decision, claim = (o["body"] for o in outputs_of("promotion") if "query" in o)
    states = [step["to_state"] for step in decision["history"]]
    assert states[-3:] == ["PROMOTED", "ARCHIVED", "RETRACTED"]
    assert claim["verification"]["outcome"] == "pass"


def test_the_scenario_of_tasks_tells_no_secret() -> None:
    outputs = outputs_of("tasks")
    assert "hunter2" not in json.dumps(outputs)
    tasks = next(o["body"]["items"] for o in outputs if o.get("query", "").endswith("id=s1"))
    assert packet_id(1) not in tasks


def test_a_long_scenario_with_many_timers() -> None:
    waiting = routing(ttl_ms=500, ack_timeout_ms=50, retry_limit=3)
    lines = [packet(idea(n, routing=waiting)) for n in range(50)]
    outputs = run(*lines, {"advance_ms": 86_400_000})
    rules = [rule for verdict, rule in verdicts(outputs) if verdict == "fired"]
    assert rules.count("redelivered") == 150
    assert rules.count("ack_timeout") == 50
