from __future__ import annotations

from dataclasses import replace

import pytest

from schemas.catalogue import FIRST_ID, LATEST_ID
from streams.engine.records import Output, TopicPartition
from streams.errors import InternalUnreadable, SettingsError, TopicsMismatch
from streams.settings import Settings
from streams.view_store.view import View
from streams.views.positions import Position, ViewBehind
from tests.unit.envelopes import IDEA_ID, idea, packet_id, transition
from tests.unit.views.bench import Bench
from topology.retention import DELETE_RETENTION_MS

PACKET = f"/v1/apc/sessions/s1/packets/{IDEA_ID}"


def to_position(text: str) -> Position:
    topic, partition, offset = text.split("/")
    return Position(topic, int(partition), int(offset))


def test_a_view_has_seen_nothing_until_it_is_driven(bench: Bench) -> None:
    bench.send("apc.packets", idea())
    assert bench.get(PACKET).status == 404
    assert bench.view.lag() > 0
    bench.view.catch_up(0)
    assert bench.view.lag() == 0
    assert bench.get(PACKET).status == 200


def test_a_view_goes_on_where_it_was_closed(bench: Bench) -> None:
    bench.send("apc.packets", idea())
    bench.view.catch_up(0)
    bench.reopen_view()
    assert bench.view.lag() == 0
    assert bench.get(PACKET).status == 200
    bench.send("apc.packets", idea(2))
    assert len(bench.look("/v1/apc/packets")["packets"]) == 2


def test_a_view_stops_before_a_fact_of_a_later_version(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.send("apc.packets", idea())
    with monkeypatch.context() as patched:
        patched.setattr("streams.view_store.schema_guard.LATEST_ID", FIRST_ID - 1)
        with pytest.raises(InternalUnreadable, match="apc"):
            bench.view.catch_up(0)
        assert bench.view.lag() > 0
        bench.reopen_view()
        with pytest.raises(InternalUnreadable):
            bench.view.catch_up(0)
    bench.reopen_view()
    bench.view.catch_up(0)
    assert bench.get(PACKET).status == 200


def test_a_view_continues_without_a_record_that_is_set_aside(bench: Bench) -> None:
    forged = b"\0" + (LATEST_ID + 1).to_bytes(4, "big") + b"\1"
    bench.send("apc.packets", idea())
    (record,) = bench.log.append([Output("apc.events", b"s1", forged, (), 0)])
    bench.send("apc.packets", idea(2))
    with pytest.raises(InternalUnreadable) as stopped:
        bench.view.catch_up(0)
    advice = f"HEADRACE_VIEW_SET_ASIDE=apc.events/0/{record.offset} "
    assert advice in (stopped.value.advice or "")
    bench.settings = replace(bench.settings, view_set_aside=f"apc.events/0/{record.offset}")
    bench.reopen_view()
    bench.view.catch_up(0)
    assert bench.view.skipped == 1
    assert len(bench.look("/v1/apc/packets")["packets"]) == 2


def test_a_record_that_can_be_read_is_never_set_aside(bench: Bench) -> None:
    facts = [f"apc.events/{n}/0" for n in range(2)]
    bench.settings = replace(bench.settings, view_set_aside=",".join(facts))
    bench.reopen_view()
    bench.send("apc.packets", idea())
    assert bench.look("/v1/apc/packets")["packets"]
    assert bench.view.skipped == 0


@pytest.mark.parametrize("text", ["apc.events", "apc.events/0", "a/0/1,", "a/0/1, b/0/1", "/0/1"])
def test_what_is_no_position_cannot_be_set_aside(text: str) -> None:
    with pytest.raises(SettingsError, match="VIEW_SET_ASIDE is positions such as"):
        Settings().assign({"VIEW_SET_ASIDE": text})


def test_a_topic_created_anew_empties_the_view(bench: Bench) -> None:
    bench.send("apc.packets", idea())
    bench.view.catch_up(0)
    bench.log.delete("apc.packet-states")
    bench.create()
    bench.reopen_view()
    assert bench.view.lag() > 0
    assert bench.get(PACKET).status == 404


def test_a_view_that_lies_beyond_the_log_is_emptied(bench: Bench) -> None:
    bench.send("apc.packets", idea())
    bench.view.catch_up(0)
    bench.view.close()
    for partition in range(2):
        bench.log.slots(TopicPartition("apc.events", partition)).clear()
    bench.view = bench.open_view()
    assert bench.get(PACKET).status == 404


def test_a_view_that_may_have_missed_tombstones_is_emptied(bench: Bench) -> None:
    bench.send("apc.packets", idea())
    bench.view.catch_up(0)
    bench.send("apc.packets", idea(2))
    bench.now += DELETE_RETENTION_MS + 1
    bench.reopen_view()
    assert bench.get(PACKET).status == 404


def test_a_view_at_the_end_is_kept_however_old_it_is(bench: Bench) -> None:
    bench.send("apc.packets", idea())
    bench.view.catch_up(0)
    bench.now += DELETE_RETENTION_MS + 1
    bench.reopen_view()
    assert bench.get(PACKET).status == 200


def test_a_damaged_store_is_rebuilt(bench: Bench) -> None:
    bench.send("apc.packets", idea())
    bench.view.catch_up(0)
    bench.view.close()
    (bench.folder / "view" / "CURRENT").write_text("nonsense")
    bench.view = bench.open_view()
    assert len(bench.look("/v1/apc/packets")["packets"]) == 1


def test_missing_topics_are_named(bench: Bench) -> None:
    with pytest.raises(TopicsMismatch, match=r"other\.apc\.events"):
        View(bench.log, bench.folder / "other", "other.")


def test_the_answer_to_a_record_is_its_verdict(bench: Bench) -> None:
    (position,) = bench.append("apc.packets", idea())
    with pytest.raises(ViewBehind):
        bench.view.wait(to_position(position), 0)
    bench.host.run()
    bench.view.wait(to_position(position), 0)
    assert bench.get(PACKET).status == 200


def test_the_answer_to_a_record_may_be_a_dead_letter(bench: Bench) -> None:
    position = bench.send_bytes("apc.packets", b"nonsense")
    bench.view.wait(to_position(position), 0)


def test_the_answer_to_an_event_may_be_a_rejection(bench: Bench) -> None:
    (position,) = bench.send("rtes.raw", transition(to_state="COMPLETED"))
    bench.view.wait(to_position(position), 0)


def test_a_record_that_is_not_there_yet_has_no_answer(bench: Bench) -> None:
    (position,) = bench.send("apc.packets", idea())
    later = to_position(position)
    with pytest.raises(ViewBehind) as caught:
        bench.view.wait(later._replace(offset=later.offset + 1), 0)
    assert caught.value.lag == 0


def test_answers_are_remembered(bench: Bench) -> None:
    first, second = bench.send("apc.packets", idea(1), idea(2))
    bench.view.catch_up(0)
    bench.reopen_view()
    assert bench.view.has_answer(to_position(first))
    assert bench.view.has_answer(to_position(second))
    assert not bench.view.has_answer(to_position(second)._replace(offset=99))


def test_a_fact_that_nobody_can_read_is_left_out(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.send_bytes("apc.events", b"nonsense")
    bench.send("apc.packets", idea(), idea(packet_id=packet_id(3)))
    assert len(bench.look("/v1/apc/packets")["packets"]) == 2
    assert "ApcEvent" in caplog.text
