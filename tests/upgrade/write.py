"""Keeps what a version leaves behind in the middle of scenarios: its log, and the state directories
of a worker and of a gateway.

    PYTHONPATH=<checkout of the version> python tests/upgrade/write.py VERSION SCENARIO...

Writes `kept/VERSION/<scenario>.tar.gz`: once for each release, from a checkout of its tag, in the
commit that opens the next version.  Uses that version's own code, so it imports nothing from
the tests, and only what versions have had from the beginning.
"""

from __future__ import annotations

import base64
import json
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from streams.play.scenario import Scenario
from streams.protocols.commands import all_processors
from streams.settings import Settings

HERE = Path(__file__).parent


def text_of(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def record_of(slot: Any) -> Any:
    if slot is None:
        return None
    headers = [(name, text_of(value)) for name, value in slot.headers]
    return [slot.timestamp, text_of(slot.key), text_of(slot.value), headers]


def topic_of(topic: Any) -> dict[str, Any]:
    return {
        "id": topic.topic_id,
        "config": dict(topic.spec.config),
        "starts": topic.starts,
        "slots": [[record_of(slot) for slot in slots] for slots in topic.slots],
    }


def keep(path: Path, into: Path) -> None:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    middle = len(lines) // 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scenario: Any = Scenario(Settings(partitions=1), folder, all_processors)
        for number, line in enumerate(lines[:middle], 1):
            scenario.line(number, line)
        scenario.close()
        log = scenario.log if hasattr(scenario, "log") else scenario._log
        description = {
            "lines": lines,
            "middle": middle,
            "now": scenario.now,
            "begun": scenario._begun,
            "ids": scenario._ids,
            "cluster": log._cluster,
            "topics": {name: topic_of(topic) for name, topic in log._topics.items()},
        }
        (folder / "log.json").write_text(json.dumps(description), encoding="utf-8")
        into.mkdir(parents=True, exist_ok=True)
        with tarfile.open(into / f"{path.stem}.tar.gz", "w:gz") as archive_file:
            archive_file.add(folder / "log.json", "log.json")
            last = max((folder / "state").iterdir(), key=lambda start: int(start.name))
            archive_file.add(last, "state/1", filter=_without_logs)
            view = max(folder.glob("view-*"), key=lambda start: int(start.name.split("-")[1]))
            archive_file.add(view, "view-1", filter=_without_logs)


def _without_logs(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """RocksDB's own log says nothing that is needed."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return None if Path(member.name).name.startswith("LOG") else member


if __name__ == "__main__":
    version, *names = sys.argv[1:]
    for each in names:
        keep(Path(each), HERE / "kept" / version)
