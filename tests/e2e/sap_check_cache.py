"""What was vetted is written once and for ever, and every question to the cache has its answer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime

from schemas import canonical_json, sap, sha256_hex
from tests.e2e.findings import differences, repeated
from tests.e2e.outputs import Json
from tests.e2e.sap_check_commands import AGENT_RULES
from tests.e2e.sap_check_tasks import ENDS, meta
from tests.e2e.sap_history import Entry, SapHistory, admissions, is_at_admission
from topology.sap import (
    SAP_ACKS,
    SAP_CACHE,
    SAP_LOOKUPS,
    SAP_OUTCOMES,
    SAP_TASK_STATES,
    SAP_TASKS,
    SAP_VERDICTS,
)

_ZEROS = "0" * 64
_NO_ANSWER = frozenset({"miss", "stale", "misaligned", "wait_expired"})
_STORED = frozenset({"stored", "store_duplicate", "cache_version_exists"})
_OPEN_JSON = frozenset({"output", "schema"})


def check(history: SapHistory) -> Iterator[str]:
    yield from rows(history.of(SAP_CACHE))
    yield from _derived(history)
    yield from _stored(history)
    yield from _answers(history)
    yield from _admissions(history)
    yield from _hits(history)
    yield from _keys(history)


def rows(entries: Sequence[Entry]) -> Iterator[str]:
    """Of `sap.cache`: one record per key, no tombstone, versions 1 to n, each hash right."""
    yield from repeated("row of sap.cache", (entry.key for entry in entries))
    heads: dict[str, tuple[int, str]] = {}
    for entry in entries:
        if entry.json is None:
            yield f"{entry.place} is a tombstone, or no record"
            continue
        record = entry.value
        key, version = record["cacheKey"], record["version"]
        if entry.key != f"{key}/{version:08d}".encode():
            yield f"{entry.place} has key {entry.key!r}, and is version {version} of {key}"
        last, sha256 = heads.get(key, (0, _ZEROS))
        if version != last + 1:
            yield f"{key} goes from version {last} to {version}"
        if record["previousSha256"] != sha256:
            yield f"version {version} of {key} does not follow the one before"
        if record["recordSha256"] != record_hash(record):
            yield f"version {version} of {key} has a hash that is not its own"
        if record["alignment"] != "VALID":
            yield f"version {version} of {key} is {record['alignment']}"
        heads[key] = version, record["recordSha256"]


def record_hash(record: Json) -> str:
    """Canonical hash of a record without its own; members that are null are left out."""
    members = {name: value for name, value in record.items() if name != "recordSha256"}
    return sha256_hex(canonical_json(_shown(members)))


def _shown(value: object) -> object:
    if isinstance(value, list):
        return [_shown(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: item if name in _OPEN_JSON else _shown(item)
        for name, item in value.items()
        if item is not None or name == "output"
    }


def _derived(history: SapHistory) -> Iterator[str]:
    """Each record is what the lookup named by its cause gave, and that is an outcome's answer."""
    lookups = {entry.place: entry.value for entry in history.of(SAP_LOOKUPS)}
    outcomes = {(o["taskId"].lower(), meta(o)["seq"]): o for o in history.values(SAP_OUTCOMES)}
    for record in history.values(SAP_CACHE):
        name = f"version {record['version']} of {record['cacheKey']}"
        lookup = lookups.get(record["cause"])
        outcome = outcomes.get((record["taskId"].lower(), record["outcomeSeq"]))
        if lookup is None or lookup["op"] != "STORE" or outcome is None:
            yield f"{name} comes of nothing that is there"
            continue
        draft = {name: record[name] for name in lookup["draft"]}
        if draft != lookup["draft"] or lookup["cacheKey"] != record["cacheKey"]:
            yield f"{name} is not what was given to be stored"
        evidence, headrace_meta = outcome["constitutionalEvidence"], meta(outcome)
        if canonical_json(outcome.get("output")) != canonical_json(record["output"]):
            yield f"{name} has another output than its outcome"
        if (outcome["status"], evidence["alignment"]) != ("SUCCEEDED", "VALID"):
            yield f"{name} is of an outcome {outcome['status']}, {evidence['alignment']}"
        if (
            headrace_meta["resultSha256"] != record["resultSha256"]
            or headrace_meta["rule"] != "agent_status"
        ):
            yield f"{name} is of no agent's result"


