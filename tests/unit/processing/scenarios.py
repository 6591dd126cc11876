"""The scenarios of one protocol, as files have them and as they are played."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from streams.play.scenario import play
from streams.settings import Settings

Json = dict[str, Any]
_FILES = Path(__file__).resolve().parents[3] / "scenarios"


class Scenarios:
    """The files `<protocol>-<name>.jsonl`.  settings: by name, of those not run with defaults."""

    def __init__(self, protocol: str, settings: Mapping[str, Json] | None = None) -> None:
        self._protocol = protocol
        self._settings = settings or {}
        self.outputs = cache(self._outputs)

    @property
    def names(self) -> set[str]:
        stems = (path.stem for path in _FILES.glob(f"{self._protocol}-*.jsonl"))
        return {stem.removeprefix(f"{self._protocol}-") for stem in stems}

    def lines(self, name: str) -> list[Json]:
        text = (_FILES / f"{self._protocol}-{name}.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def run(self, name: str, lines: list[Json], **more: Any) -> list[Json]:
        """What lines bring about.  name: whose settings count.  more: further settings."""
        settings = Settings(**{"partitions": 1, **self._settings.get(name, {}), **more})
        return list(play([json.dumps(line) for line in lines], settings))

    def _outputs(self, name: str) -> tuple[Json, ...]:
        """As the scenario has it."""
        return tuple(self.run(name, self.lines(name)))

    def of(self, name: str, topic: str) -> list[Json]:
        return [output for output in self.outputs(name) if output.get("topic") == topic]

    def without_restarts(self, name: str) -> list[Json]:
        return self.run(name, [line for line in self.lines(name) if "restart" not in line])

    def spread(self, name: str) -> list[Json]:
        """Over three partitions."""
        return self.run(name, self.lines(name), partitions=3)


def in_any_order(summary: Iterable[str]) -> list[list[str]]:
    """What a scenario brings about, whatever its order between keys."""
    return [sorted(part.split()) for part in summary]


def records(output: list[Json]) -> list[Json]:
    """What was written and answered, without the lines that caused it."""
    return [{k: v for k, v in o.items() if k not in ("n", "input")} for o in output]
