"""One record of `asap.envelopes`, from its shape to its verdict.

For every record, in this order, the first that applies decides:

1. its shape breaks a rule; its key, or its partition, is not its own;
2. its key is held: it waits behind the request that waits for an answer, or the queue is full;
3. the same was accepted before: `same_envelope`; with other content: `id_conflict`;
4. what the payload's judge says.

A refused record leaves nothing behind: sent again, it is judged anew.

Source: ASAP spec, 5.2.
"""

from __future__ import annotations

from collections.abc import Mapping

from streams.engine.processor import AvroValue
from streams.protocols.asap.processor import admission, calls, held, publishing, tasks, verdicts
from streams.protocols.asap.processor.case import HOUR_MS, find
from streams.protocols.asap.processor.inbound import Command
from streams.protocols.asap.processor.scene import Scene
from streams.protocols.asap.processor.verdicts import Handler, Outcome
from topology.asap import ASAP_SEEN

_JUDGES: Mapping[str, Handler] = {
    "TaskRequest": admission.judge,
    **dict.fromkeys(tasks.PAYLOADS, tasks.judge),
    **calls.HANDLERS,
}
_LONGEST = 1024
"""Characters of a wrong key that its fact shows."""


def decide(command: Command, scene: Scene, *, draining: bool = False) -> bool:
    """Judge one record.  draining: it was held, and its turn has come.

    False: it is held, nothing was decided.
    """
    outcome = _judge(command, scene, draining)
    if outcome is None:
        return False
    publishing.publish(command, outcome, scene)
    return True


def _judge(command: Command, scene: Scene, draining: bool) -> Outcome | None:
    if command.problems:
        return verdicts.malformed(command.problems)
    if command.given_key != command.task_key:
        return _misplaced(command)
    if (elsewhere := verdicts.elsewhere(command.key, scene.work)) is not None:
        return elsewhere
    if not draining and held.is_held(scene, command.key):
        return held.join(command, scene)
    return _repeated(command, scene) or _JUDGES[command.kind](command, scene)


def _misplaced(command: Command) -> Outcome:
    given, expected = command.given_key, command.task_key
    detail = f"The record's key is not the one that its envelope has, which is {expected}."
    given = None if given is None else given[:_LONGEST]
    return verdicts.refuse("key_mismatch", detail, given=given, expected=expected)


def _repeated(command: Command, scene: Scene) -> Outcome | None:
    known = _known(command, scene)
    if known is None:
        return None
    first = known["sequence"]
    case = None if first is None else find(command.task_key, scene)
    call_key = command.task_key if first is None else None
    if known["sha256"] == command.sha256:
        return verdicts.duplicate(
            "same_envelope", case=case, call_key=call_key, first_sequence=first
        )
    detail = f"id: {command.id} was accepted before, with other content."
    figures = {"first_sequence": first, "known_hash": known["sha256"]}
    return verdicts.refuse("id_conflict", detail, case=case, call_key=call_key, **figures)


def _known(command: Command, scene: Scene) -> AvroValue | None:
    """The envelope of this id, if it is remembered; a request for as long as its task is."""
    if command.kind == "TaskRequest":
        case = find(command.task_key, scene)
        if case is not None:
            return {"sha256": case.row["request_hash"], "sequence": 1}
    known = scene.work.rows(ASAP_SEEN).get(publishing.seen_key(command))
    if known is None or scene.at - known["at"] > scene.setting("DEDUPE_HOURS") * HOUR_MS:
        return None
    return known