def _stored(history: SapHistory) -> Iterator[str]:
    """Every answer that others may use is given to the cache once, and kept as one version."""
    modes = {
        ack["taskId"].lower(): ack["accepted"]["mode"]
        for ack in history.values(SAP_ACKS)
        if ack["accepted"] is not None
    }
    expected = Counter(
        outcome["taskId"].lower()
        for outcome in history.values(SAP_OUTCOMES)
        if meta(outcome)["rule"] in AGENT_RULES
        and modes.get(outcome["taskId"].lower()) == "prefer"
        and outcome["status"] == "SUCCEEDED"
        and outcome["constitutionalEvidence"]["alignment"] == "VALID"
        and outcome.get("output") is not None
        and not (meta(outcome).get("reportedCache") or {}).get("hit")
    )
    stores = [one for one in history.values(SAP_LOOKUPS) if one["op"] == "STORE"]
    stores_by_task = Counter(one["taskId"].lower() for one in stores)
    yield from differences("STOREs of", stores_by_task, expected)
    versions = Counter(record["taskId"].lower() for record in history.values(SAP_CACHE))
    stored_verdicts = Counter(
        verdict["taskId"].lower()
        for verdict in history.values(SAP_VERDICTS)
        if verdict["verdict"] == "stored"
    )
    yield from differences("versions of", versions, stored_verdicts)
    yield from differences("stored verdicts of", stored_verdicts, expected)


def _answers(history: SapHistory) -> Iterator[str]:
    """Every lookup has one verdict, but for one that waits, which has a second."""
    chains: dict[str, list[Json]] = defaultdict(list)
    yield from repeated("verdict", (one["verdictId"] for one in history.values(SAP_VERDICTS)))
    for verdict in history.values(SAP_VERDICTS):
        if not is_at_admission(verdict):
            chains[verdict["lookupId"]].append(verdict)
    lookups = history.values(SAP_LOOKUPS)
    yield from repeated("lookup", (lookup["lookupId"] for lookup in lookups))
    released = {one["taskId"].lower() for one in lookups if one["op"] == "RELEASE"}
    states = history.rows(SAP_TASK_STATES)
    for lookup in lookups:
        chain, task_id = chains.pop(lookup["lookupId"], []), lookup["taskId"].lower()
        gone = task_id in released and states[task_id]["state"] in ENDS
        if not _sound(lookup["op"], chain, gone):
            kinds = [verdict["verdict"] for verdict in chain]
            yield f"the {lookup['op']} {lookup['lookupId']} of {task_id} was answered {kinds}"
        if any(verdict["cacheKey"] != lookup["cacheKey"] for verdict in chain):
            yield f"the lookup {lookup['lookupId']} was answered about another key"
    yield from (f"a verdict on {lookup_id}, which nobody asked" for lookup_id in chains)


def _sound(op: str, chain: list[Json], gone: bool) -> bool:
    """gone: the task was closed and gave its place back."""
    verdicts = [verdict["verdict"] for verdict in chain]
    if op != "READ":
        return len(verdicts) == 1 and verdicts[0] in (_STORED if op == "STORE" else {"released"})
    if verdicts[:1] == ["waiting"]:
        verdicts, chain = verdicts[1:], chain[1:]
        if not verdicts:
            return gone
    leads = bool(chain) and chain[0]["leader"]
    if verdicts[1:] and not (leads and verdicts[1:] == ["flight_lapsed"]):
        return False
    return verdicts[:1] == ["hit"] or (bool(verdicts) and verdicts[0] in _NO_ANSWER)


def _admissions(history: SapHistory) -> Iterator[str]:
    """Check that a hit at admission names the verdict on its version, and ends its task."""
    hits = [entry for entry in history.of(SAP_VERDICTS) if is_at_admission(entry.value)]
    yield from repeated("hit at admission of", (entry.cause for entry in hits))
    verdicts = history.at(SAP_VERDICTS)
    for entry in hits:
        verdict, stored = entry.value, verdicts.get(entry.value["lookupId"])
        names = ("cacheKey", "version", "recordSha256")
        if stored is None or stored.value["verdict"] != "stored":
            yield f"the hit {entry.place} names no version that was stored"
        elif any(verdict[name] != stored.value[name] for name in names):
            yield f"the hit {entry.place} is of another version than {stored.place}"
    used = {
        meta(outcome)["cause"]
        for outcome in history.values(SAP_OUTCOMES)
        if meta(outcome)["rule"] == "cache_hit"
    }
    for cause, entry in admissions(history).items():
        if cause not in used:
            yield f"the hit {entry.place} at admission ends no task"


