"""The second act: a fleet of swarms teaches itself for forty generations, and is held to the rules.

The run of `streams.demo.fleet_simulation` goes through the running system.  Then everything is
checked: each verdict against what the story says, and the figures of each protocol against a count
of the facts.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from urllib.parse import quote

from streams.demo.context import DemoContext, DemoFailed, Json
from streams.demo.fleet_simulation import (
    ENDS,
    GENERATIONS,
    PROTOCOLS,
    SWARMS,
    Account,
    Generation,
    Sent,
    Story,
)
from streams.demo.fleet_simulation import tell as evolve
from streams.engine.records import Record, TopicPartition
from streams.log.record_json import record_json
from streams.protocols.apc.lineage.effectiveness import round_figure
from streams.settings import Settings
from topology.apc import APC_EVENTS, APC_PACKETS
from topology.topics import full_name

DECAYED = ("greedy-merge", "majority-vote", "prompt-cascade")
RECOVERED = "blind-distill"
_DECAY = ("apc_decay_min_samples", "apc_decay_min_score", "apc_decay_max_drift", "apc_decay_mode")
_EVERY = 8
Sending = list[tuple[str, Sent]]
"""Packets that were sent, with their positions."""


def tell(stage: DemoContext) -> None:
    """Run act two.  Raises DemoFailed at the first failed check."""
    stage.say("\nAct two: a fleet teaches itself.")
    default, settings = Settings(), stage.settings
    if any(getattr(settings, name) != getattr(default, name) for name in _DECAY):
        stage.say("    left out: it is written for the default HEADRACE_APC_DECAY_… settings")
        return
    begun, checks = time.monotonic(), stage.checks
    story = evolve(
        stage.session, suffix=f"@{stage.session}", checks_drift=settings.apc_require_anti_drift
    )
    count = len(story.packets)
    stage.show(
        "fleet",
        f"{len(SWARMS)} swarms, {len(story.sessions)} use cases, {len(PROTOCOLS)} protocols,"
        f" {GENERATIONS} generations, {count} packets",
    )
    starts = stage.log.ends(_events(stage))
    sending = [each for part in story.generations for each in _send(stage, part)]
    took = time.monotonic() - begun
    stage.show("judged", f"{count} packets in {took:.1f} s, {count / took:.0f} a second")
    account = _account(stage, starts, story)
    _verdicts(stage, account, sending)
    _sessions(stage, story)
    _teachers(stage, account)
    _protocols(stage, account, story)
    _decays(stage, story)
    _explained(stage, account)
    stage.say(f"\nAll {stage.checks - checks} checks hold; {time.monotonic() - begun:.1f} s.")


def _send(stage: DemoContext, generation: Generation) -> Sending:
    """Send a generation at once and return its positions when all its verdicts are seen."""
    positions = stage.door.send(APC_PACKETS.name, [sent.packet for sent in generation.sent])
    if generation.number % _EVERY == 0:
        stage.show("generation", f"{generation.number:>2} of {GENERATIONS}")
    return list(zip(positions, generation.sent, strict=True))


def _events(stage: DemoContext) -> list[TopicPartition]:
    name = full_name(APC_EVENTS, stage.settings.prefix)
    return [TopicPartition(name, number) for number in range(stage.log.topics()[name].partitions)]


def _account(stage: DemoContext, starts: dict[TopicPartition, int], story: Story) -> Account:
    """Count the facts of this run."""
    account, sessions = Account(), set(story.sessions.values())
    for record in _since(stage, starts):
        fact = record_json(APC_EVENTS, record)["value"]
        if fact["session_id"] in sessions:
            account.add(fact)
    return account


def _since(stage: DemoContext, starts: dict[TopicPartition, int]) -> Iterator[Record]:
    ends = stage.log.ends(list(starts))
    with stage.log.reader(starts) as reader:
        while any(reader.position(tp) < end for tp, end in ends.items()):
            yield from reader.poll(0.1)


def _verdicts(stage: DemoContext, account: Account, sending: Sending) -> None:
    """Check that each packet was decided by the expected rule, and that every rule occurred."""
    meant: set[str] = set()
    for where, sent in sending:
        fact = account.verdicts.get(where)
        if fact is None or fact["rule"] not in sent.rules:
            raise DemoFailed(f"{where} should be decided by {sent.rules}, but is by {fact}")
        meant |= sent.rules
    stage.checks += len(sending)
    stage.expect("the rules that occurred", sorted(account.rules), sorted(meant))
    for rule, count in account.rules.most_common():
        stage.show("rule", f"{count:>5}  {rule}")
    promoted = sum(1 for _ in account.promoted())
    later = ", ".join(f"{count} {rule}" for rule, count in account.seen.most_common())
    stage.show("afterwards", f"{promoted} promoted, {later}")


def _sessions(stage: DemoContext, story: Story) -> None:
    """Check and print the final states of the use cases."""
    for use_case, session in story.sessions.items():
        state = stage.get(f"/v1/apc/sessions/{session}/coordination")["inter"]["state"]
        stage.expect(f"the state of {use_case}", state, ENDS[use_case])
        stage.show("use case", f"{use_case} is {state}")


def _teachers(stage: DemoContext, account: Account) -> None:
    """Print how often each swarm taught another."""
    pairs: Counter[tuple[str, str]] = Counter()
    for (teacher, _, student), count in account.lessons().items():
        pairs[teacher, student] += count
    for (teacher, student), count in pairs.most_common(5):
        stage.show("taught", f"{count:>5}  {teacher} → {student}")


def _protocols(stage: DemoContext, account: Account, story: Story) -> None:
    """Check that the service's sums of each protocol are those of the facts, and print them."""
    totals = account.totals()
    for protocol_id, sums in totals.items():
        ask = partial(_row_with, stage, protocol_id, sums._asdict())
        row = stage.wait_for(f"the sums of {protocol_id}", ask)
        stage.expect("its effectiveness", row["effectiveness_score"], round_figure(sums.score))
    summary = stage.get("/v1/lineage/summary", f"run_id={story.run_id}")
    by_score = summary["protocol_effectiveness"]
    stage.expect("the protocols", {row["protocol_id"] for row in by_score}, set(totals))
    counts = summary["summary"]
    stage.show(
        "arbitrated",
        f"{counts['arbitration_decision_count']} times:"
        f" {counts['arbitration_selected_total']} transfers selected,"
        f" {counts['arbitration_blocked_total']} blocked,"
        f" {counts['arbitration_rejected_total']} rejected",
    )
    for row in by_score:
        sums = totals[row["protocol_id"]]
        sums_of_service = (row["transfer_count"], row["accepted_count"], row["effectiveness_score"])
        stage.expect(row["protocol_id"], sums_of_service, (*sums[1:3], round_figure(sums.score)))
        name = row["protocol_id"].removesuffix(story.suffix)
        stage.show(
            "protocol",
            f"{row['effectiveness_score']:.2f}  {name:<17} taken over"
            f" {row['accepted_count']:>2} of {row['transfer_count']}",
        )


