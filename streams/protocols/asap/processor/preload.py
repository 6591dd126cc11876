"""Fetching the rows that a batch will ask for, in one call per table; only a matter of speed."""

from __future__ import annotations

from collections.abc import Sequence

from streams.engine.processor import Message, Timer, Work
from streams.protocols.asap.processor import publishing
from streams.protocols.asap.processor.calls import HANDLERS as CALLS
from streams.protocols.asap.processor.case import EXPIRY, TASK
from streams.protocols.asap.processor.inbound import Command
from streams.protocols.asap.processor.sweeping import MEMORIES
from topology.asap import ASAP_ADMISSIONS, ASAP_CALLS, ASAP_SEEN, ASAP_TASKS_TABLE, ASAP_VERSIONS
from topology.keys import composite


def load(inputs: Sequence[Command | Message], work: Work) -> None:
    tasks: list[str] = []
    calls: list[str] = []
    seen: list[str] = []
    versions: list[str] = []
    for item in inputs:
        if isinstance(item, Message) or item.problems:
            continue
        keys = calls if item.kind in CALLS else tasks
        keys.append(composite(item.task_key))
        seen.append(publishing.seen_key(item))
        if item.value["extensions_json"] is not None or item.body.get("final_state") is not None:
            versions.append(composite(item.task_key))
    work.rows(ASAP_ADMISSIONS).load([*tasks, *calls])
    work.rows(ASAP_TASKS_TABLE).load(tasks)
    work.rows(ASAP_CALLS).load(calls)
    work.rows(ASAP_SEEN).load(seen)
    work.rows(ASAP_VERSIONS).load(versions)


def load_timers(timers: Sequence[Timer], work: Work) -> None:
    ends = [composite(timer.key) for timer in timers if timer.kind in (TASK, EXPIRY)]
    work.rows(ASAP_TASKS_TABLE).load(ends)
    work.rows(ASAP_ADMISSIONS).load(ends)
    for kind, memory in MEMORIES.items():
        work.rows(memory.table).load(timer.key for timer in timers if timer.kind == kind)
