"""Reading one's own writes, where later records may be decided before a held one."""

from __future__ import annotations

from pathlib import Path

from streams.engine.records import Output
from streams.views.parse import parse_position
from tests.unit.protocols.asap.queries.stage import request, response
from tests.unit.protocols.asap.queries.test_tasks import ENVELOPES
from tests.unit.views.bench import Bench

EVENTS = "asap.events"


def test_a_later_answer_does_not_stand_for_a_held_record(bench: Bench, tmp_path: Path) -> None:
    first, later = bench.send(ENVELOPES, request("t2"), request("t3"))
    assert first.rpartition("/")[0] == later.rpartition("/")[0]
    facts = [Output(EVENTS, r.key, r.value, r.headers or ()) for r in bench.records(EVENTS)]
    by_cause = {dict(fact.headers)["headrace-cause"].decode(): fact for fact in facts}
    other = Bench(tmp_path / "other")
    try:
        other.log.append([Output(ENVELOPES, r.key, r.value) for r in bench.records(ENVELOPES)])
        other.log.append([by_cause[later]])
        other.view.catch_up(0)
        places = [parse_position(each) for each in (first, later)]
        assert [other.view.has_answer(place) for place in places] == [False, True]
        other.log.append([by_cause[first]])
        other.view.catch_up(0)
        assert all(other.view.has_answer(place) for place in places)
    finally:
        other.close()


def test_a_dead_letter_is_an_answer(bench: Bench) -> None:
    dead = bench.send_bytes(ENVELOPES, b"no avro")
    (sent,) = bench.send(ENVELOPES, request())
    bench.view.catch_up(0)
    assert all(bench.view.has_answer(parse_position(each)) for each in (dead, sent))
    assert bench.get("/v1/asap/tasks/t1", f"after={dead}").status == 200


def test_expired_events_are_still_answered(bench: Bench) -> None:
    config = {"state_mode": "event-sourced", "event_retention_hours": 1}
    first, last = bench.send(ENVELOPES, request(config=config), response("r1"))
    bench.now += 3_600_000
    bench.host.run()
    assert bench.look("/v1/asap/tasks/t1")["events_available"] is False
    for position in (first, last):
        assert bench.view.has_answer(parse_position(position))
    assert bench.look("/v1/asap/envelopes/t1") == {"events": []}
    (event,) = bench.look("/v1/asap/envelopes/r1")["events"]
    assert event["rule"] == "response_recorded"
