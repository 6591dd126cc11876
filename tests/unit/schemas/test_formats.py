from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.formats import is_rfc_uuid, is_saop_time, is_uuid, iso_ms, parse_ms, parse_time

MIXED = "7f0c2F5d-0f76-4a4c-93d0-f0b2e2891730"


@pytest.mark.parametrize("text", [MIXED, "f" * 8 + "-ffff-ffff-ffff-" + "F" * 12])
def test_uuids_of_any_version_and_case(text: str) -> None:
    assert is_uuid(text)


@pytest.mark.parametrize(
    "text", ["", MIXED[:-1], MIXED + "0", MIXED + "\n", "{" + MIXED + "}", MIXED.replace("-", "")]
)
def test_what_is_no_uuid(text: str) -> None:
    assert not is_uuid(text)
    assert not is_rfc_uuid(text)


@pytest.mark.parametrize(
    ("text", "good"),
    [
        (MIXED, True),
        (MIXED.upper(), True),
        ("00000000-0000-0000-0000-000000000000", True),
        ("ffffffff-ffff-ffff-ffff-ffffffffffff", False),
        ("7f0c2f5d-0f76-9a4c-93d0-f0b2e2891730", False),
        ("7f0c2f5d-0f76-4a4c-c3d0-f0b2e2891730", False),
    ],
)
def test_event_ids_have_a_version_and_a_variant_or_are_nil(text: str, good: bool) -> None:
    assert is_rfc_uuid(text) is good


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_written_time_is_read(moment: datetime) -> None:
    text = moment.isoformat().replace("+00:00", "Z")
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    microseconds = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    assert parse_time(text) == microseconds * 1000


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T19:00:00-05:00", 0),
        ("1970-01-01T00:00:00-00:00", 0),
        ("2000-02-29T00:00:00Z", 951_782_400_000_000_000),
        ("0000-02-29T00:00:00Z", -62_162_121_600_000_000_000),
    ],
)
def test_times_as_nanoseconds(text: str, ns: int) -> None:
    assert parse_time(text) == ns


@pytest.mark.parametrize(
    "text",
    [
        "2026-05-04T08:00:00",
        "2026-05-04 08:00:00Z",
        "2026-05-04t08:00:00Z",
        "2026-05-04T08:00:00z",
        "2026-05-04T08:00Z",
        "2026-05-04T08:00:00.Z",
        "2026-05-04T08:00:00.1234567890Z",
        "2026-02-29T08:00:00Z",
        "2026-05-04T24:00:00Z",
        "2016-12-31T23:59:60Z",
        "2026-05-04T08:00:00+24:00",
        "2026-05-04T08:00:00+01:60",
        "2026-05-04T08:00:00+0100",
        "2026-05-04T08:00:00Z\n",
        "２026-05-04T08:00:00Z",
        "",
    ],
)
def test_what_is_no_time(text: str) -> None:
    assert parse_time(text) is None


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("2026-05-04T08:00Z", True),
        ("2026-05-04T08:00:00Z", True),
        ("2026-05-04T08:00:00." + "1" * 30 + "Z", True),
        ("0000-01-01T00:00Z", True),
        ("2024-02-29T00:00Z", True),
        ("2023-02-29T00:00Z", False),
        ("2026-05-04T08:00:00.Z", False),
        ("2026-05-04T08:00:60Z", False),
        ("2026-05-04T08:00:00+00:00", False),
        ("2026-05-04T08Z", False),
        ("2026-05-04", False),
    ],
)
def test_times_of_rtes_events(text: str, good: bool) -> None:
    assert is_saop_time(text) is good


@given(st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_milliseconds_are_written_and_read(ms: int) -> None:
    assert parse_ms(iso_ms(ms)) == ms
    assert len(iso_ms(ms)) == 24
