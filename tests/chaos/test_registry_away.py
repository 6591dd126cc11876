"""A schema registry that dies and comes back: what needs it waits, and nothing else does."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

from streams.engine.records import Output, position
from tests.chaos.registry_server import RegistryServer
from tests.e2e.environment import Environment
from tests.e2e.outputs import PARTITIONS
from tests.history import answers
from tests.history.sources import cause_of
from tests.processes import wait_for
from tests.unit.protocols.apc.processor.packets import packet
from topology.apc import APC_EVENTS, APC_PACKETS, APC_PACKETS_DLQ
from topology.keys import partition_of

pytestmark = pytest.mark.slow

PACKET = "headrace.apc.ApcPacket"
ALL = range(PARTITIONS)
STRUCK = 1
"""The partition that gets packets whose schema must be asked for."""
WAITS = "waits: no registry answers"


class Sender:
    """Packets, each in a session of its own.  notes: all of them, by position."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._count = 0
        self.notes: dict[str, Output] = {}

    def send(self, partitions: Collection[int], count: int, id: int | None = None) -> list[str]:
        """So many to each of the partitions; their positions.

        id: of the schema that they name, instead of the registry's for the catalogue's.
        """
        made = [self._packet(partition, id) for _ in range(count) for partition in partitions]
        places = [position(record) for record in self._environment.log.append(made)]
        self.notes.update(zip(places, made, strict=True))
        return places

    def _packet(self, partition: int, id: int | None) -> Output:
        while partition_of(f"s{self._count}".encode(), PARTITIONS) != partition:
            self._count += 1
        idea = packet("IDEA", self._count, session=f"s{self._count}")
        self._count += 1
        output = self._environment.packet(idea)
        assert output.value is not None
        head = output.value[1:5] if id is None else id.to_bytes(4, "big")
        return output._replace(value=b"\0" + head + output.value[5:])


def accepted(environment: Environment, places: Sequence[str]) -> bool:
    """Waits until each is answered, once."""
    answers = environment.await_answers(places)
    return all(kind == "fact" and fact["verdict"] == "accepted" for kind, fact in answers)


def test_what_needs_a_registry_that_is_away_waits_and_nothing_else_does(
    broker: str, tmp_path: Path
) -> None:
    with (
        RegistryServer() as registry,
        Environment(broker, tmp_path) as environment,
        registry.used(environment.prefix),
    ):
        known, known_id, later = (registry.add_worded(PACKET, f"As told by {n}.") for n in range(3))
        sender = Sender(environment)
        worker = environment.start("only", "--static", SCHEMA_REGISTRY_URL=registry.url)
        worker.wait_ready(*ALL)
        assert accepted(environment, sender.send(ALL, 10) + sender.send(ALL, 10, known))

        registry.die()
        assert accepted(environment, sender.send(ALL, 10) + sender.send(ALL, 10, known))
        assert WAITS not in worker.text()
        waiting = sender.send([STRUCK], 5, known_id) + sender.send([STRUCK], 20)
        worker.wait_text(f"task {STRUCK} {WAITS}")
        others = [number for number in ALL if number != STRUCK]
        assert accepted(environment, sender.send(others, 20) + sender.send(others, 20, known))
        causes = {cause_of(fact) for fact in environment.records(APC_EVENTS)}
        assert causes.isdisjoint(waiting)

        registry.come_back()
        assert accepted(environment, waiting + sender.send(ALL, 10, known_id))

        registry.die()
        waiting = sender.send(ALL, 5, later) + sender.send(ALL, 20)
        wait_for(lambda: worker.text().count(WAITS) > PARTITIONS, "all tasks wait")
        worker.kill()
        worker = environment.start("only", "--static", SCHEMA_REGISTRY_URL=registry.url)
        worker.wait_text("waiting for the schema registry: no registry answers")
        waiting += sender.send(ALL, 20, known_id)
        registry.come_back()
        assert accepted(environment, waiting)
        worker.wait_ready(*ALL)
        worker.end()
        assert environment.records(APC_PACKETS_DLQ) == []
        assert {position(r) for r in environment.records(APC_PACKETS)} == sender.notes.keys()
        assert list(answers.check(environment, sender.notes)) == []
