"""ULIDs: examples (ASAP guide, 1), their order, and their times."""

from __future__ import annotations

import re
import threading
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.asap import derived_id, extract_timestamp, generate_id, ulid

ULID = re.compile("[0123456789ABCDEFGHJKMNPQRSTVWXYZ]{26}")
AT = datetime(2026, 11, 21, 10, tzinfo=UTC)
AT_MS = int(AT.timestamp() * 1000)


def test_derived_ids_are_those_of_the_spec() -> None:
    cause = "asap.envelopes/3/1207"
    assert derived_id(cause, 0, AT_MS) == "01M7YRRT807KCQZZ2XJGCRN5VD"
    assert derived_id(cause, 1, AT_MS) == "01M7YRRT80FSPB6S13JQ2N5AF1"
    assert extract_timestamp("01M7YRRT807KCQZZ2XJGCRN5VD") == AT


def test_generated_ids_are_ulids_of_now() -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    made = generate_id()
    assert ULID.fullmatch(made)
    assert before <= extract_timestamp(made) <= datetime.now(UTC) + timedelta(seconds=1)


def test_generated_ids_rise_in_each_of_several_threads_and_none_comes_twice() -> None:
    made: list[list[str]] = [[] for _ in range(4)]
    start = threading.Barrier(len(made))

    def generate(ids: list[str]) -> None:
        start.wait()
        ids.extend(generate_id() for _ in range(2_000))

    threads = [threading.Thread(target=generate, args=(ids,)) for ids in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for ids in made:
        assert ids == sorted(ids)
    assert len({id for ids in made for id in ids}) == 8_000


def test_generated_ids_rise_when_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    first = generate_id()
    monkeypatch.setattr("schemas.ulid.time.time_ns", lambda: 0)
    second = generate_id()
    assert first < second
    assert extract_timestamp(second) - extract_timestamp(first) < timedelta(seconds=1)


@given(st.integers(0, 253_402_300_799_999), st.binary(min_size=10, max_size=10))
def test_any_ulid_tells_its_time(at_ms: int, randomness: bytes) -> None:
    made = ulid(at_ms, randomness)
    assert ULID.fullmatch(made)
    assert extract_timestamp(made) == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(
        milliseconds=at_ms
    )


@pytest.mark.parametrize("n", [-1, 1 << 48])
def test_a_time_that_no_ulid_has_counts_as_the_nearest(n: int) -> None:
    assert ulid(n, bytes(10)) == ulid(min(max(n, 0), (1 << 48) - 1), bytes(10))


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "01M7YRRT807KCQZZ2XJGCRN5V", "81M7YRRT807KCQZZ2XJGCRN5VD", "0" * 25 + "U"),
        *("01m7yrrt807kcqzz2xjgcrn5vd", "01M7YRRT807KCQZZ2XJGCRN5VD\n", "7" + "Z" * 25),
    ],
)
def test_other_texts_have_no_time(text: str) -> None:
    with pytest.raises(ValueError):
        extract_timestamp(text)
