"""The evidence on each run's row names records that are there and have the hashes it gives.

Source: Summit guide, 1 (hashes) and 5.7 (evidence).
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.e2e.outputs import Json
from tests.e2e.summit_history import COMMANDS, Logged, call_hash, hash_of, manifest_hash, reply_hash
from topology.summit import SUMMIT_EVENTS, SUMMIT_RUNS


def check(history: Logged) -> Iterator[str]:
    records = {entry.place: entry for topic, _ in COMMANDS.values() for entry in history.of(topic)}
    inputs = {
        fact["cause"]: hash_of(fact["inputs"])
        for fact in history.values(SUMMIT_EVENTS)
        if "inputs" in fact
    }
    hashes = {"call": call_hash, "manifest": manifest_hash, "reply": reply_hash}
    for id, row in history.rows(SUMMIT_RUNS).items():
        evidence: Json = row["evidence"]
        for name, hash in hashes.items():
            place = evidence.get(f"{name}Position")
            if place is None:
                continue
            entry = records.get(place)
            if entry is None or entry.json is None:
                yield f"the {name} of {id} is not at {place}"
            elif hash(entry.value) != evidence[f"{name}Hash"]:
                yield f"the {name}Hash of {id} is not that of {place}"
        if inputs.get(evidence["callPosition"]) != evidence["inputHash"]:
            yield f"the inputHash of {id} is not that of its inputs"
        if "outputHash" in evidence:
            output = records[evidence["replyPosition"]].value.get("output")
            if hash_of(output) != evidence["outputHash"]:
                yield f"the outputHash of {id} is not that of its output"
        elif row["state"] == "completed":
            yield f"{id} is completed, and its output has no hash"
