"""The summit processor: every command gets one verdict, every accepted call one end.

Manifests, calls and replies are decided by the rules in their own modules.  A decision writes the
run's row once.

Source: Summit guide, 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schemas.summit import rules
from schemas.summit.caps import BudgetCaps
from streams.engine.processor import AvroValue, Message, ProcessorContext, Timer
from streams.protocols.summit.policy_values import budget_caps
from streams.protocols.summit.processor import (
    calls,
    judging,
    manifests,
    replies,
    timeouts,
    tree_records,
    verdicts,
)
from streams.protocols.summit.processor.decision import DecisionContext, record_context
from streams.protocols.summit.processor.inbound import Call, Inbound, Reply
from streams.protocols.summit.processor.replies import reply_key
from streams.protocols.summit.processor.verdicts import Verdict
from topology.declarations import Topic
from topology.summit import (
    SUMMIT_AUTO_CALLS,
    SUMMIT_CALLS,
    SUMMIT_MANIFESTS,
    SUMMIT_PROCESSOR,
    SUMMIT_REPLIES,
    SUMMIT_REPLIES_KNOWN,
    SUMMIT_RUNS_TABLE,
    SUMMIT_TREE,
    SUMMIT_TREES_TABLE,
)


class SummitProcessor:
    """The processor of Summit's commands, and of what runs tell each other."""

    declaration = SUMMIT_PROCESSOR

    def decide(self, batch: Sequence[Message], ctx: ProcessorContext) -> None:
        caps = budget_caps(ctx.settings)
        inputs = [_parse(message, caps) for message in batch]
        _preload(inputs, [message.value for message in batch if message.topic is SUMMIT_TREE], ctx)
        manifests.load_rows(
            [message for message in batch if message.topic is SUMMIT_MANIFESTS], ctx
        )
        for message, item in zip(batch, inputs, strict=True):
            if message.topic is SUMMIT_TREE:
                tree_records.judge(message, ctx)
            elif item is None:
                manifests.judge(message, ctx)
            else:
                _decide(item, record_context(message, ctx))

    def fire(self, timers: Sequence[Timer], now_ms: int, ctx: ProcessorContext) -> None:
        _preload_timers(timers, ctx)
        for timer in timers:
            timeouts.fire_timer(timer, ctx)

    def too_large(self, message: Message, topic: Topic, size: int, ctx: ProcessorContext) -> None:
        """Raise ValueError: the limits of objects (Summit guide, 2) keep outputs small."""
        raise ValueError(f"a record of {message.topic.name} causes {size} on {topic.name}")

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        return value


def _parse(message: Message, caps: BudgetCaps) -> Inbound | None:
    """Parse a call or a reply; return None for other records."""
    if message.topic in (SUMMIT_CALLS, SUMMIT_AUTO_CALLS):
        return Call(message, caps)
    return Reply(message) if message.topic is SUMMIT_REPLIES else None


def _decide(inbound: Inbound, ctx: DecisionContext) -> None:
    verdict = _refusal(inbound, ctx) or _dispatch(inbound, ctx)
    verdicts.write_verdict(inbound, verdict, ctx)
    if isinstance(inbound, Call) and inbound.is_automatic and verdict.verdict != "accepted":
        judging.flag_unjudged(inbound, ctx)


def _refusal(inbound: Inbound, ctx: DecisionContext) -> Verdict | None:
    """Check step 1 of the Summit guide, 5.2 and 5.4: the record, its key, its partition."""
    if inbound.problem is not None:
        return verdicts.malformed(inbound.problem)
    if inbound.key_text != inbound.run_id:
        return verdicts.refuse(rules.KEY_MISMATCH.code)
    return verdicts.partition_mismatch(inbound.key, ctx.work)


def _dispatch(inbound: Inbound, ctx: DecisionContext) -> Verdict:
    if isinstance(inbound, Reply):
        return replies.judge(inbound, ctx)
    assert isinstance(inbound, Call)
    if inbound.method == "agent.cancel":
        return calls.judge_cancel(inbound, ctx)
    return calls.judge(inbound, ctx)


def _preload(
    inputs: Sequence[Inbound | None], tree_values: Sequence[AvroValue], ctx: ProcessorContext
) -> None:
    """Fetch the rows that a batch reads, in one call per table; this only saves time.

    inputs: None for a record that is no call and no reply.  tree_values: SummitTree.
    """
    sound = [item for item in inputs if item is not None and item.problem is None]
    addressed = [value["runId"] for value in tree_values]
    ctx.rows(SUMMIT_RUNS_TABLE).load([*(item.run_id for item in sound), *addressed])
    with_totals = [item.run_id for item in sound if isinstance(item, Reply)]
    ctx.rows(SUMMIT_TREES_TABLE).load([*with_totals, *addressed])
    ctx.rows(SUMMIT_REPLIES_KNOWN).load(
        [reply_key(item) for item in sound if isinstance(item, Reply)]
    )


def _preload_timers(timers: Sequence[Timer], ctx: ProcessorContext) -> None:
    ctx.rows(SUMMIT_RUNS_TABLE).load([timer.key for timer in timers])
