"""Records as large as a topic takes, larger ones, and small ones that cause large ones.

A topic's limit is on what a batch takes compressed, and workers compress otherwise than senders:
what came in small may be too large to be written as it is.
"""

from __future__ import annotations

import base64
import contextlib
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from streams.engine.headers import CAUSE, OVERSIZE
from streams.engine.records import Output, Record, header, position
from streams.errors import InvalidInput, OutputTooLarge
from streams.ingress.edges import EDGES
from streams.processing.encode import encode_value
from streams.settings import Settings
from tests.chaos import exact
from tests.chaos.cluster import Cluster
from tests.e2e.environment import Environment
from tests.history.site import SETTINGS
from tests.processes import wait_for
from tests.toy import FACTS, INPUT
from tests.unit.schemas import examples
from topology.declarations import Topic
from topology.topics import dead_letters_of

pytestmark = pytest.mark.slow

_BATCH = 200
"""Bytes of a batch of one record besides key, value and headers, at the most."""
ROOM = 32 << 10
"""Left for what else a command holds."""
_DEAD = dead_letters_of(INPUT)
_NEAR = (-3000, -2100, -1500, -700, -300, -100, -50, 0, 50)
"""Sizes about the limit of a dead letter, framing and headers counted or not."""


def dead(cluster: Cluster) -> dict[str, Record]:
    """By the position of the record; fails when one is there twice."""
    records = cluster.tail(_DEAD).catch_up()
    letters = {(header(r, CAUSE) or b"").decode(): r for r in records}
    assert len(letters) == len(records)
    return letters


def dense(dice: random.Random, size: int) -> bytes:
    """Zstandard makes it small, lz4 cannot: what is said again lies further back than it looks."""
    block = dice.randbytes(200_000)
    return (block * (size // len(block) + 1))[:size]


def squeezed(cluster: Cluster, values: Sequence[bytes]) -> list[str]:
    """Append values to the input as a sender that compresses hard; returns their positions."""
    at: list[str] = []
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "compression.type": "zstd",
            "message.max.bytes": 64 << 20,
            "batch.num.messages": 1,
        }
    )

    def delivered(error: Any, message: Any) -> None:
        assert error is None, error
        at.append(f"{message.topic()}/{message.partition()}/{message.offset()}")

    for value in values:
        producer.produce(cluster.prefix + INPUT.name, value, b"k", on_delivery=delivered)
        producer.flush(60)
    assert len(at) == len(values)
    return at


def test_what_no_topic_takes_is_refused_to_who_sends_it(
    cluster: Cluster, dice: random.Random
) -> None:
    for over in (1, _BATCH, 1 << 20):
        value = dice.randbytes(INPUT.max_bytes + over)
        with pytest.raises(OutputTooLarge):
            cluster.log.append([Output(cluster.prefix + INPUT.name, b"k", value)])


