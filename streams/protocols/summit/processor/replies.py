"""What an agent says of a run: how it goes on, what came of it, or what a critic thinks of that.

For every record of `summit.replies`, in this order, the first that applies decides:

1. its shape, its key, its partition;
2. there is no such run;
3. its replyId is known in this run: `reply.duplicate`, or `reply.conflict` for other content;
4. the sender is not the run's agent;
5. the run's time is over: it ends by that first;
6. the run has ended;
7. what its kind asks.

A critic's verification has an order of its own after 3.  Only accepted replies are remembered.

Source: Summit 5.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from schemas import summit
from schemas.summit import rules
from schemas.summit.words import VERIFICATION
from streams.protocols.summit.processor import finals, judging, progress, runs, timers
from streams.protocols.summit.processor.inbound import Reply
from streams.protocols.summit.processor.rulings import Ruling, duplicate, refuse
from streams.protocols.summit.processor.runs import Run
from streams.protocols.summit.processor.scene import Scene
from topology.keys import composite
from topology.machines.summit_run import RunEvent
from topology.summit import SUMMIT_REPLIES_KNOWN

_JUDGES: Mapping[str, Callable[[Reply, summit.Content, Run], Ruling]] = {
    "progress": progress.judge,
    "result": finals.result,
    "error": finals.error,
}


def judge(reply: Reply, scene: Scene) -> Ruling:
    """A reply, its step 1 passed."""
    run = runs.find(reply.run_id, scene)
    if run is None:
        return refuse(rules.RUN_UNKNOWN.code, "/runId")
    ruling = _known(reply, run) or _judge(reply, run)
    if ruling.verdict == "accepted":
        known = {"replyHash": reply.hash, "position": scene.cause}
        scene.work.rows(SUMMIT_REPLIES_KNOWN).put(reply_key(reply), known)
    return ruling


def reply_key(reply: Reply) -> str:
    """Of its row among the replies that were accepted."""
    return composite(reply.run_id, reply.reply_id)


def _known(reply: Reply, run: Run) -> Ruling | None:
    known = run.scene.work.rows(SUMMIT_REPLIES_KNOWN).get(reply_key(reply))
    if known is None:
        return None
    if known["replyHash"] == reply.hash:
        return duplicate(rules.REPLY_DUPLICATE.code, run)
    return refuse(rules.REPLY_CONFLICT.code, "/replyId", run=run)


def _judge(reply: Reply, run: Run) -> Ruling:
    if reply.kind == VERIFICATION:
        timers.catch_up(run)
        return judging.judge(reply, run)
    if reply.agent_id != run.agent_id:
        return refuse(rules.REPLY_AGENT.code, "/agentId", run=run)
    timers.catch_up(run)
    content = summit.reply_content(reply.json, run.kind)
    if (ended := runs.refused(run, RunEvent.PROGRESS)) is not None:
        return refuse(ended, run=run, figures=_late(content))
    return _JUDGES[reply.kind](reply, content, run)


def _late(content: summit.Content) -> dict[str, float]:
    """The cost that an ended run has caused all the same."""
    if content.metrics is None:
        return {}
    return {name: content.metrics[name] for name in ("cost_usd", "tokens")}
