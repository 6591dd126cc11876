from __future__ import annotations

import pytest

from streams.errors import NotFound
from streams.log.dead_letters import find_dead_letter, groups
from streams.views.positions import Position
from tests.unit.views.bench import Bench


def test_dead_letters_are_grouped_by_topic_and_code(bench: Bench) -> None:
    for value in (b"\x00nonsense", b"\x00more nonsense", b"else"):
        bench.send_bytes("apc.packets", value)
    bench.send_bytes("rtes.raw", b"else")
    counts = [(g["topic"], g["code"], g["count"]) for g in groups(bench.log, "")]
    assert counts == [
        ("apc.packets.dlq", "schema_unknown", 2),
        ("apc.packets.dlq", "frame_unknown", 1),
        ("rtes.raw.dlq", "frame_unknown", 1),
    ]


def test_a_dead_letter_is_found_by_its_place_or_its_sources(bench: Bench) -> None:
    source = bench.send_bytes("apc.packets", b"\x00nonsense", key=b"k")
    topic, partition, offset = source.split("/")
    letter = find_dead_letter(bench.log, Position(topic, int(partition), int(offset)), "")
    assert (letter["source"], letter["key"], letter["code"]) == (source, "k", "schema_unknown")
    assert letter["value"] == {"raw_base64": "AG5vbnNlbnNl"}
    assert letter["headers"]["kafka_dlt-original-partition"] == int(partition)
    dlq_position = Position("apc.packets.dlq", 0, int(letter["position"].rpartition("/")[2]))
    assert find_dead_letter(bench.log, dlq_position, "") == letter


def test_a_dead_letter_of_masked_text(bench: Bench) -> None:
    source = bench.send_bytes("rtes.raw", b"\x00password=hunter2")
    topic, partition, offset = source.split("/")
    letter = find_dead_letter(bench.log, Position(topic, int(partition), int(offset)), "")
    assert letter["value"] == {"text": "\x00password=[REDACTED:assignment]"}


def test_a_dead_letter_that_is_not_there(bench: Bench) -> None:
    with pytest.raises(NotFound):
        find_dead_letter(bench.log, Position("apc.packets", 0, 3), "")