def test_undecodable_records_of_any_size_become_dead_letters(
    cluster: Cluster, dice: random.Random
) -> None:
    name, max_bytes = cluster.prefix + INPUT.name, INPUT.max_bytes - _BATCH
    whole = cluster.log.append(
        [
            Output(name, b"k", dice.randbytes(max_bytes)),
            Output(name, dice.randbytes(max_bytes // 2), dice.randbytes(max_bytes // 2)),
            Output(name, dice.randbytes(max_bytes), b""),
        ]
    )
    limit = _DEAD.max_bytes
    grown = squeezed(cluster, [dense(dice, limit + near) for near in (*_NEAR, 3 << 20, 20 << 20)])
    cluster.send_counts(500, dice)
    worker = cluster.start("only")
    cluster.drain()
    worker.end()
    letters = dead(cluster)
    assert letters.keys() == {*map(position, whole), *grown}
    for record in whole:
        letter = letters[position(record)]
        assert (letter.key, letter.value) == (record.key, record.value)
    whole_letters = [at for at in grown if header(letters[at], OVERSIZE) is None]
    assert grown[0] in whole_letters  # some fit
    assert grown[-1] not in whole_letters  # and some do not: they say where they lie
    assert header(letters[grown[-1]], OVERSIZE) == str(limit + (20 << 20)).encode()
    exact.check(cluster)


def test_a_result_above_its_topics_limit_is_a_coded_refusal(
    cluster: Cluster, dice: random.Random
) -> None:
    limit = FACTS.max_bytes
    sizes = [limit - 10_000, *(limit - n for n in (3000, 2200, 2100, 2000, 1000, 1, 0)), limit * 30]
    cluster.send_counts(300, dice)
    cluster.send([cluster.record(f"l{n}", large=size) for n, size in enumerate(sizes)])
    cluster.send_counts(300, dice)
    worker = cluster.start("only")
    cluster.drain()
    worker.end()
    facts = exact.check(cluster)
    by_id = {fact.id: fact.kind for fact in facts if fact.id.startswith("l")}
    assert by_id["l0"] == "seen"
    assert by_id[f"l{len(sizes) - 1}"] == by_id[f"l{len(sizes) - 2}"] == "too_large"
    assert dead(cluster) == {}


def test_an_output_that_zips_badly_is_written_or_refused_but_never_retried_for_ever(
    cluster: Cluster, dice: random.Random
) -> None:
    """A decodable record of 3 MiB that came in zipped: its row and its facts do not fit."""
    whole = cluster.record(f"x{dice.randbytes(100_000).hex()}" * 15)
    at = squeezed(cluster, [whole.value or b""])
    cluster.send_counts(300, dice)
    worker = cluster.start("only")
    cluster.drain()
    assert worker.running
    worker.end()
    assert dead(cluster).keys() == set(at)
    exact.check(cluster)


def padded(value: Any, text: str) -> Iterator[Any]:
    """The value with this appended to each of its texts, one at a time."""
    if isinstance(value, str):
        yield value + text
    elif isinstance(value, dict):
        for name, member in value.items():
            yield from ({**value, name: grown} for grown in padded(member, text))
    elif isinstance(value, list):
        for n, member in enumerate(value):
            yield from ([*value[:n], grown, *value[n + 1 :]] for grown in padded(member, text))


def commands(topic: Topic, dice: random.Random, settings: Settings) -> list[Output]:
    """An example of a topic with a text in it that is as long as the whole may be: two of them,
    each at another place.
    """
    edge = EDGES[topic.name]
    folder = next(f for f, kind in examples.KINDS.items() if kind == edge.kind.name)
    example = dice.choice(list(examples.valid(folder).values()))
    text = base64.b64encode(dice.randbytes(topic.max_bytes * 3 // 4 - ROOM)).decode()
    grown = list(padded(edge.kind.form(example), text))
    dice.shuffle(grown)
    outputs: list[Output] = []
    while len(outputs) < 2:
        with contextlib.suppress(InvalidInput):  # where only certain words may stand
            outputs.append(encode_value(topic, grown.pop(), settings))
    return outputs


@pytest.mark.timeout(1200)
def test_commands_at_the_limit_of_their_topics_have_one_answer_each(
    broker: str, tmp_path: Path, dice: random.Random
) -> None:
    """Of all protocols; a worker that stuck at one would not answer what follows."""
    topics = [edge.topic for edge in EDGES.values()]
    with Environment(broker, tmp_path) as environment:
        sent: Counter[str] = Counter()
        for topic in topics:
            for output in commands(topic, dice, environment.settings):
                with contextlib.suppress(OutputTooLarge):  # where the text is in the key as well
                    environment.send([output])
                    sent[topic.name] += 1
        assert sent.keys() == {topic.name for topic in topics}
        worker = environment.start("only", **SETTINGS)
        wait_for(lambda: environment.drained(topics), "all is decided", 600.0, 0.5)
        assert worker.running
        environment.verify()
        worker.end()
