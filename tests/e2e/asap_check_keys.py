"""What a request was told by other keys: one task for each idempotency key, and its depth."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from tests.e2e.asap_fold import Fold
from tests.e2e.asap_history import AsapHistory, Entry
from tests.e2e.outputs import Json
from topology.asap import ASAP_ENVELOPES, ASAP_EVENTS, ASAP_LINKS

Claim = tuple[str, str, str]
MAX_DEPTH = 10


def check(history: AsapHistory, fold: Fold) -> Iterator[str]:
    commands = {entry.place: entry for entry in history.of(ASAP_ENVELOPES)}
    facts = [fact for fact in history.values(ASAP_EVENTS) if fact["kind"] == "envelope"]
    requests = [fact for fact in facts if fact["payload_type"] == "TaskRequest"]
    yield from _claims([fact for fact in requests if fact["cause"] in commands], commands, fold)
    yield from _depths(requests, commands, history, fold)


def _claim(envelope: Json) -> Claim | None:
    payload = envelope["payload"]
    key = (payload["config"] or {}).get("idempotency_key")
    return None if key is None else (envelope["sender"], payload["skill_id"], key)


def _claims(requests: list[Json], commands: Mapping[str, Entry], fold: Fold) -> Iterator[str]:
    """Within the day that a claim lives, which every run is done in."""
    holders: dict[Claim, list[str]] = defaultdict(list)
    for fact in requests:
        claim = _claim(commands[fact["cause"]].value)
        if claim is not None and fact["rule"] == "task_created":
            holders[claim].append(fact["task_id"])
    yield from (f"{claim} has tasks {ids}" for claim, ids in holders.items() if len(ids) > 1)
    for fact in requests:
        if fact["rule"] != "same_idempotency_key":
            continue
        envelope = commands[fact["cause"]].value
        holder = holders.get(_claim(envelope) or ("", "", ""), [])
        if holder != [fact["task_id"]]:
            yield f"{fact['cause']} is answered by {fact['task_id']}, its key has {holder}"
            continue
        differs = fold.tasks[holder[0]].request["payload"] != envelope["payload"]
        if fact["figures"]["content_differs"] != differs:
            yield f"{fact['cause']} differs from its task: {differs}, not {fact['figures']}"


def _depths(
    requests: list[Json], commands: Mapping[str, Entry], history: AsapHistory, fold: Fold
) -> Iterator[str]:
    questions: dict[str, int] = {}
    for entry in history.of(ASAP_LINKS):
        if entry.value["kind"] == "depth_ask":
            questions.setdefault(entry.value["from_key"], entry.at)
    for fact in requests:
        figures, command = fact["figures"], commands.get(fact["cause"])
        if command is None or command.json is None:
            continue
        parent_id = command.json["payload"]["parent_task_id"]
        parent = fold.tasks.get(parent_id)
        if fact["rule"] == "depth_exceeded":
            if parent is None or parent.row["depth"] < MAX_DEPTH:
                yield f"{fact['cause']} is too deep below {parent_id}"
        elif fact["rule"] == "task_created" and not parent_id:
            if (figures["depth"], figures["parent_known"]) != (0, None):
                yield f"{fact['cause']} has no parent, and {figures}"
        elif fact["rule"] == "task_created":
            depth = None if parent is None else parent.row["depth"] + 1
            if figures["parent_known"] and figures["depth"] != depth:
                yield f"{fact['cause']} has depth {figures['depth']}, not {depth}"
            if not figures["parent_known"] and figures["depth"] != 1:
                yield f"{fact['cause']} has depth {figures['depth']} below one unknown"
            created = fold.created.get(parent_id)
            known = created is not None and created.at < questions.get(fact["task_id"], 0)
            if known and not figures["parent_known"]:
                yield f"{fact['cause']} does not know {parent_id}, which was there"
