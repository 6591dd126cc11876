"""Rows of `summit.agents`: the hash is the manifest's; it is the one that lies at its position."""

from __future__ import annotations

from schemas import summit
from streams.replay.checks import CheckContext, RowProblems, Rows
from topology.keys import split


def agents(rows: Rows, given: CheckContext) -> RowProblems:
    for key, row in rows:
        hash = summit.judge_manifest(row["manifest"]).hash
        if row["manifestHash"] != hash:
            yield key, f"manifestHash is {row['manifestHash']}, the manifest's is {hash}"
        given_at = given.command(row["position"])
        if given_at is not None and summit.judge_manifest(dict(given_at)).hash != hash:
            yield key, f"the manifest at {row['position']} is another"
        parts = split(key)
        named = [row["agentId"], row["version"]]
        if parts != named[: len(parts)]:
            yield key, f"it is {row['agentId']} in version {row['version']}"
        state = given.seen.get("agent", key)
        if state is not None and state != row["state"]:
            yield key, f"it is {row['state']}, the facts make it {state}"
