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
_DECIDING = (
    "apc_decay_min_samples", "apc_decay_min_score", "apc_decay_max_drift", "apc_decay_mode",
    "apc_coordination_session", "apc_coordination_agent",
)  # fmt: skip
_EVERY = 8
Sending = list[tuple[str, Sent]]
"""Packets that were sent, with their positions."""


def tell(ctx: DemoContext) -> None:
    """Run act two.  Raises DemoFailed at the first failed check."""
    ctx.say("\nAct two: a fleet teaches itself.")
    default, settings = Settings(), ctx.settings
    if any(getattr(settings, name) != getattr(default, name) for name in _DECIDING):
        ctx.say(
            "    left out: it is written for the default HEADRACE_APC_DECAY_… settings and"
            " HEADRACE_APC_COORDINATION_…"
        )
        return
    begun, checks = time.monotonic(), ctx.checks
    story = evolve(
        ctx.session, suffix=f"@{ctx.session}", checks_drift=settings.apc_require_anti_drift
    )
    count = len(story.packets)
    ctx.show(
        "fleet",
        f"{len(SWARMS)} swarms, {len(story.sessions)} use cases, {len(PROTOCOLS)} protocols,"
        f" {GENERATIONS} generations, {count} packets",
    )
    starts = ctx.log.ends(_events(ctx))
    sending = [each for part in story.generations for each in _send(ctx, part)]
    took = time.monotonic() - begun
    ctx.show("judged", f"{count} packets in {took:.1f} s, {count / took:.0f} a second")
    account = _account(ctx, starts, story)
    _verdicts(ctx, account, sending)
    _sessions(ctx, story)
    _teachers(ctx, account)
    _protocols(ctx, account, story)
    _decays(ctx, story)
    _explained(ctx, account)
    ctx.say(f"\nAll {ctx.checks - checks} checks hold; {time.monotonic() - begun:.1f} s.")


def _send(ctx: DemoContext, generation: Generation) -> Sending:
    """Send a generation at once and return its positions when all its verdicts are seen."""
    positions = ctx.door.send(APC_PACKETS.name, [sent.packet for sent in generation.sent])
    if generation.number % _EVERY == 0:
        ctx.show("generation", f"{generation.number:>2} of {GENERATIONS}")
    return list(zip(positions, generation.sent, strict=True))


def _events(ctx: DemoContext) -> list[TopicPartition]:
    name = full_name(APC_EVENTS, ctx.settings.prefix)
    return [TopicPartition(name, number) for number in range(ctx.log.topics()[name].partitions)]


def _account(ctx: DemoContext, starts: dict[TopicPartition, int], story: Story) -> Account:
    """Count the facts of this run."""
    account, sessions = Account(), set(story.sessions.values())
    for record in _since(ctx, starts):
        fact = record_json(APC_EVENTS, record)["value"]
        if fact["session_id"] in sessions:
            account.add(fact)
    return account


def _since(ctx: DemoContext, starts: dict[TopicPartition, int]) -> Iterator[Record]:
    ends = ctx.log.ends(list(starts))
    with ctx.log.reader(starts) as reader:
        while any(reader.position(tp) < end for tp, end in ends.items()):
            yield from reader.poll(0.1)


def _verdicts(ctx: DemoContext, account: Account, sending: Sending) -> None:
    """Check that each packet was decided by the expected rule, and that every rule occurred."""
    meant: set[str] = set()
    for where, sent in sending:
        fact = account.verdicts.get(where)
        if fact is None or fact["rule"] not in sent.rules:
            raise DemoFailed(f"{where} should be decided by {sent.rules}, but is by {fact}")
        meant |= sent.rules
    ctx.checks += len(sending)
    ctx.expect("the rules that occurred", sorted(account.rules), sorted(meant))
    for rule, count in account.rules.most_common():
        ctx.show("rule", f"{count:>5}  {rule}")
    promoted = sum(1 for _ in account.promoted())
    later = ", ".join(f"{count} {rule}" for rule, count in account.seen.most_common())
    ctx.show("afterwards", f"{promoted} promoted, {later}")


