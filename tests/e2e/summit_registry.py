"""Agents as their manifests make them: what is registered, when, and what each call may have seen.

Source: Summit guide, 2.1, 4.2, 5 and 5.1.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.e2e import summit_schemas, summit_shapes
from tests.e2e.outputs import PARTITIONS, Json
from tests.e2e.summit_history import Entry, Logged, manifest_hash
from topology.keys import partition_of
from topology.summit import SUMMIT_AGENTS, SUMMIT_MANIFESTS

_NUMBER = r"(0|[1-9]\d{0,8})"
VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}")
ROLE = re.compile(r"researcher|critic|writer|router|x-[a-z0-9-]{1,60}")
CAPABILITY = re.compile(r"[a-z0-9-]+:[a-z0-9-]+")
RESOURCE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


def manifest_rule(manifest: Json) -> str | None:
    return next(_broken(manifest), None)


def _broken(manifest: Json) -> Iterator[str]:
    metadata, spec = manifest["metadata"], manifest["spec"]
    capabilities, tools = spec["capabilities"], spec["tools"]
    if manifest["apiVersion"] != "summit.io/v1":
        yield "manifest.api_version"
    if manifest["kind"] != "Agent":
        yield "manifest.kind"
    if not summit_shapes.AGENT_ID.fullmatch(metadata["name"]):
        yield "manifest.name"
    if not VERSION.fullmatch(metadata["version"]):
        yield "manifest.version"
    if not ROLE.fullmatch(spec["role"]):
        yield "manifest.role"
    if len({*capabilities}) < len(capabilities) or not all(map(CAPABILITY.fullmatch, capabilities)):
        yield "manifest.capability"
    if not all(map(RESOURCE.fullmatch, spec["resources"])):
        yield "manifest.resources"
    if not 1 <= len(metadata.get("description", "x")) <= 4000:
        yield "manifest.text"
    schemas = [*spec["interface"].values(), *(tool["arguments"] for tool in tools)]
    rules = [rule for rule in map(summit_schemas.problem, schemas) if rule]
    yield from sorted(rules, key=summit_schemas.RULES.index)
    names = [tool["name"] for tool in tools]
    if len({*names}) < len(names) or not all(map(summit_shapes.TOOL_NAME.fullmatch, names)):
        yield "manifest.tool"


class Generation(NamedTuple):
    """An agent from one accepted command to the next.

    row: as `summit.agents` has it.  command: offset of the command.  offset: of the row, None
    if another came before it was written.
    """

    row: Json
    command: int
    offset: int | None

    @property
    def usable(self) -> bool:
        return bool(self.row["state"] == "registered")

    @property
    def contract(self) -> tuple[str, str]:
        return self.row["version"], self.row["manifestHash"]


class Registry:
    """Of all agents, folded from the facts of their manifests."""

    def __init__(self, history: Logged) -> None:
        self.faults: list[str] = []
        self.generations: dict[str, list[Generation]] = defaultdict(list)
        self.versions: dict[str, Json] = {}
        self.edges: list[tuple[str, tuple[str, str, str]]] = []
        self._commands = {entry.place: entry for entry in history.of(SUMMIT_MANIFESTS)}
        rows = history.of(SUMMIT_AGENTS)
        self._offsets = {(entry.text_key, entry.cause): entry.offset for entry in rows}

    def rows(self) -> dict[str, list[Json]]:
        """All that `summit.agents` has had, by key: the last of all, and of those before it what
        was written in time.
        """
        expected = {
            name: [one.row for one in all if one.offset is not None or one is all[-1]]
            for name, all in self.generations.items()
            if all
        }
        return expected | {name: [row] for name, row in self.versions.items()}

    def expected(self, command: Entry, key: str) -> str:
        """key: of the command, as text."""
        current = self.generations[key][-1:]
        if command.json is None:
            known = bool(current) and current[0].usable
            return "manifest.withdrawn" if known else "manifest.not_registered"
        name = command.value["metadata"]["name"]
        if key != name:
            return "key.mismatch"
        if command.partition != partition_of(key.encode(), PARTITIONS):
            return "partition_mismatch"
        rule = manifest_rule(command.value)
        if rule:
            return rule
        hash = manifest_hash(command.value)
        first = self.versions.get(f"{name}/{command.value['metadata']['version']}")
        if current and current[0].usable and current[0].row["manifestHash"] == hash:
            return "manifest.duplicate"
        conflict = first is not None and first["manifestHash"] != hash
        return "manifest.version_conflict" if conflict else "manifest.accepted"

    def accept(self, command: Entry, at: int) -> tuple[str, str]:
        """The states before and after."""
        name = command.text_key
        all = self.generations[name]
        before = all[-1].row if all else None
        if command.json is None:
            assert before is not None
            row = {**before, "state": "withdrawn"}
        else:
            row = self._registered(command, at)
            key = f"{name}/{row['version']}"
            self.versions.setdefault(key, row)
            if before is not None and before["version"] != row["version"]:
                ends = f"summit:manifest:{key}", f"summit:manifest:{name}/{before['version']}"
                self.edges.append((command.place, (ends[0], "replaces", ends[1])))
        all.append(Generation(row, command.offset, self._offsets.get((name, command.place))))
        return ("none" if before is None else before["state"]), row["state"]

    def _registered(self, command: Entry, at: int) -> Json:
        return {
            "agentId": command.text_key,
            "version": command.value["metadata"]["version"],
            "state": "registered",
            "manifest": command.value,
            "manifestHash": manifest_hash(command.value),
            "position": command.place,
            "at": at,
        }

    def at_least(self, agent_id: str, after: str | None) -> int:
        """How many generations there were when the command at this position had its verdict."""
        if after is None:
            return 0
        offset = int(after.rsplit("/", 1)[1])
        return sum(one.command <= offset for one in self.generations[agent_id])

    def seen(self, fact: Json, agent_id: str) -> Sequence[Generation]:
        """What the copy may have held by what the fact says of it; nothing for an agent that it
        did not know.
        """
        all = [one for one in self.generations[agent_id] if one.offset is not None]
        if "agentsSeen" in fact:
            end = fact["agentsSeen"][partition_of(agent_id.encode(), PARTITIONS)]
            return [one for one in all if (one.offset or 0) < end][-1:]
        contract = fact.get("manifestVersion"), fact.get("manifestHash")
        return [one for one in all if one.contract == contract and one.usable]

    def stale(self, seen: Sequence[Generation], agent_id: str, after: str | None) -> bool:
        """Whether it is older than what its sender could read."""
        min_count = self.at_least(agent_id, after)
        all = self.generations[agent_id]
        return min_count > 0 and (not seen or all.index(seen[-1]) + 1 < min_count)
