"""Rows that are repaired: derived from facts, or absent, with a record of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas import decode
from streams.engine.mac_errors import MacKeyMissing
from streams.engine.records import LogRecord, Output, TopicPartition
from streams.errors import NotFound
from streams.ops.repair_row import ABSENT, DERIVED, NotDerivable, repair_row
from streams.settings import Settings
from tests.unit.envelopes import IDEA_ID, ack, idea
from tests.unit.views.bench import Bench
from topology.apc import APC_PACKET_STATES
from topology.core import AUDIT_REPAIRS

KEY = "0123456789abcdef0123456789abcdef"
ROW = f"s1/{IDEA_ID}"
PACKET = f"/v1/apc/sessions/s1/packets/{IDEA_ID}"
TABLE = APC_PACKET_STATES.name


@pytest.fixture
def signed(tmp_path: Path) -> Iterator[Bench]:
    system = Bench(tmp_path, mac_key=KEY)
    system.send("apc.packets", idea())
    yield system
    system.close()


def replace_by_forged(system: Bench) -> LogRecord:
    """Do what compaction does when a forged record of the key follows; return the genuine one."""
    (row,) = system.records(TABLE)
    system.log.append([Output(row.topic, row.key, b"forged", (), row.partition)])
    system.log.slots(TopicPartition(row.topic, row.partition))[row.offset] = None
    system.host.restart()
    return row


def codes(system: Bench) -> list[bytes]:
    return [
        value
        for record in system.records("apc.packets.dlq")
        for name, value in record.headers
        if name == "kafka_dlt-exception-fqcn"
    ]


def repair(system: Bench, **more: Any) -> list[Any]:
    return repair_row(system.log, system.settings, TABLE, ROW, **more)


def repairs_on_log(system: Bench) -> list[dict[str, Any]]:
    return [
        decode(record.value, AUDIT_REPAIRS.record or "").value
        for record in system.records(AUDIT_REPAIRS.name)
    ]


def test_a_row_is_derived_again_and_the_command_is_decided(signed: Bench) -> None:
    genuine = replace_by_forged(signed)
    signed.send("apc.packets", ack(idea(), 1))
    assert codes(signed) == [b"row_refused"]
    planned = repair(signed, dry_run=True)
    assert repairs_on_log(signed) == []
    (done,) = repair(signed, reason="forged", by="ann")
    assert [done] == planned
    sha256 = hashlib.sha256(genuine.value or b"").hexdigest()
    assert (done.action, done.sha256) == (DERIVED, sha256)
    (fact,) = repairs_on_log(signed)
    assert (fact["refused"], fact["reason"], fact["by"]) == (done.refused, "forged", "ann")
    assert (fact["topic"], fact["key"], fact["sha256"]) == (TABLE, ROW, sha256)
    signed.host.restart()
    signed.send("apc.packets", ack(idea(), 2))
    assert codes(signed) == [b"row_refused"]
    assert signed.look(PACKET)["state"] == "ARCHIVED"


def test_a_row_is_made_absent(signed: Bench) -> None:
    replace_by_forged(signed)
    (done,) = repair(signed, absent=True)
    assert (done.action, done.sha256) == (ABSENT, None)
    (fact,) = repairs_on_log(signed)
    assert (fact["action"], fact["reason"]) == (ABSENT, "mac_missing")
    signed.host.restart()
    signed.send("apc.packets", ack(idea(), 1))
    assert codes(signed) == []


def test_what_stands_is_not_repaired(signed: Bench) -> None:
    with pytest.raises(NotFound, match="no record"):
        repair(signed)
    replace_by_forged(signed)
    repair(signed)
    with pytest.raises(NotFound, match="no record"):
        repair(signed)


def test_rows_that_do_not_follow_from_facts_are_not_derived(signed: Bench) -> None:
    with pytest.raises(NotDerivable):
        repair_row(signed.log, signed.settings, "apc.coordination", "s1")
    with pytest.raises(NotFound, match="no table"):
        repair_row(signed.log, signed.settings, "apc.packets", "s1")


def test_without_the_key_nothing_is_written(signed: Bench) -> None:
    replace_by_forged(signed)
    settings = Settings(partitions=signed.settings.partitions)
    with pytest.raises(MacKeyMissing):
        repair_row(signed.log, settings, TABLE, ROW, absent=True)
    assert repairs_on_log(signed) == []
