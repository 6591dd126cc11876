"""What a run must have left on the log, whatever happened to its workers.

Every check looks at the history alone and says each thing that is wrong in a sentence.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from streams.engine.headers import CAUSE
from streams.engine.records import Record, header
from streams.engine.work import timer_of
from tests.e2e import checker_lineage, checker_sessions
from tests.e2e.figures import ms
from tests.e2e.findings import differences, repeated
from tests.e2e.history import History
from tests.e2e.replay import OWED, Replay
from tests.unit.protocols.apc.processor import fold
from topology.keys import composite
from topology.machine import step
from topology.machines.apc_packet import MACHINE

Json = dict[str, Any]

UNREADABLE = {
    "null_value",
    "frame_unknown",
    "schema_unknown",
    "record_mismatch",
    "body_invalid",
}


def check(history: History) -> list[str]:
    """Everything that is wrong with it."""
    return [problem for one in CHECKS for problem in one(history)]


def answered_once(history: History) -> Iterator[str]:
    """Exactly one verdict or one dead letter for each packet record."""
    facts = Counter(fact["cause"] for _, fact in history.facts if fact["verdict"] in OWED)
    yield from _one_each("packet record", history.packets, facts + _causes(history.dead))
    for letter in history.dead:
        code = (header(letter, "kafka_dlt-exception-fqcn") or b"").decode()
        if code not in UNREADABLE:
            yield f"a dead letter for {code}"


def events_once(history: History) -> Iterator[str]:
    """Fact ids are unique, and numbered from the verdict on; facts lie where their cause lies."""
    yield from repeated("fact", (fact["event_id"] for _, fact in history.facts))
    numbers: dict[str, list[int]] = defaultdict(list)
    for partition, fact in history.facts:
        cause, _, last = fact["event_id"].removeprefix(fact["cause"]).partition("/")
        if cause:
            yield f"fact {fact['event_id']} does not begin with its cause"
        if fact["cause"].split("/")[1] != str(partition):
            yield f"fact {fact['event_id']} lies on partition {partition}"
        if fact["verdict"] != "fired":
            numbers[fact["cause"]].append(int(last))
    for cause, fact_numbers in numbers.items():
        if fact_numbers != list(range(len(fact_numbers))):
            yield f"the facts of {cause} are numbered {fact_numbers}"


def deliveries_kept(history: History) -> Iterator[str]:
    """What the facts promise was delivered, once, with what was promised, and nothing else."""
    promised = {one["delivery_id"]: one for one in _promised(history)}
    deliveries = {one["delivery_id"]: one for one in history.deliveries}
    yield from repeated("delivery", (one["delivery_id"] for one in history.deliveries))
    yield from (f"delivery {missing} is missing" for missing in promised.keys() - deliveries.keys())
    yield from (
        f"delivery {extra} was not promised" for extra in deliveries.keys() - promised.keys()
    )
    for ident in promised.keys() & deliveries.keys():
        delivery = {name: deliveries[ident][name] for name in promised[ident]}
        if delivery != promised[ident]:
            yield f"delivery {ident} is not what was promised"


def _promised(history: History) -> Iterator[Json]:
    packets: dict[str, Json] = {}
    holders: dict[tuple[str, str], Json] = {}
    for _, fact in history.facts:
        place = (fact["session_id"], fact["packet_id"])
        if fact["verdict"] == "accepted":
            packets[fact["cause"]] = fact
            if fact["acks"] is not None:
                holders[place] = fact
                yield from _handed(fact, fact, "packet", fact["acks"]["recipients"])
        elif fact["rule"] == "redelivered":
            yield from _handed(fact, holders[place], "redelivery", fact["acks"]["pending"])
        elif fact["rule"] == "retracted" and place in holders:
            notice = packets[fact["cause"]]
            notice_recipients = {
                recipient["agent_id"] for recipient in notice["packet"]["recipients"]
            }
            recipients = [
                one for one in holders[place]["acks"]["recipients"] if one not in notice_recipients
            ]
            for one in _handed(notice, notice, "retraction", recipients):
                ident = composite(fact["packet_id"], one["recipient_agent_id"], "notice")
                yield one | {"delivery_id": ident, "ack_due_at": None, "attempt": 1}


def _handed(fact: Json, of: Json, kind: str, agents: Iterable[str]) -> Iterator[Json]:
    acks = fact["acks"]
    for agent in agents:
        yield {
            "delivery_id": composite(of["packet_id"], agent, str(acks["attempt"])),
            "kind": kind,
            "recipient_agent_id": agent,
            "attempt": acks["attempt"],
            "packet": of["packet"],
            "position": of["cause"],
            "at": fact["at"],
            "deadline_at": acks["deadline_at"],
            "ack_due_at": acks["ack_due_at"],
        }


def rows_fold(history: History) -> Iterator[str]:
    """Packet rows are what the facts add up to."""
    facts = [fact for _, fact in history.facts]
    try:
        folded = fold.packet_rows(facts)
    except KeyError as exc:
        yield f"a fact changes {exc}, which has no verdict"
        return
    packets = {composite(*place): row for place, row in folded.items()}
    yield from differences("packet row", history.states, packets)


def histories_legal(history: History) -> Iterator[str]:
    """Every row went along the edges of the machine."""
    for key, row in history.states.items():
        state: str | None = None
        for number, transition in enumerate(row["history"]):
            after = MACHINE.initial if state is None else step(MACHINE, state, transition["event"])
            if (transition["seq"], transition["from_state"], transition["to_state"]) != (
                number,
                state,
                after,
            ):
                yield f"{key} took an illegal step at {number}: {transition['event']}"
                break
            state = transition["to_state"]
        else:
            if state != row["state"]:
                yield f"{key} is in {row['state']}, its history ends in {state}"


def verdicts_follow(history: History) -> list[str]:
    """Verdicts derived again from what the facts record."""
    replay = Replay(history.packets)
    replay.run(history.facts)
    return replay.wrong


def timers_armed(history: History) -> Iterator[str]:
    """A timer waits for each packet that waits, and for no other."""
    expected = set()
    for key, row in history.states.items():
        if row["state"] == "ROUTED":
            expected.add((ms(row["acks"]["deadline_at"]), "apc.ttl", key))
            if row["acks"]["ack_due_at"] is not None:
                expected.add((ms(row["acks"]["ack_due_at"]), "apc.ack", key))
    timers = [timer_of(key, {}) for key in history.timers]
    apc_timers = {(t.due_ms, t.kind, t.key) for processor, t in timers if processor == "apc"}
    yield from (f"timer {missing} is missing" for missing in expected - apc_timers)
    yield from (f"timer {extra} is left over" for extra in apc_timers - expected)


def observed_once(history: History) -> Iterator[str]:
    """One record or refusal for each observation; sequences without a gap; rows add up."""
    facts = Counter(one["cause"] for one in (*history.observed, *history.refused))
    yield from _one_each("observation", history.raw, facts + _causes(history.dead_raw))
    tasks: dict[str, Json] = {}
    sequences: Counter[str] = Counter()
    for one in history.observed:
        session = one["session_id"]
        sequences[session] += 1
        if one["sequence"] != sequences[session]:
            yield f"{session} has sequence {one['sequence']} after {sequences[session] - 1}"
        task = one["task_id"] if one["origin"] is None else f"{one['origin']}:{one['task_id']}"
        key = composite(session, task)
        tasks[key] = _task(tasks.get(key), one)
    rows = {key: {m: row[m] for m in tasks.get(key, row)} for key, row in history.tasks.items()}
    yield from differences("SaopTask row", rows, tasks)
    last = {key: row["last_sequence"] for key, row in history.sequences.items()}
    expected = {composite(session): count for session, count in sequences.items()}
    yield from differences("sequence row", last, expected)


def _task(before: Json | None, record: Json) -> Json:
    """A task row after one more of its records, none of which is a failure."""
    payload = record["payload"]
    after = {
        "state": payload["to_state"],
        "previous_state": payload["from_state"],
        "transitions": 1 + (before["transitions"] if before else 0),
        "head_hash": payload.get("git_hash") or (before["head_hash"] if before else None),
        "first_sequence": before["first_sequence"] if before else record["sequence"],
        "first_at": before["first_at"] if before else record["recorded_at"],
        "last_sequence": record["sequence"],
        "last_at": record["recorded_at"],
    }
    same = ("session_id", "task_id", "origin", "profile")
    return {**{name: record[name] for name in same}, **after}


CHECKS: tuple[Callable[[History], Iterable[str]], ...] = (
    answered_once,
    events_once,
    deliveries_kept,
    rows_fold,
    histories_legal,
    verdicts_follow,
    timers_armed,
    observed_once,
    *checker_sessions.CHECKS,
    *checker_lineage.CHECKS,
)


def _causes(letters: Iterable[Record]) -> Counter[str]:
    return Counter((header(letter, CAUSE) or b"").decode() for letter in letters)


def _one_each(what: str, positions: Iterable[str], counts: Counter[str]) -> Iterator[str]:
    places = set(positions)
    yield from (f"{what} {place} has no answer" for place in places - counts.keys())
    yield from (f"an answer to {place}, which is no {what}" for place in counts.keys() - places)
    yield from (f"{what} {place} has {n} answers" for place, n in counts.items() if n > 1)
