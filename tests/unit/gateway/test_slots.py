"""A request that becomes a stream while it is answered."""

from __future__ import annotations

import pytest

from streams.gateway.slots import answering, count_as_stream, on_stream


def test_each_change_is_made_once() -> None:
    """Make each change when the request becomes a stream, and not again."""
    changes: list[str] = []
    with answering():
        on_stream(lambda: changes.append("guard"))
        on_stream(lambda: changes.append("slots"))
        count_as_stream()
        count_as_stream()
    assert changes == ["guard", "slots"]


def test_requests_do_not_meet() -> None:
    """Keep what one request has named apart from another, and from none."""
    changes: list[str] = []
    with answering():
        on_stream(lambda: changes.append("outer"))
        with answering():
            count_as_stream()
    count_as_stream()
    on_stream(lambda: changes.append("none"))
    assert changes == []


def test_refusal_is_passed_on() -> None:
    """Refuse a stream where it begins."""

    def refuse() -> None:
        raise ValueError("no more streams")

    with answering():
        on_stream(refuse)
        with pytest.raises(ValueError, match="no more"):
            count_as_stream()
