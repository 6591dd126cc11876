"""A run goes on, if it may still cost what it costs.

Source: Summit 5.4, step 7.
"""

from __future__ import annotations

from schemas import summit
from schemas.summit import rules
from streams.protocols.summit.processor import endings, inbox, usage
from streams.protocols.summit.processor.inbound import Reply
from streams.protocols.summit.processor.rulings import Ruling, accept, malformed
from streams.protocols.summit.processor.runs import Run
from topology.machines.summit_run import RunEvent


def judge(reply: Reply, content: summit.Content, run: Run) -> Ruling:
    """A progress reply of an open run."""
    if content.problem is not None:
        return malformed(content.problem, run)
    usage.take(reply, content, run)
    rule = usage.overspent(content, run)
    figures = usage.figures(run)
    if rule is None:
        rule = rules.REPLY_PROGRESS.code
        run.move(RunEvent.PROGRESS, rule)
    else:
        endings.end(run, RunEvent.OVERSPEND, rule)
        inbox.stop(run)
        figures["elapsed_ms"] = endings.elapsed_ms(run)
    run.save()
    return accept(rule, run, figures)
