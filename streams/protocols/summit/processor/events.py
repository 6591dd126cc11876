"""The one fact of every decision.

Source: Summit 5.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas.summit import rules
from streams.protocols.summit.processor.inbound import Inbound
from streams.protocols.summit.processor.rulings import Ruling
from streams.protocols.summit.processor.scene import Scene
from topology.summit import SUMMIT_EVENTS

_EMPTY: Mapping[str, Any] = dict.fromkeys(
    (
        *("runId", "agentId", "caller", "method", "replyId", "replyKind", "contentHash"),
        *("fromState", "toState", "runVersion", "manifestVersion", "manifestHash", "agentsSeen"),
        *("inputs_json", "output_json"),
    )
)


def tell(inbound: Inbound, ruling: Ruling, scene: Scene) -> None:
    """Write the fact that a call or a reply is owed."""
    members = {**inbound.members, **of_run(ruling)}
    if members["agentId"] is None and ruling.run is not None:
        members["agentId"] = ruling.run.agent_id
    write(inbound.key, inbound.subject, ruling, scene, **members)


def of_run(ruling: Ruling) -> dict[str, Any]:
    """What a fact shows of its run: how it stands now, and the step that brought it there."""
    run = ruling.run
    if run is None:
        return {}
    moved = ruling.verdict in ("accepted", "fired") and run.before != run.state
    step = {"fromState": run.before, "toState": run.state} if moved else {}
    return {"runVersion": run.row["version"], **step}


def write(key: str, subject: str, ruling: Ruling, scene: Scene, **members: Any) -> None:
    """Write one SummitEvent; members that are not given are null."""
    rejected = ruling.verdict == "rejected"
    event = {
        **_EMPTY,
        "eventId": scene.event_id,
        "subject": subject,
        "verdict": ruling.verdict,
        "rule": ruling.rule,
        "fault": rules.fault_of(ruling.rule) if rejected else None,
        "at": scene.at,
        "cause": scene.cause,
        "path": ruling.path,
        "figures": {name: float(number) for name, number in ruling.figures.items()},
        "errors": list(ruling.errors),
        "message": ruling.message,
        **members,
        **ruling.more,
    }
    scene.send(SUMMIT_EVENTS, key, event, scene.event_id)
