"""Who sent the records of a thing, as their facts show it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from streams.engine.principals import Principals
from streams.errors import BrokerUnavailable
from streams.ingress.edges import ingress_topic_of
from streams.processing.encode import to_output
from tests.unit.protocols.sap.queries.stage import result, task
from tests.unit.views.bench import Bench

KEY = "a key of at least thirty-two bytes"
NODE = f"/v1/things/{quote('sap:task:' + task()['taskId'], safe='')}"


@pytest.fixture
def signing(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path, principal_key=KEY)
    yield bench
    bench.close()


def send_as(bench: Bench, principal: str, topic: str, value: Any) -> None:
    output = to_output(ingress_topic_of(topic), value, bench.tick(), bench.settings)
    keys = Principals.of(KEY)
    assert keys is not None
    bench.log.append([keys.signed(output, principal.encode(), bench.now)])
    bench.host.run()


def test_steps_and_verdicts_name_who_sent_their_records(signing: Bench) -> None:
    send_as(signing, "ana", "sap.tasks", task())
    send_as(signing, "A-ml-001", "sap.results", result(task()))
    signing.send("sap.tasks", task())
    thing = signing.look(NODE)
    senders = [step["principal"] for step in thing["steps"] if step["verdict"] != "duplicate"]
    assert (senders[0], senders[-1]) == ("ana", "A-ml-001")
    first, *_, last = thing["verdicts"][::-1]
    assert (first["principal"], last["principal"]) == ("ana", "unauthenticated")


def test_while_kafka_does_not_answer_nobody_is_named(
    signing: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    send_as(signing, "ana", "sap.tasks", task())
    assert signing.look(NODE)["steps"][0]["principal"] == "ana"

    def fail(*_: Any) -> Any:
        raise BrokerUnavailable("Kafka does not answer")

    monkeypatch.setattr("streams.routes.thing_principals.read_offsets", fail)
    assert signing.look(NODE)["steps"][0]["principal"] is None


def test_nothing_is_read_where_records_are_not_signed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise AssertionError("the log is read")

    monkeypatch.setattr("streams.routes.thing_principals.read_offsets", fail)
    bench = Bench(tmp_path)
    bench.send("sap.tasks", task())
    assert bench.look(NODE)["steps"][0]["principal"] is None
    bench.close()