def _row_with(stage: DemoContext, protocol_id: str, sums: Json) -> Json | None:
    row: Json = stage.get(f"/v1/apc/protocols/{quote(protocol_id, safe='')}")
    return row if sums.items() <= row.items() else None


def _decays(stage: DemoContext, story: Story) -> None:
    """Check the three decayed protocols, and the one that recovered by a measurement."""
    for name in (*DECAYED, RECOVERED):
        query = f"kind=decay&protocol_id={quote(story.protocol_id(name))}"
        decisions = [each["decay"] for each in stage.get("/v1/apc/decisions", query)["items"]]
        stage.expect(f"whether {name} decayed", decisions[0]["blocked"], True)
        stage.expect(f"whether {name} is blocked", decisions[-1]["blocked"], name != RECOVERED)
        why = ", ".join(decisions[0]["reasons"])
        then = "recovered" if name == RECOVERED else "decayed"
        stage.show(then, f"{name} ({why}, after {decisions[0]['transfer_count']} transfers)")


def _explained(stage: DemoContext, account: Account) -> None:
    """Print the explanation of a refusal at the threshold, and check a score that would pass."""
    fact = next(f for f in account.verdicts.values() if f["rule"] == "score_below_window")
    path = f"/v1/apc/sessions/{fact['session_id']}/packets/{fact['packet_id']}/explain"
    explanation = stage.get(path, "sender_score=0.85")
    stage.show("explained", f"TRANSFER {fact['packet_id'][:8]}: {explanation['message']}")
    for check in explanation["throttle"]["checks"][:4]:
        compared = " ".join(check[part] for part in ("left", "op", "right") if check.get(part))
        stage.show("", f"{check['rule']:<20} {check['outcome']:<14} {compared}".rstrip())
    what_if = explanation["counterfactual"]
    stage.show("what if", f"sender_score 0.85: {what_if['decided_by']}")
    stage.expect(
        "the rule that decided it", explanation["throttle"]["decided_by"], explanation["rule"]
    )
    stage.expect("whether 0.85 passes", what_if["passes"], True)
