"""A summit processor whose records on `summit.tree` come back to it in any order that Kafka allows.

Records from one run to another keep their order; all else may be overtaken.
"""

from __future__ import annotations

import random
from collections import deque
from decimal import Decimal
from typing import Any

from schemas.summit.results import money
from tests.unit.processing.harness import Sent
from tests.unit.protocols.summit.processor import support
from tests.unit.protocols.summit.processor.support import AGENT, Bench, Json
from topology.summit import SUMMIT_EVENTS, SUMMIT_TREE, SUMMIT_TREES_TABLE


class TreeBench(Bench):
    def __init__(self, **settings: Any) -> None:
        self.channels: dict[tuple[str, str], deque[Json]] = {}
        self._taken = 0
        super().__init__(**settings)

    def call_run(self, run: str, parent: str | None = None, **more: Any) -> Json:
        """The fact of a call.  more: caller; members of the budget."""
        caller = more.pop("caller", AGENT if parent else support.CALLER)
        context: Json = {"traceId": "tr"}
        if parent is not None:
            context["parentRunId"] = parent
        if more:
            context["budget"] = more
        return self.invoke(run, context=context, caller=caller)

    def spend(self, run: str, usd: float, tokens: int = 0, kind: str = "progress") -> Json:
        """The fact of a reply that reports these totals."""
        metrics = {"tokens": tokens, "cost_usd": usd}
        return self.reply(kind, f"r{len(self.sent)}", runId=run, metrics=metrics)

    def collect(self) -> None:
        """Put what the processor has sent to itself into the channels."""
        sent = self.of(SUMMIT_TREE)
        for one in sent[self._taken :]:
            channel = (one.value["via"], one.value["runId"])
            self.channels.setdefault(channel, deque()).append(one.json)
        self._taken = len(sent)

    def deliver(self, *channel: str) -> Json:
        """Let the first record of a channel be decided; return its fact."""
        self.collect()
        return self.tell(self.channels[channel[0], channel[1]].popleft())

    def tell(self, value: Json) -> Json:
        """Let a record be decided; return its fact."""
        facts = [
            one.json
            for one in self.of(SUMMIT_EVENTS, self.decide(self.record(SUMMIT_TREE, value)))
            if one.json["subject"] == "tree"
        ]
        (fact,) = facts
        return fact

    def settle(self, chance: random.Random | None = None, limit: int | None = None) -> list[Json]:
        """Deliver until nothing is under way, or this many; return the facts."""
        facts: list[Json] = []
        while limit is None or len(facts) < limit:
            self.collect()
            waiting = [channel for channel, records in self.channels.items() if records]
            if not waiting:
                break
            facts.append(self.deliver(*(chance.choice(waiting) if chance else waiting[0])))
        return facts

    def totals(self, run: str) -> tuple[Decimal, int, int, int] | None:
        """Dollars, tokens, runs and open runs below."""
        row = self.row(SUMMIT_TREES_TABLE, run)
        if row is None:
            return None
        return Decimal(row["usd"]), row["tokens"], row["runs"], row["open"]

    def metrics(self, run: str) -> tuple[Decimal, int]:
        reported = self.run(run)["metrics"]
        return money(reported["cost_usd"]), reported["tokens"]

    def stops(self, run: str) -> list[str]:
        """The reasons of the stop records that a run's agent got."""
        return [
            call["delivery"]["reason"]
            for call in self.inbox()
            if call["params"]["runId"] == run and call["delivery"]["kind"] == "stop"
        ]


def link(origin: str, to: str, **more: Any) -> Json:
    """A record of `summit.tree`.  more: members that differ from those of a run's own link."""
    return {
        "runId": to,
        "kind": "link",
        "origin": origin,
        "via": origin,
        "agentId": AGENT,
        "caller": AGENT,
        "tokens": 0,
        "usd": "0.000000000",
        "ended": False,
        "hops": 0,
        "at": "2026-01-01T00:00:00.000Z",
        "cause": "summit.calls/0/0",
        **more,
    }


__all__ = ["Sent", "TreeBench", "link"]
