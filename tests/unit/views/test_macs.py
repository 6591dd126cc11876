"""A view with a key for MACs applies what processors have written, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from schemas import decode, encode
from streams.engine.headers import CAUSE
from streams.engine.record_mac import mac_header
from streams.engine.records import LogRecord, Output
from streams.engine.refused_rows import PROCESS
from streams.views.positions import ViewBehind
from tests.unit.envelopes import IDEA_ID, idea
from tests.unit.views.bench import Bench
from tests.unit.views.living import to_position
from topology import topics
from topology.apc import APC_EVENTS, APC_PACKET_STATES
from topology.headers import has_mac

KEY = "0123456789abcdef0123456789abcdef"
PACKET = f"/v1/apc/sessions/s1/packets/{IDEA_ID}"


@pytest.fixture
def signed(tmp_path: Path) -> Iterator[Bench]:
    system = Bench(tmp_path / "signed", mac_key=KEY)
    yield system
    system.close()


def copied(record: LogRecord) -> Output:
    return Output(record.topic, record.key, record.value, record.headers, record.partition)


def state_of(bench: Bench) -> str:
    state: str = bench.look(PACKET)["state"]
    return state


def test_all_that_processors_write_has_a_mac_but_for_inboxes_and_dead_letters(
    signed: Bench,
) -> None:
    signed.send("apc.packets", idea())
    signed.send_bytes("apc.packets", b"nonsense")
    for topic in topics.ALL:
        written = [mac_header(record.headers) is not None for record in signed.records(topic.name)]
        assert set(written) <= {has_mac(topic)}, topic.name
        assert written or topic.name not in (APC_EVENTS.name, "apc.inbox", "headrace.changelog")
    assert signed.records("apc.packets.dlq")


def test_rows_are_those_of_a_view_without_a_key(bench: Bench, signed: Bench) -> None:
    counts = dict(PROCESS.counts())
    for each in (bench, signed):
        each.send("apc.packets", idea())
    assert bench.look(PACKET) == signed.look(PACKET)
    assert PROCESS.counts() == counts


def test_a_forged_row_is_not_shown_and_goes_on_not_being_shown(signed: Bench) -> None:
    signed.send("apc.packets", idea())
    before = state_of(signed)
    (record,) = signed.records(APC_PACKET_STATES.name)
    row = decode(record.value, APC_PACKET_STATES.record or "").value
    forged = encode(APC_PACKET_STATES.record or "", {**row, "state": "ARCHIVED"})
    for headers in ((), record.headers):
        signed.log.append([copied(record)._replace(value=forged, headers=headers)])
    signed.log.append([copied(record)._replace(value=None)])
    signed.reopen_view()
    assert state_of(signed) == before
    signed.view.drop()
    signed.view = signed.open_view()
    assert state_of(signed) == before
    assert signed.view.skipped == 3


def test_a_copied_fact_is_applied_once(signed: Bench) -> None:
    signed.send("apc.packets", idea())
    facts = signed.records(APC_EVENTS.name)
    signed.log.append([copied(fact) for fact in facts])
    signed.view.catch_up(0)
    assert signed.view.skipped == len(facts)
    signed.log.append([copied(fact) for fact in facts])
    signed.reopen_view()
    signed.view.catch_up(0)
    assert signed.view.skipped == len(facts)


def test_a_refused_record_ends_no_wait(signed: Bench) -> None:
    signed.send("apc.packets", idea())
    (place,) = signed.append("apc.packets", idea())
    fact = signed.records(APC_EVENTS.name)[-1]
    headers = [(name, place.encode() if name == CAUSE else value) for name, value in fact.headers]
    signed.log.append([copied(fact)._replace(headers=headers)])
    with pytest.raises(ViewBehind):
        signed.view.wait(to_position(place), 0)
    signed.host.run()
    signed.view.wait(to_position(place), 0)


def test_a_key_that_is_set_later_builds_the_view_anew(bench: Bench) -> None:
    bench.send("apc.packets", idea())
    assert state_of(bench)
    bench.settings = replace(bench.settings, mac_key=KEY)
    bench.reopen_view()
    bench.view.catch_up(0)
    assert bench.view.begun_anew is not None
    assert bench.get(PACKET).status == 404


def test_restored_tasks_go_on(signed: Bench) -> None:
    counts = dict(PROCESS.counts())
    signed.send("apc.packets", idea())
    signed.host.restart()
    signed.send("apc.packets", idea())
    verdicts = [
        decode(fact.value, APC_EVENTS.record or "").value["verdict"]
        for fact in signed.records(APC_EVENTS.name)
    ]
    assert verdicts == ["accepted", "duplicate"]
    assert PROCESS.counts() == counts
