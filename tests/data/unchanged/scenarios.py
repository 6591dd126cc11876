"""What comes of every scenario: what `headrace play` prints, the whole log, the answers to queries
about what is on it, and what `headrace verify` reports.

Some scenarios run again with other settings, so that what these decide is seen too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from schemas import decode, encode
from streams.cli.common import json_line
from streams.engine.memory import MemoryLog
from streams.engine.records import TopicPartition
from streams.play.scenario import Scenario
from streams.protocols.commands import all_processors, bind_files
from streams.settings import Settings
from streams.verify.report import as_json
from streams.verify.run import verify
from tests.data.unchanged.manifest import Texts
from tests.data.unchanged.queries import paths_about
from tests.data.unchanged.stories import STORIES, lines_of
from topology import topics
from topology.declarations import TopicKind

FOLDER = Path(__file__).resolve().parents[3] / "scenarios"
MEMORY = Path("/dev/shm")
"""Where stores cost no writing to disks, if it is there."""
Json = dict[str, Any]


class Variant(NamedTuple):
    """One way to run a scenario.  sets: settings, as `headrace play --set` takes them."""

    scenario: str
    label: str = ""
    sets: Mapping[str, str] = {}
    partitions: int = 1

    @property
    def name(self) -> str:
        return f"{self.scenario}@{self.label}" if self.label else self.scenario

    @property
    def settings(self) -> Settings:
        return Settings(partitions=self.partitions).assign(self.sets)

    @property
    def lines(self) -> list[str]:
        if self.scenario in STORIES:
            return lines_of(self.scenario)
        return (FOLDER / f"{self.scenario}.jsonl").read_text(encoding="utf-8").splitlines()


MORE = (
    Variant("idea", "anti-drift", {"APC_REQUIRE_ANTI_DRIFT": "true"}),
    Variant("promotion", "gate", {"APC_GATE_MIN_SAMPLES": "1000"}),
    Variant("five-protocols", "prefix", {"PREFIX": "acme."}),
    Variant("five-protocols", "partitions", partitions=3),
    Variant("lineage-graph", "partitions", partitions=3),
    Variant("asap-calls", "partitions", partitions=3),
    Variant("asap-calls", "open", {"ASAP_RECIPIENT_CHECK": "never"}),
    Variant("rtes-masking", "arguments", {"RTES_MASK_ARGUMENTS": "false"}),
    Variant("rtes-rewind", "partitions", partitions=3),
    Variant("saop-failures", "soon", {"SAOP_FAILURES": "2"}),
    Variant("saop-order", "no-hold", {"SAOP_HOLD_TURNS": "1"}),
    Variant("sap-cache", "no-flight", {"SAP_SINGLE_FLIGHT": "false"}),
    Variant("sap-cache", "partitions", partitions=3),
    Variant("sap-rate-limit", "rate", {"SAP_RATE": "0.5", "SAP_BURST": "2"}),
    Variant("summit-run", "partitions", partitions=3),
)
"""Beside every scenario with the settings that are the default."""


def every_scenario() -> Iterator[Variant]:
    names = {path.stem for path in FOLDER.glob("*.jsonl")}
    return (Variant(name) for name in sorted(names | STORIES.keys()))


def run_scenarios() -> Texts:
    """The texts of all scenarios."""
    texts: dict[str, str] = {}
    for variant in (*every_scenario(), *MORE):
        texts |= run_scenario(variant)
    return texts


def run_scenario(variant: Variant) -> Texts:
    settings = variant.settings
    bind_files(settings)
    with TemporaryDirectory(prefix="unchanged-", dir=MEMORY if MEMORY.is_dir() else None) as name:
        folder = Path(name)
        scenario = Scenario(settings, folder, all_processors)
        try:
            outputs = list(_play(scenario, variant.lines))
            log = "".join(_describe_log(scenario.log))
            answers = list(_ask(scenario, outputs))
            report = _verify(scenario.log, settings, folder)
            _spoil(scenario.log)
            findings = _verify(scenario.log, settings, folder)
        finally:
            scenario.close()
    return {
        f"scenarios/{variant.name}.jsonl": _lines(outputs),
        f"log/{variant.name}.txt": log,
        f"answers/{variant.name}.jsonl": _lines(answers),
        f"verify/{variant.name}.json": report,
        f"verify/{variant.name}-spoiled.json": findings,
    }


def _play(scenario: Scenario, lines: Iterable[str]) -> Iterator[Json]:
    """As `streams.play.play` does it, to which the scenario itself is nothing but its output."""
    count = 0
    for number, text in enumerate(lines, 1):
        for output in scenario.line(number, text) if text.strip() else ():
            count += 1
            yield {"n": count, "input": number, **output}


def _ask(scenario: Scenario, outputs: Iterable[Json]) -> Iterator[Json]:
    for path in paths_about(outputs):
        yield from scenario.line(0, json.dumps({"query": f"GET {path}"}))


def _lines(values: Iterable[Json]) -> str:
    return "".join(f"{json_line(value)}\n" for value in values)


def _describe_log(log: MemoryLog) -> Iterator[str]:
    """One line for each record on it, the shared changelog's too, with the bytes that it has."""
    for topic in log.topics().values():
        for number in range(topic.partitions):
            for record in log.slots(TopicPartition(topic.name, number)):
                if record is not None:
                    yield f"{topic.name}/{number}/{record.offset}  {record[3:]!r}\n"


def _verify(log: MemoryLog, settings: Settings, folder: Path) -> str:
    """What `headrace verify` reports; its parts come in another order on every run."""
    with TemporaryDirectory(dir=folder) as scratch:
        report = as_json(verify(log, settings, Path(scratch)))
    report["findings"].sort(key=json.dumps)
    return json.dumps(report, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _spoil(log: MemoryLog) -> None:
    """Let no fact and no public row hold: every other one gets the value of the one before, and
    the rest have other numbers."""
    for topic in topics.ALL:
        if topic.kind not in (TopicKind.FACT, TopicKind.TABLE) or topic.name not in log.topics():
            continue
        slots = log.slots(TopicPartition(topic.name, 0))
        before: bytes | None = None
        for count, (offset, record) in enumerate((n, r) for n, r in enumerate(slots) if r):
            value = before if count % 2 else _shift(record.value, topic.record or "")
            slots[offset], before = record._replace(value=value), record.value


def _shift(value: bytes | None, record: str) -> bytes | None:
    """The value with every number one above; a deletion as it is."""
    return value and encode(record, _add_one(decode(value, record).value))


def _add_one(value: Any) -> Any:
    match value:
        case dict():
            return {name: _add_one(member) for name, member in value.items()}
        case list() | tuple():
            return type(value)(map(_add_one, value))
        case int() | float() if not isinstance(value, bool):
            return value + 1
    return value
