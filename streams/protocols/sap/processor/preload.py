"""Fetching the rows that a batch will ask for, in one call per table; only a matter of speed."""

from __future__ import annotations

from collections.abc import Sequence

from streams.engine.processor import Message, Work
from streams.protocols.sap.processor import results, signals
from streams.protocols.sap.processor.inbound import Command
from topology.sap import (
    SAP_RESULT_HASHES,
    SAP_SIGNAL_IDS,
    SAP_TASK_ENVELOPES,
    SAP_TASK_STATES_TABLE,
    sap_key,
)


def load(inputs: Sequence[Command | Message], work: Work) -> None:
    states: list[str] = []
    envelopes: list[str] = []
    hashes: list[str] = []
    ids: list[str] = []
    for item in inputs:
        task_id = item.value["taskId"] if isinstance(item, Message) else item.task_id
        if task_id is None or (isinstance(item, Command) and item.problems):
            continue
        states.append(sap_key(task_id))
        if isinstance(item, Message) or item.kind != "task":
            envelopes.append(sap_key(task_id))
        if isinstance(item, Command) and item.kind == "result":
            hashes.append(results.hash_key(item))
        elif isinstance(item, Command) and item.kind == "signal":
            ids.append(signals.id_key(item))
    work.rows(SAP_TASK_STATES_TABLE).load(states)
    work.rows(SAP_TASK_ENVELOPES).load(envelopes)
    work.rows(SAP_RESULT_HASHES).load(hashes)
    work.rows(SAP_SIGNAL_IDS).load(ids)