def _sessions(ctx: DemoContext, story: Story) -> None:
    """Check and print the final states of the use cases."""
    for use_case, session in story.sessions.items():
        state = ctx.get(f"/v1/apc/sessions/{session}/coordination")["inter"]["state"]
        ctx.expect(f"the state of {use_case}", state, ENDS[use_case])
        ctx.show("use case", f"{use_case} is {state}")


def _teachers(ctx: DemoContext, account: Account) -> None:
    """Print how often each swarm taught another."""
    pairs: Counter[tuple[str, str]] = Counter()
    for (teacher, _, student), count in account.lessons().items():
        pairs[teacher, student] += count
    for (teacher, student), count in pairs.most_common(5):
        ctx.show("taught", f"{count:>5}  {teacher} → {student}")


def _protocols(ctx: DemoContext, account: Account, story: Story) -> None:
    """Check that the service's sums of each protocol are those of the facts, and print them."""
    totals = account.totals()
    for protocol_id, sums in totals.items():
        ask = partial(_row_with, ctx, protocol_id, sums._asdict())
        row = ctx.wait_for(f"the sums of {protocol_id}", ask)
        ctx.expect("its effectiveness", row["effectiveness_score"], round_figure(sums.score))
    summary = ctx.get("/v1/lineage/summary", f"run_id={story.run_id}")
    by_score = summary["protocol_effectiveness"]
    ctx.expect("the protocols", {row["protocol_id"] for row in by_score}, set(totals))
    counts = summary["summary"]
    ctx.show(
        "arbitrated",
        f"{counts['arbitration_decision_count']} times:"
        f" {counts['arbitration_selected_total']} transfers selected,"
        f" {counts['arbitration_blocked_total']} blocked,"
        f" {counts['arbitration_rejected_total']} rejected",
    )
    for row in by_score:
        sums = totals[row["protocol_id"]]
        sums_of_service = (row["transfer_count"], row["accepted_count"], row["effectiveness_score"])
        ctx.expect(row["protocol_id"], sums_of_service, (*sums[1:3], round_figure(sums.score)))
        name = row["protocol_id"].removesuffix(story.suffix)
        ctx.show(
            "protocol",
            f"{row['effectiveness_score']:.2f}  {name:<17} taken over"
            f" {row['accepted_count']:>2} of {row['transfer_count']}",
        )


def _row_with(ctx: DemoContext, protocol_id: str, sums: Json) -> Json | None:
    row: Json = ctx.get(f"/v1/apc/protocols/{quote(protocol_id, safe='')}")
    return row if sums.items() <= row.items() else None


def _decays(ctx: DemoContext, story: Story) -> None:
    """Check the three decayed protocols, and the one that recovered by a measurement."""
    for name in (*DECAYED, RECOVERED):
        query = f"kind=decay&protocol_id={quote(story.protocol_id(name))}"
        decisions = [each["decay"] for each in ctx.get("/v1/apc/decisions", query)["items"]]
        ctx.expect(f"whether {name} decayed", decisions[0]["blocked"], True)
        ctx.expect(f"whether {name} is blocked", decisions[-1]["blocked"], name != RECOVERED)
        why = ", ".join(decisions[0]["reasons"])
        then = "recovered" if name == RECOVERED else "decayed"
        ctx.show(then, f"{name} ({why}, after {decisions[0]['transfer_count']} transfers)")


def _explained(ctx: DemoContext, account: Account) -> None:
    """Print the explanation of a refusal at the threshold, and check a score that would pass."""
    fact = next(f for f in account.verdicts.values() if f["rule"] == "score_below_window")
    path = f"/v1/apc/sessions/{fact['session_id']}/packets/{fact['packet_id']}/explain"
    explanation = ctx.get(path, "sender_score=0.85")
    ctx.show("explained", f"TRANSFER {fact['packet_id'][:8]}: {explanation['message']}")
    for check in explanation["throttle"]["checks"][:4]:
        compared = " ".join(check[part] for part in ("left", "op", "right") if check.get(part))
        ctx.show("", f"{check['rule']:<20} {check['outcome']:<14} {compared}".rstrip())
    what_if = explanation["counterfactual"]
    ctx.show("what if", f"sender_score 0.85: {what_if['decided_by']}")
    ctx.expect(
        "the rule that decided it", explanation["throttle"]["decided_by"], explanation["rule"]
    )
    ctx.expect("whether 0.85 passes", what_if["passes"], True)
