"""Records that only an intruder can have written: a view skips them, and counts them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from streams.engine.headers import CAUSE
from streams.engine.records import Output, Record
from streams.view_store.rows import FOLLOWED
from streams.views.changes import WriteBatch
from streams.views.positions import ViewBehind
from tests.unit.envelopes import IDEA_ID, idea
from tests.unit.views.bench import Bench
from tests.unit.views.living import to_position
from topology import topics
from topology.declarations import Topic

PACKET = f"/v1/apc/sessions/s1/packets/{IDEA_ID}"
UNKNOWN_SCHEMA = b"\0\xff\xff\xff\xff\1"
FACT = "apc.events"
TABLE = "apc.packet-states"
DEAD_LETTERS = topics.dead_letters_of(topics.BY_NAME["apc.packets"]).name


def forge(
    bench: Bench, topic: str, key: bytes = b"s1", value: bytes | None = b"", cause: bytes = b""
) -> None:
    bench.log.append([Output(topic, key, value, [(CAUSE, cause)] if cause else (), 0)])


def test_a_record_without_content_on_any_topic_does_not_stop_a_view(bench: Bench) -> None:
    """Check what a reader makes of a batch that its client does not inflate."""
    names = [name for name in FOLLOWED if not topics.BY_NAME[name].internal]
    bench.log.append([Output(name, None, b"", (), 0) for name in names])
    bench.send("apc.packets", idea())
    bench.view.catch_up(0)
    assert bench.get(PACKET).status == 200


@pytest.mark.parametrize(
    ("topic", "key", "value", "cause"),
    [
        (TABLE, b"\xff\xfe", b"", b""),
        (TABLE, b"\xff\xfe", None, b""),
        (TABLE, b"s1/a/b/c/d/e/f", b"x", b""),
        (FACT, b"\xff\xfe", b"", b""),
        (FACT, b"s1", UNKNOWN_SCHEMA, b""),
        (TABLE, b"s1", UNKNOWN_SCHEMA, b""),
        (FACT, b"s1", b"", b"apc.packets/0/" + b"9" * 30),
        (FACT, b"s1", b"", b"apc.packets/0/" + b"9" * 5000),
        (FACT, b"s1", b"", b"apc.packets/" + b"9" * 30 + b"/1"),
        (FACT, b"s1", b"", b"\xff\xfe/0/1"),
        (DEAD_LETTERS, b"\xff\xfe", b"", b"apc.packets/0/" + b"9" * 30),
        (DEAD_LETTERS, b"s1", b"", b"nothing/0/1"),
    ],
)
def test_a_forged_record_does_not_stop_a_view(
    bench: Bench, topic: str, key: bytes, value: bytes | None, cause: bytes
) -> None:
    forge(bench, topic, key, value, cause)
    bench.send("apc.packets", idea())
    forge(bench, topic, key, value, cause)
    bench.view.catch_up(0)
    assert bench.get(PACKET).status == 200
    bench.reopen_view()
    assert bench.get(PACKET).status == 200


def test_a_record_that_a_projection_cannot_apply_is_skipped_alone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    projection = FOLLOWED[FACT]
    assert projection is not None

    def strict(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
        if any(record.key == b"forged" for record in records):
            raise ValueError
        projection(topic, records, rows)

    monkeypatch.setitem(FOLLOWED, FACT, strict)
    forge(bench, FACT, b"forged", b"\0")
    bench.send("apc.packets", idea())
    forge(bench, FACT, b"forged", b"\0")
    bench.send("apc.packets", idea(2))
    bench.view.catch_up(0)
    assert bench.view.skipped == 2
    assert len(bench.look("/v1/apc/packets")["packets"]) == 2


def test_a_cause_ahead_of_its_log_ends_no_wait(bench: Bench) -> None:
    bench.send("apc.packets", idea(3))
    (first,) = bench.append("apc.packets", idea())
    name, partition, offset = to_position(first)
    fact = bench.records(FACT)[-1].value
    for topic in (FACT, DEAD_LETTERS):
        forge(bench, topic, value=fact, cause=f"{name}/{partition}/{offset + 1000}".encode())
    with pytest.raises(ViewBehind):
        bench.view.wait(to_position(first), 0)
    bench.reopen_view()
    with pytest.raises(ViewBehind):
        bench.view.wait(to_position(first), 0)
    bench.host.run()
    bench.view.wait(to_position(first), 0)
    (second,) = bench.append("apc.packets", idea(2))
    with pytest.raises(ViewBehind):
        bench.view.wait(to_position(second), 0)