def _hits(history: SapHistory) -> Iterator[str]:
    """A hit is a row of the key that was asked for, fresh, and the right one among those seen."""
    cache_rows = {(row["cacheKey"], row["version"]): row for row in history.values(SAP_CACHE)}
    lookups = {lookup["lookupId"]: lookup for lookup in history.values(SAP_LOOKUPS)}
    accepted = {
        ack["taskId"].lower(): ack["accepted"]
        for ack in history.values(SAP_ACKS)
        if ack["accepted"] is not None
    }
    outcomes = {
        meta(outcome)["cause"]: outcome
        for outcome in history.values(SAP_OUTCOMES)
        if meta(outcome)["rule"] == "cache_hit"
    }
    for entry in history.of(SAP_VERDICTS):
        verdict = entry.value
        if is_at_admission(verdict):
            lookup, cause = accepted[verdict["taskId"].lower()], entry.cause
        elif verdict["verdict"] == "hit" and verdict["lookupId"] in lookups:
            lookup, cause = lookups[verdict["lookupId"]], entry.place
        else:
            continue
        row = cache_rows.get((lookup["cacheKey"], verdict["version"]))
        if row is None or row != verdict["record"]:
            yield f"the hit {entry.place} is of no row of its key"
            continue
        yield from (f"the hit {entry.place} {what}" for what in _unsound(verdict, lookup, row))
        outcome = outcomes.get(cause)
        if outcome is not None:
            yield from _told(outcome, verdict, row)


def _unsound(verdict: Json, lookup: Json, row: Json) -> Iterator[str]:
    age = max(0, _seconds(verdict["at"]) - _seconds(row["storedAt"]))
    if verdict["ageSec"] != age:
        yield f"says {verdict['ageSec']} s, and is {age} s old"
    if lookup["maxAgeSec"] is not None and age > lookup["maxAgeSec"]:
        yield f"is {age} s old, above {lookup['maxAgeSec']} s"
    seen = verdict["candidates"]
    versions = [one["version"] for one in seen]
    if versions != list(range(versions[0], versions[0] - len(versions), -1)):
        yield f"chose among {versions}"
    usable = [one for one in seen if one["fresh"]]
    if lookup["mustAlign"]:
        usable = [one for one in usable if one["alignment"] == "VALID"]
    if not usable or usable[0]["version"] != verdict["version"]:
        yield f"is of version {verdict['version']}, not of the newest of {seen}"


def _seconds(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def _told(outcome: Json, verdict: Json, row: Json) -> Iterator[str]:
    name, evidence = f"the hit of task {outcome['taskId']}", outcome["constitutionalEvidence"]
    used = {"hit": True, "cacheKey": row["cacheKey"], "ageSec": verdict["ageSec"]}
    expected = {**used, "version": verdict["version"]}
    if {key: evidence["cache"].get(key) for key in expected} != expected:
        yield f"{name} says {evidence['cache']}, not {expected}"
    if canonical_json(outcome.get("output")) != canonical_json(row["output"]):
        yield f"{name} has another output than version {row['version']}"
    if (evidence.get("citations") or []) != (row["citations"] or []):
        yield f"{name} has other citations than version {row['version']}"
    if meta(outcome)["cacheRecord"]["recordSha256"] != row["recordSha256"]:
        yield f"{name} names another record"


def _keys(history: SapHistory) -> Iterator[str]:
    """The key of a task is made of the task, and of what was learned when it was accepted."""
    sent = history.at(SAP_TASKS)
    for ack in history.values(SAP_ACKS):
        if ack["subject"] != "TASK" or ack["verdict"] != "accepted" or ack["position"] not in sent:
            continue
        accepted, policy = ack["accepted"], ack["accepted"]["policy"]
        task = sent[ack["position"]].value
        made = sap.cache_key(task, accepted["removedKeys"], policy["extractorVersion"])
        if (accepted["cacheKey"], accepted["fingerprint"]) != (made.key, made.fingerprint):
            yield f"the key of task {ack['taskId']} is another"
