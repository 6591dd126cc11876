"""A TASK_TRANSITION that stands is recorded and moves its task (spec 4.3)."""

from __future__ import annotations

from functools import partial

from streams.engine.processor import AvroValue
from streams.protocols.saop.rtes import signals, tasks, transitions
from streams.protocols.saop.rtes.findings import Finding
from streams.protocols.saop.rtes.inbound import Event
from streams.protocols.saop.rtes.profiles import profile_of
from streams.protocols.saop.rtes.rejections import Refusal
from streams.protocols.saop.rtes.scene import Scene


def judge(event: Event, scene: Scene) -> Finding | Refusal:
    transition, origin = event.payload, event.origin
    row = tasks.row_of(transition["task_id"], origin, scene)
    profile = profile_of(transition["task_id"], origin, row, scene.settings)
    found = transitions.judge(transition, origin, row, profile, scene.session["last_rewind"])
    if isinstance(found, Refusal):
        return found
    escalates = transitions.escalates(row, found, scene.settings["SAOP_FAILURES"])
    return Finding(
        found.rule,
        transition["task_id"],
        (*found.flags, "escalated") if escalates else found.flags,
        found.profile.name,
        transition | {"from_state": found.from_state, "to_state": found.to_state},
        partial(_keep, event, scene),
    )


def _keep(event: Event, scene: Scene, record: AvroValue) -> None:
    row = tasks.keep(record, event.traceparent, scene)
    if "escalated" in record["flags"]:
        threshold = scene.settings["SAOP_FAILURES"]
        signals.failures(record, row, threshold, event.traceparent, scene.work)
