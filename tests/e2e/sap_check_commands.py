"""Every command has one answer, and the answers agree with one another."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from schemas import sap
from tests.e2e.findings import repeated
from tests.e2e.outputs import Json
from tests.e2e.sap_history import COMMANDS, Entry, SapHistory
from topology.sap import SAP_ACKS, SAP_RESULTS, SAP_SIGNALS, SAP_TASKS

AGENT_RULES = frozenset({"agent_status", "alignment_refused", "alignment_escalated"})


def check(history: SapHistory) -> Iterator[str]:
    acks = history.values(SAP_ACKS)
    yield from _answered(history, acks)
    yield from repeated("ack", (ack["ackId"] for ack in acks))
    for topic, what in ((SAP_TASKS, "TASK"), (SAP_RESULTS, "RESULT"), (SAP_SIGNALS, "SIGNAL")):
        mine = [ack for ack in acks if ack["subject"] == what]
        yield from _once(what, mine, history.at(topic))
    yield from _refused(acks)


def _answered(history: SapHistory, acks: list[Json]) -> Iterator[str]:
    """One SapAck, or one dead letter for what cannot be decoded."""
    answers = Counter(ack["position"] for ack in acks)
    for topic, (_, dead) in COMMANDS.items():
        letters = Counter(entry.headers["headrace-cause"].decode() for entry in history.of(dead))
        for entry in history.of(topic):
            acked, buried = answers.pop(entry.place, 0), letters.pop(entry.place, 0)
            expected = (0, 1) if entry.json is None else (1, 0)
            if (acked, buried) != expected:
                yield f"{entry.place} has {acked} acks and {buried} dead letters"
        yield from (f"a dead letter about {place}, which is not there" for place in letters)
    yield from (f"an ack of {place}, which is not there" for place in answers)


def _once(what: str, acks: list[Json], sent: dict[str, Entry]) -> Iterator[str]:
    """The same envelope is taken on once; every other time it is a duplicate of that one."""
    first = {ack["position"]: ack for ack in acks if ack["verdict"] == "accepted"}
    yield from repeated(f"accepted {what}", (_identity(what, ack) for ack in first.values()))
    for ack in acks:
        entry = sent.get(ack["position"])
        if entry is None or entry.json is None:
            continue
        if ack["verdict"] == "duplicate":
            original = first.get(ack["duplicateOf"])
            if original is None or original["envelopeSha256"] != ack["envelopeSha256"]:
                yield f"{ack['position']} is no duplicate of {ack['duplicateOf']}"
        sha256 = None if ack["verdict"] == "rejected" else sap.envelope_hash(entry.json)
        if sha256 is not None and sha256 != ack["envelopeSha256"]:
            yield f"the ack of {ack['position']} has another envelope's hash"


def _identity(what: str, ack: Json) -> str:
    known = {"TASK": ack["taskId"], "SIGNAL": f"{ack['taskId']}/{ack['messageId']}"}
    return str(known.get(what) or f"{ack['taskId']}/{ack['envelopeSha256']}").lower()


def _refused(acks: list[Json]) -> Iterator[str]:
    """A NACK says why; an ACK has nothing to say against it."""
    taken: dict[str, str] = {}
    conflicts: dict[str, set[str]] = defaultdict(set)
    for ack in acks:
        refused = ack["verdict"] == "rejected"
        if (ack["status"] == "NACK") != refused:
            yield f"{ack['position']} is {ack['verdict']}, and its status {ack['status']}"
        has_reason = ack["code"] is not None and bool(ack["reason"]) and ack["fault"] is not None
        if refused and not has_reason:
            yield f"the NACK of {ack['position']} does not say why"
        if not refused and (ack["code"] is not None or ack["fault"] is not None):
            yield f"the ACK of {ack['position']} has code {ack['code']}, fault {ack['fault']}"
        if ack["subject"] == "TASK" and ack["verdict"] == "accepted":
            taken[ack["taskId"].lower()] = ack["envelopeSha256"]
        if ack["rule"] == "task_id_conflict":
            conflicts[ack["taskId"].lower()].add(ack["envelopeSha256"])
    for task_id, hashes in conflicts.items():
        if taken.get(task_id) is None or taken[task_id] in hashes:
            yield f"a conflict about task {task_id}, whose envelope is none other"
