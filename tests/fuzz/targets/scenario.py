"""Lines of scenarios: records past the edge and at it, queries, JSON-RPC, time, restarts.

What a line brings about is no answer of 500 and no dead letter of a step that raised; a line that
is none is refused as such.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from streams.engine.work import DECIDE_FAILED
from streams.errors import HeadraceError
from streams.play.lines import LineError
from streams.play.scenario import Scenario
from streams.protocols.commands import all_processors
from streams.settings import Settings
from tests.fuzz.json_inputs import mutated as mutate

__all__ = ["mutate", "run", "seeds"]

SCENARIOS = Path(__file__).parents[3] / "scenarios"
MOST = 300
"""Lines before a scenario is begun anew."""
LONGEST_MS = 7 * 24 * 3_600_000
OWN_FAULTS = {DECIDE_FAILED, "timer_failed"}


class Play:
    """One scenario, and how many lines it has had."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._scenario = Scenario(Settings(partitions=1), Path(self._folder.name), all_processors)
        self.count = 0

    def line(self, text: str) -> None:
        self.count += 1
        try:
            outputs = self._scenario.line(self.count, text)
        except LineError:
            return
        except HeadraceError:  # coded: of a record between processors, which stops a worker
            self.count = MOST
            return
        for output in outputs:
            check(output)

    def close(self) -> None:
        self._scenario.close()
        self._folder.cleanup()


def check(output: dict[str, Any]) -> None:
    if "query" in output:
        assert output["status"] < 500 or output["status"] in (503, 504), output
    elif str(output["topic"]).endswith(".dlq"):
        assert output["headers"].get("kafka_dlt-exception-fqcn") not in OWN_FAULTS, output


PLAYS: list[Play] = []


def seeds() -> list[bytes]:
    paths = sorted(SCENARIOS.glob("*.jsonl"))
    return [b"\0" + line for path in paths for line in path.read_bytes().splitlines() if line]


def run(data: bytes) -> None:
    if PLAYS and PLAYS[0].count >= MOST:
        PLAYS.pop().close()
    if not PLAYS:
        PLAYS.append(Play())
    text = data[1:].decode("utf-8", "replace")
    if not long(text):
        PLAYS[0].line(text)


def long(text: str) -> bool:
    """A time of which every timer would be fired, for longer than this is worth."""
    numbers = re.findall(r'"advance_ms":\s*([0-9]+)', text)
    return any(int(number) > LONGEST_MS for number in numbers)
