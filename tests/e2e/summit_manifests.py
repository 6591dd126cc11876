"""Manifests that come and go while calls are made, sound ones and others.

Some change is waited for, so that each call can name the last change of its agent whose verdict
could be read when it was sent; some is not.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from streams.engine.records import Output, Record, position
from tests.e2e.outputs import PARTITIONS, Json, Outputs
from topology.summit import SUMMIT_MANIFESTS

WORKERS = ("word-stats", "tool-box", "planner")
FLAPPY = ("flappy-0", "flappy-1")
CRITICS = ("reader", "second-reader")
GHOST = "ghost"
TOOLS = ("slugify", "reverse")


def _interface(patch: int) -> Json:
    """One or two members may be asked for, by the last part of the version."""
    inputs: Json = {
        "type": "object",
        "required": ["text"],
        "additionalProperties": False,
        "properties": {
            "text": {"type": "string"},
            "top": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
            "how": {"$ref": "#/$defs/how"},
        },
        "$defs": {
            "how": {"type": "object", "properties": {"fold": {"type": "boolean", "default": True}}}
        },
    }
    outputs: Json = {
        "type": "object",
        "required": ["words", "lines"] if patch % 3 == 2 else ["words"],
        "properties": {"words": {"type": "integer"}, "lines": {"type": "integer"}},
    }
    return {"inputSchema": inputs, "outputSchema": outputs}


def manifest(name: str, patch: int, **spec: Any) -> Json:
    """Of version 1.0.<patch>."""
    critic = name in CRITICS
    tools = [
        {
            "name": tool,
            "description": "A title otherwise.",
            "arguments": {
                "type": "object",
                "required": ["title"],
                "properties": {"title": {"type": "string"}, "sep": {"default": "-"}},
            },
        }
        for tool in TOOLS[: 1 + patch % 2]
    ]
    return {
        "apiVersion": "summit.io/v1",
        "kind": "Agent",
        "metadata": {"name": name, "version": f"1.0.{patch}", "team": f"team-{patch % 5}"},
        "spec": {
            "role": "critic" if critic and patch % 4 != 3 else "x-text",
            "capabilities": ["text:count"],
            "interface": _interface(patch),
            "tools": [] if critic else tools,
            **spec,
        },
    }


class Manifests:
    """known: by agent the position of the last command whose verdict could be read."""

    def __init__(self, made: Outputs, dice: random.Random) -> None:
        self._made, self._dice = made, dice
        self._patch = 0
        self.known: dict[str, str] = {}

    def first(self) -> list[Output]:
        return [self._record(manifest(name, 0)) for name in (*WORKERS, *FLAPPY, *CRITICS)]

    def changes(self) -> list[Output]:
        """One for each of some agents, for which its sender waits."""
        names = [*FLAPPY, *self._dice.sample((*WORKERS, *CRITICS), 3)]
        return [self._changed(name) for name in names]

    def noted(self, records: Sequence[Record]) -> None:
        """That the verdicts on these records could be read."""
        for record in records:
            self.known[(record.key or b"").decode()] = position(record)

    def churn(self) -> list[Output]:
        """Changes that nobody waits for, with repeated, contradictory and broken ones."""
        dice = self._dice
        batch = [self._changed(dice.choice(FLAPPY)) for _ in range(4)]
        name = dice.choice((*WORKERS, *FLAPPY))
        again = self._record(manifest(name, 0))
        other = self._record(manifest(name, 0, capabilities=["text:other"]))
        withdrawn = self._record(manifest(GHOST, 0))._replace(value=None)
        rubbish = self._record(manifest(name, 0))._replace(value=b"no Avro")
        elsewhere = self._record(manifest(name, 0))._replace(partition=dice.randrange(PARTITIONS))
        misnamed = self._record(manifest(name, 0))._replace(key=dice.choice((None, b"planner-9")))
        batch += [again, again, other, withdrawn, rubbish, elsewhere, misnamed]
        return batch + [self._record(one) for one in self._broken(dice.choice(FLAPPY))]

    def _changed(self, name: str) -> Output:
        """Another version, an older one again, or none."""
        lot = self._dice.random()
        if lot < (0.35 if name in FLAPPY else 0.1):
            return self._record(manifest(name, 0))._replace(value=None)
        if lot < 0.6:
            return self._record(manifest(name, self._dice.randrange(self._patch + 1)))
        self._patch += 1
        return self._record(manifest(name, self._patch))

    def _broken(self, name: str) -> list[Json]:
        good = manifest(name, 9_000)
        metadata, spec = good["metadata"], good["spec"]
        tool = spec["tools"][0]
        schemas = (
            {"type": "array"},
            {"type": "object", "minimum": "1"},
            {"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"},
            {"type": "object", "properties": {"x": {"$ref": "http://example.org/x"}}},
            {"type": "object", "properties": {"x": {"pattern": "a(?=b)"}}},
            {"type": "object", "properties": {"x": {"type": "integer", "default": "1"}}},
        )
        return [
            {**good, "apiVersion": "summit.io/v2"},
            {**good, "kind": "Robot"},
            {**good, "metadata": {**metadata, "version": self._dice.choice(("1.0", "1.02.3"))}},
            {**good, "metadata": {**metadata, "description": ""}},
            manifest(name, 9_000, role="boss"),
            manifest(name, 9_000, capabilities=["text:a", "text:a"]),
            manifest(name, 9_000, resources={"1st": "low"}),
            manifest(name, 9_000, tools=[tool, tool]),
            *(
                manifest(name, 9_000, interface={**spec["interface"], "inputSchema": schema})
                for schema in schemas
            ),
        ]

    def _record(self, value: Json) -> Output:
        return self._made.record(SUMMIT_MANIFESTS, value)
