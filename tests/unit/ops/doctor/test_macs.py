"""Tests of the doctor's check of MACs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from streams.engine.records import Output
from streams.ops.doctor.findings import Check, Level
from streams.ops.doctor.macs import check_macs
from tests.unit.envelopes import idea
from tests.unit.views.bench import Bench
from topology.apc import APC_PACKET_STATES

KEY = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def signed(tmp_path: Path) -> Iterator[Bench]:
    system = Bench(tmp_path, mac_key=KEY)
    system.send("apc.packets", idea())
    yield system
    system.close()


def check(system: Bench, **changes: str | None) -> Check:
    (finding,) = check_macs(system.log, replace(system.settings, **changes))  # type: ignore[arg-type]
    return finding


def test_without_a_key_it_warns(signed: Bench) -> None:
    finding = check(signed, mac_key=None)
    assert finding.level is Level.WARN
    assert "no key is set" in finding.said
    assert "HEADRACE_MAC_KEY" in finding.advice


def test_sound_rows_are_counted(signed: Bench) -> None:
    rows = len(signed.records("apc.packet-states")) + len(signed.records("headrace.changelog"))
    finding = check(signed)
    assert finding.level is Level.OK
    assert int(finding.said.split()[2]) >= rows > 0


def test_a_forged_row_and_a_wrong_key_are_named(signed: Bench) -> None:
    (row,) = signed.records(APC_PACKET_STATES.name)
    output = Output(row.topic, row.key, row.value, (), row.partition)
    (forged,) = signed.log.append([output])
    finding = check(signed)
    assert finding.level is Level.FAIL
    place = f"{row.topic}/{row.partition}/{forged.offset}: mac_missing"
    assert finding.said.startswith("1 of the newest ")
    assert finding.said.endswith(f"the first at {place}")
    assert "mac_invalid" in check(signed, mac_key="x" * 32).said
