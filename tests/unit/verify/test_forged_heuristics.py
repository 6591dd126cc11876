"""Forged versions of heuristics are reported, those that continue the chain too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schemas import decode, encode
from streams.engine.local import LocalHost
from streams.engine.memory import MemoryLog
from streams.engine.records import Output, TopicPartition
from streams.ops.topics import create_topics
from streams.protocols.sap.learning import SapLearningProcessor
from streams.protocols.sap.learning.heuristics import chain_version
from streams.replay.violations import Violation
from streams.settings import Settings
from streams.verify.run import verify
from tests.unit.protocols.sap.learning.support import START_MS
from tests.unit.protocols.sap.learning.test_heuristics import failing, stated
from topology.sap import SAP_HEURISTICS, SAP_LEARNING_SIGNALS, sap_key, sap_version

RECORD = SAP_HEURISTICS.record or ""
Json = dict[str, Any]


def above(row: Json) -> Json:
    """Return a next version that continues the chain."""
    number = row["version"] + 1
    return chain_version({**row, "version": number}, row["cause"], row["sha256"])


def instead(row: Json) -> Json:
    """Return another content, as compaction leaves it, its hash right."""
    changed = {**row, "volatileKeys": ["document"]}
    return chain_version(changed, row["cause"], row["previousSha256"])


@pytest.mark.parametrize("forge", [above, instead])
def test_a_version_that_the_head_does_not_name_is_reported(
    forge: Callable[[Json], Json], tmp_path: Path
) -> None:
    log, settings = MemoryLog(lambda: START_MS), Settings(partitions=1)
    create_topics(log, settings)
    learn(log, settings, tmp_path / "worker")
    assert findings(log, settings, tmp_path / "before") == []
    slots = log.slots(TopicPartition(SAP_HEURISTICS.name, 0))
    (number, last) = [(n, record) for n, record in enumerate(slots) if record is not None][-1]
    row = forge(decode(last.value, RECORD).value)
    name = sap_key(row["capability"], sap_version(row["version"]))
    if forge is above:
        log.append([Output(SAP_HEURISTICS.name, name.encode(), encode(RECORD, row))])
    else:
        slots[number] = last._replace(value=encode(RECORD, row))
    (one,) = findings(log, settings, tmp_path / "after")
    assert one.place == f"{SAP_HEURISTICS.name} {name}"
    assert "the head of the capability says" in one.message


def learn(log: MemoryLog, settings: Settings, state: Path) -> None:
    """Have a worker derive two versions."""
    topic = SAP_LEARNING_SIGNALS
    host = LocalHost(log, lambda: [SapLearningProcessor()], settings, state)
    for signal in (*stated(25, 8), *failing(25, 25, fails=10)):
        value = encode(topic.record or "", signal)
        output = Output(topic.name, signal["capability"].encode(), value)
        log.append_at(output, signal["at"])
    host.run()
    host.close()


def findings(log: MemoryLog, settings: Settings, folder: Path) -> list[Violation]:
    folder.mkdir()
    return list(verify(log, settings, folder).findings.shown)
