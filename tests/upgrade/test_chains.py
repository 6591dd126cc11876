"""Chains of signed checkpoints that 0.1.0 has left go on as a transparency log."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from streams.engine.memory import MemoryLog
from streams.engine.records import Output, TopicPartition
from streams.log.reading import partitions
from streams.ops.audit.keys import Keys
from streams.ops.tlog.chains import chain_keys, check_chains
from streams.ops.tlog.errors import ChainsInvalid
from streams.ops.tlog.logged_topics import LOGGED
from streams.ops.tlog.tile_directory import TileDirectory
from streams.ops.tlog.verify import LogResult, verify_log
from streams.ops.tlog.writer import LogWriter
from streams.ops.topics import create_topics
from streams.settings import Settings
from tests.unit.ops.tlog.example_log import ORIGIN
from tests.unit.ops.tlog.logged import KEYS
from tests.upgrade.kept_history import KEPT, History
from topology.core import AUDIT_CHECKPOINTS, AUDIT_ENTRIES

FOLDER = KEPT / "0.1.0"
CHAINS = json.loads(gzip.decompress((FOLDER / "chains.json.gz").read_bytes()))
CHECKPOINTS = TopicPartition(AUDIT_CHECKPOINTS.name, 0)
NOW_MS = 1_800_000_000_000


def kept_log(archive: str, folder: Path) -> MemoryLog:
    """Return a log of 0.1.0 with its chains, and the topics of this version."""
    log = History(FOLDER / archive, folder / "kept").make_log(lambda: NOW_MS)
    for time, key, value in CHAINS[archive]:
        output = Output(CHECKPOINTS.topic, base64.b64decode(key), base64.b64decode(value))
        log.append_at(output, time)
    create_topics(log, Settings(partitions=1, tlog_policy=folder / "policy"))
    return log


def write(log: MemoryLog, folder: Path, keys: Keys | None) -> int:
    """Write one round of the log, and return its size."""
    directory = TileDirectory(folder / "tlog")
    with LogWriter(log, "", KEYS, directory, lambda: NOW_MS, (), None, keys) as writer:
        return writer.round().size


def verify(log: MemoryLog) -> LogResult:
    covered = partitions(log, [topic.name for topic in LOGGED])
    return verify_log(log, "", KEYS.policy, ORIGIN, covered, covered)


def forge_fact(log: MemoryLog, archive: str) -> str:
    """Replace the first fact of the first chain, and return its partition."""
    name = base64.b64decode(CHAINS[archive][0][1]).decode()
    topic, _, partition = name.rpartition("/")
    slots = log.slots(TopicPartition(topic, int(partition)))
    fact = next(slot for slot in slots if slot is not None)
    slots[fact.offset] = fact._replace(value=b"forged")
    return name


@pytest.mark.parametrize("archive", CHAINS)
def test_a_chain_is_compared_with_the_facts_and_bound_into_the_log(
    archive: str, tmp_path: Path
) -> None:
    log = kept_log(archive, tmp_path)
    size = write(log, tmp_path, chain_keys(KEYS, {}))
    result = verify(log)
    assert (result.findings, result.uncovered, result.size) == ((), (), size)
    records = {each.place: each.records for each in result.partitions}
    assert records[f"{CHECKPOINTS.topic}/0"] == len(CHAINS[archive])


def test_a_fact_that_was_forged_since_stops_the_log_before_its_first_entry(tmp_path: Path) -> None:
    archive = "five-protocols.tar.gz"
    log = kept_log(archive, tmp_path)
    name = forge_fact(log, archive)
    with pytest.raises(ChainsInvalid, match=f"^{name}: ") as caught:
        write(log, tmp_path, chain_keys(KEYS, {}))
    assert (caught.value.code, caught.value.exit_code) == ("records_differ", 3)
    assert log.end(TopicPartition(AUDIT_ENTRIES.name, 0)) == 0
    assert not (tmp_path / "tlog").exists()
    assert write(log, tmp_path, None) == verify(log).size > 0
    write(log, tmp_path, chain_keys(KEYS, {}))  # a log that was begun is not stopped any more


def test_a_chain_of_a_key_that_was_replaced_needs_that_key(tmp_path: Path) -> None:
    log = kept_log("tasks.tar.gz", tmp_path)
    private = Ed25519PrivateKey.from_private_bytes(bytes(32))
    replaced = chain_keys(KEYS, {})
    rotated = KEYS._replace(batches=private, all=(private,))
    with pytest.raises(ChainsInvalid, match="is signed with the key") as caught:
        check_chains(log, "", chain_keys(rotated, {}))
    assert caught.value.code == "checkpoint_invalid"
    check_chains(log, "", chain_keys(rotated, replaced))
