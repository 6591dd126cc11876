"""Offsets that the broker lists: a partition without an answer is no partition without records."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from streams.engine.kafka_records import listed


def test_a_listed_offset_is_returned() -> None:
    assert [listed(SimpleNamespace(offset=offset)) for offset in (0, 7)] == [0, 7]


def test_an_offset_that_is_missing_was_not_answered_in_time() -> None:
    with pytest.raises(TimeoutError):
        listed(SimpleNamespace(offset=-1001))
