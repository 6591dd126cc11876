"""Keeps the chains of signed checkpoints that a version writes over the logs that it has left.

    PYTHONPATH=<checkout of the version> python tests/upgrade/write_chains.py VERSION

Writes `kept/VERSION/chains.json.gz`: for each archive the records of `audit.checkpoints`, two for
each partition with facts.  Uses that version's own code, so it imports nothing from the tests.
"""

from __future__ import annotations

import base64
import gzip
import json
import sys
import tarfile
from importlib import import_module
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from streams.engine.log import NewTopic
from streams.engine.memory import MemoryLog, MemoryTopic
from streams.engine.records import LogRecord
from streams.settings import Settings

HERE = Path(__file__).parent
SEED = bytes(range(32))
"""Of the private key."""


def slots_of(name: str, topic: dict[str, Any]) -> list[list[LogRecord | None]]:
    return [
        [slot and record_of(name, partition, offset, slot) for offset, slot in enumerate(slots)]
        for partition, slots in enumerate(topic["slots"])
    ]


def record_of(name: str, partition: int, offset: int, slot: list[Any]) -> LogRecord:
    stamp, key, value, headers = slot
    decoded = [(header, base64.b64decode(text)) for header, text in headers]
    return LogRecord(name, partition, offset, stamp, bytes_of(key), bytes_of(value), decoded)


def bytes_of(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def seal(archive: Path) -> list[list[Any]]:
    """Seal the first halves of all partitions, then all; return time, key and value of each."""
    audit: Any = import_module("streams.audit")
    with tarfile.open(archive) as file:
        member = file.extractfile("log.json")
        assert member is not None
        archived = json.load(member)
    log: Any = MemoryLog(lambda: archived["now"])
    for name, topic in archived["topics"].items():
        spec = NewTopic(name, len(topic["slots"]), topic["config"])
        log._topics[name] = MemoryTopic(spec, topic["id"])
        log._topics[name].starts = topic["starts"]
    signer = audit.Signer(Ed25519PrivateKey.from_private_bytes(SEED))
    for share in (2, 1):
        for name, topic in archived["topics"].items():
            if name != "audit.checkpoints":
                whole = slots_of(name, topic)
                log._topics[name].slots = [slots[: len(slots) // share] for slots in whole]
        with audit.AuditWriter(
            log, Settings(partitions=1), signer, lambda: archived["now"]
        ) as writer:
            writer.read()
            writer.seal()
    (slots,) = log._topics["audit.checkpoints"].slots
    return [[r.timestamp, *map(text_of, (r.key, r.value))] for r in slots if r is not None]


def text_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


if __name__ == "__main__":
    folder = HERE / "kept" / sys.argv[1]
    chains = {path.name: seal(path) for path in sorted(folder.glob("*.tar.gz"))}
    data = json.dumps(chains).encode()
    (folder / "chains.json.gz").write_bytes(gzip.compress(data, mtime=0))
