"""Checks of cached versions by the doctor: it names the first that does not count, and why."""

from __future__ import annotations

from typing import Any

import pytest

from streams.engine.records import Output
from streams.ops.doctor.findings import Level
from streams.ops.doctor.services import check_records
from streams.protocols.sap import newest_versions
from streams.protocols.sap.newest_versions import check_versions
from tests.unit.protocols.sap.queries.test_cache import KEY, chain, forged, lie, stored, written
from tests.unit.views.bench import Bench
from topology.keys import partition_of
from topology.sap import SAP_CACHE, sap_key, sap_version

OTHER = "cd" * 32


def position_text(version: int, offset: int, key: str = KEY) -> str:
    partition = partition_of(sap_key(key, sap_version(version)).encode(), 2)
    return f"{SAP_CACHE.name}/{partition}/{offset}"


def put(bench: Bench, version: int, value: bytes | None) -> None:
    row_key = sap_key(KEY, sap_version(version)).encode()
    bench.log.append([Output(SAP_CACHE.name, row_key, value)])


def test_versions_that_were_stored_count(bench: Bench) -> None:
    stored(bench, *chain(3), *chain(2, OTHER))
    forged(bench, chain(1)[0])
    assert check_versions(bench.log, "") == (5, 0, None, None)
    assert [each.level for each in check_records(bench.log, "")] == [Level.OK]


def test_without_versions_there_is_nothing_wrong(bench: Bench) -> None:
    assert check_versions(bench.log, "") == (0, 0, None, None)


def test_a_forged_version_that_is_left_alone_is_named_with_what_to_do(bench: Bench) -> None:
    (one,) = chain(1)
    forged(bench, lie(1))
    written(bench, one, one["recordSha256"])
    (finding,) = check_records(bench.log, "")
    assert (finding.check, finding.level) == ("write-once", Level.FAIL)
    assert finding.said.endswith(f"the first at {position_text(1, 0)}: hash_mismatch")
    assert "headrace sap cache --verify" in finding.advice


@pytest.mark.parametrize("value", ["lie", None])
def test_a_later_record_of_a_version_is_refused(bench: Bench, value: Any) -> None:
    stored(bench, *chain(1))
    if value is None:
        put(bench, 1, None)
    else:
        forged(bench, lie(1))
    assert check_versions(bench.log, "") == (1, 1, position_text(1, 1), "written_once")


def test_noise_and_records_under_another_key_are_refused(bench: Bench) -> None:
    put(bench, 1, b"noise")
    assert check_versions(bench.log, "")[1:] == (1, position_text(1, 0), "undecodable")
    other = sap_key(OTHER, sap_version(1))
    forged(bench, chain(1)[0], other)
    assert check_versions(bench.log, "").refused == 2


def test_a_version_without_its_verdict_has_the_hash_that_the_next_one_names(bench: Bench) -> None:
    one, two = chain(2)
    forged(bench, lie(1))
    stored(bench, two)
    assert check_versions(bench.log, "") == (2, 1, position_text(1, 0), "hash_mismatch")
    assert one["recordSha256"] == two["previousSha256"]


def test_only_the_newest_are_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newest_versions, "MAX_VERSIONS", 2)
    forged(bench, lie(1))
    stored(bench, *chain(9)[1:])
    assert check_versions(bench.log, "").checked == 2
