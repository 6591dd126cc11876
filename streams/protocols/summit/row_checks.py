"""The check of rows of `summit.agents`: their hash and the manifest at their position."""

from __future__ import annotations

from schemas import summit
from streams.replay.checks import CheckContext, RowProblems, Rows
from topology.keys import split


def agents(rows: Rows, ctx: CheckContext) -> RowProblems:
    for key, row in rows:
        hash = summit.judge_manifest(row["manifest"]).hash
        if row["manifestHash"] != hash:
            yield key, f"manifestHash is {row['manifestHash']}, the manifest's is {hash}"
        command = ctx.command(row["position"])
        if command is not None and summit.judge_manifest(dict(command)).hash != hash:
            yield key, f"the manifest at {row['position']} is another"
        parts = split(key)
        named = [row["agentId"], row["version"]]
        if parts != named[: len(parts)]:
            yield key, f"it is {row['agentId']} in version {row['version']}"
        state = ctx.seen.get("agent", key)
        if state is not None and state != row["state"]:
            yield key, f"it is {row['state']}, the facts make it {state}"
