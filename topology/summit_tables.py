"""The tables of Summit; `topology.tables` lists them with the rest."""

from __future__ import annotations

from topology import topics
from topology.declarations import Table, public

SUMMIT_RUNS = public(topics.SUMMIT_RUNS)
SUMMIT_AGENTS = public(topics.SUMMIT_AGENTS, fresh=True)
SUMMIT_REPLIES = Table(
    "summit-replies",
    "headrace.summit.SummitReplyKnown",
    key="runId/replyId",
    meaning="the accepted replies of each run, with the hash of each",
)

SUMMIT: tuple[Table, ...] = (SUMMIT_RUNS, SUMMIT_AGENTS, SUMMIT_REPLIES)
