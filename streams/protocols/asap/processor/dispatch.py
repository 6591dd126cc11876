"""The decision on each record of `asap.envelopes` and `asap.links`.

For every envelope, in this order, the first that applies decides:

1. its shape violates a rule; its key or its partition is wrong;
2. its key is held: it waits behind the request that waits for an answer, or the queue is full;
3. the same was accepted before: `same_envelope`; with other content: `id_conflict`;
4. the outcome of the payload's handler.

A refused record leaves no state: sent again, it is decided anew.

Links ask and answer.  A question may be asked twice, and an answer may come when no request waits
any more: a repeated question changes nothing, and an answer counts only for the request, the
question and the time in it.  When the request is decided, the records behind it are, some at a
time, so that a long queue of large envelopes does not become one transaction.

Source: ASAP guide, 5.2, 5.3 and 5.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from streams.engine.processor import AvroValue, Message, ProcessorContext, Timer, TooLarge
from streams.engine.records import header, position
from streams.protocols.asap.processor import admission, calls, held, links, updates, verdicts
from streams.protocols.asap.processor.command import Command
from streams.protocols.asap.processor.decision import HOUR_MS, DecisionContext
from streams.protocols.asap.processor.held import HeldCommand
from streams.protocols.asap.processor.task import find_task
from streams.protocols.asap.processor.verdicts import Handler, Outcome
from topology.asap import ASAP_ENVELOPES, ASAP_SEEN
from topology.machines.asap_admission import AdmissionState

_AnswerHandler = Callable[[AvroValue, AvroValue, Command, DecisionContext], Outcome | None]

_HANDLERS: Mapping[str, Handler] = {
    "TaskRequest": admission.handle_request,
    **dict.fromkeys(updates.PAYLOADS, updates.handle_update),
    **calls.HANDLERS,
}
DRAIN = "drain"
"""The timer of a queue that takes more than one step."""
MAX_PER_STEP = 4
"""The records of a queue decided in one step: few, so that the largest ones fit one transaction."""
_MAX_KEY_CHARS = 1024
"""The characters of a wrong key that its fact contains."""


def decide(command: Command, ctx: DecisionContext, *, draining: bool = False) -> bool:
    """Decide one record.  draining: it was held, and is next in the queue.

    False: it is held, and nothing was decided.
    """
    outcome = _outcome(command, ctx, draining)
    if outcome is None:
        return False
    verdicts.publish(command, outcome, ctx)
    return True


def _outcome(command: Command, ctx: DecisionContext, draining: bool) -> Outcome | None:
    if command.problems:
        return verdicts.malformed(command.problems)
    if command.given_key != command.task_key:
        return _key_mismatch(command)
    if (mismatch := verdicts.partition_mismatch(command.key, ctx.work)) is not None:
        return mismatch
    if not draining and held.is_held(ctx, command.key):
        return held.enqueue(command, ctx)
    return _duplicate_or_conflict(command, ctx) or _HANDLERS[command.kind](command, ctx)


def _key_mismatch(command: Command) -> Outcome:
    record_key, expected = command.given_key, command.task_key
    detail = f"The record's key is not the one that its envelope has, which is {expected}."
    record_key = None if record_key is None else record_key[:_MAX_KEY_CHARS]
    return verdicts.refuse("key_mismatch", detail, given=record_key, expected=expected)


def _duplicate_or_conflict(command: Command, ctx: DecisionContext) -> Outcome | None:
    accepted = _accepted_envelope(command, ctx)
    if accepted is None:
        return None
    first = accepted["sequence"]
    task = None if first is None else find_task(command.task_key, ctx)
    call_key = command.task_key if first is None else None
    if command.is_same_as(accepted["sha256"]):
        return verdicts.duplicate(
            "same_envelope", task=task, call_key=call_key, first_sequence=first
        )
    detail = f"id: {command.id} was accepted before, with other content."
    figures = {"first_sequence": first, "known_hash": accepted["sha256"]}
    return verdicts.refuse("id_conflict", detail, task=task, call_key=call_key, **figures)


def _accepted_envelope(command: Command, ctx: DecisionContext) -> AvroValue | None:
    """Return the hash and sequence of an accepted envelope with this id, until it expires."""
    if command.kind == "TaskRequest":
        task = find_task(command.task_key, ctx)
        if task is not None:
            return {"sha256": task.row["request_hash"], "sequence": 1}
    row = ctx.work.rows(ASAP_SEEN).get(verdicts.seen_key(command))
    if row is None or ctx.at - row["at"] > ctx.setting("DEDUPE_HOURS") * HOUR_MS:
        return None
    return row


def apply_link(message: Message, context: ProcessorContext) -> None:
    link, record = message.value, message.record
    assert record.key is not None, "links have keys"
    key = record.key.decode()
    ctx = DecisionContext(context, position(record), link["at"], header(record, "traceparent"))
    _LINK_HANDLERS[link["kind"]](key, link, ctx)


def _pass_depth(key: str, link: AvroValue, ctx: DecisionContext) -> None:
    _pass_answer(key, link, ctx.work, AdmissionState.AWAITING_DEPTH, admission.apply_depth)


def _pass_claim(key: str, link: AvroValue, ctx: DecisionContext) -> None:
    _pass_answer(key, link, ctx.work, AdmissionState.AWAITING_CLAIM, admission.apply_claim)


_LINK_HANDLERS: Mapping[str, Callable[[str, AvroValue, DecisionContext], None]] = {
    "depth_ask": links.answer_depth,
    "depth_answer": _pass_depth,
    "claim_ask": links.decide_claim,
    "claim_answer": _pass_claim,
    "resend": links.resend,
}


def _pass_answer(
    key: str, link: AvroValue, ctx: ProcessorContext, state: AdmissionState, take: _AnswerHandler
) -> None:
    """Pass an answer to the request that waits for it, if there is one."""
    row = held.row_of(key, ctx)
    if row is None or row["state"] != state:
        return
    waiting = held.restore_head(key, row, ctx)
    if _is_answered_by(row, waiting, link):
        admission.cancel_timer(row, *waiting)
        _decide_request(key, row, ctx, link["at"], lambda again: take(row, link, *again))


def _is_answered_by(row: AvroValue, waiting: HeldCommand, link: AvroValue) -> bool:
    """Return whether this request asked the key that answers."""
    command, ctx = waiting
    if row["state"] == AdmissionState.AWAITING_DEPTH:
        asked_key = command.body["parent_task_id"]
    else:
        idempotency_key = admission.config_of(command, ctx).idempotency_key
        asked_key = links.claim_key_of(command, idempotency_key or "")
    question = (link["from_key"], link["sender"], link["at"])
    return question == (asked_key, command.sender, command.at)


def ask_again(timer: Timer, now_ms: int, ctx: ProcessorContext) -> None:
    """Repeat the question of a waiting request, or accept it without an answer."""
    row = held.row_of(timer.key, ctx)
    if row is None or row["state"] is None or row["ask_at"] != timer.due_ms:
        return
    if admission.stops_waiting(row, now_ms):
        due_ms = timer.due_ms
        _decide_request(
            timer.key, row, ctx, due_ms, lambda waiting: admission.create_task(row, *waiting)
        )
    else:
        admission.ask_again(row, *held.restore_head(timer.key, row, ctx), now_ms)


def _decide_request(
    key: str,
    row: AvroValue,
    ctx: ProcessorContext,
    at: int,
    handle: Callable[[HeldCommand], Outcome | None],
) -> None:
    """Decide the request, unless it has a further question, and then the records behind it."""

    def decide(waiting: HeldCommand) -> bool:
        outcome = handle(waiting)
        if outcome is not None:
            verdicts.publish(waiting.command, outcome, waiting.ctx)
        return outcome is not None

    if _decide_head(key, row, ctx, decide):
        remaining = held.drop_first(key, row, ctx)
        if remaining is not None:
            _drain(key, remaining, ctx, at)


def _decide_head(
    key: str, row: AvroValue, context: ProcessorContext, decide: Callable[[HeldCommand], bool]
) -> bool:
    """Decide the head of the queue as if it had just arrived; False: it waits for an answer.

    If its outputs are too large it is refused, as it would have been on arrival; if it cannot be
    decided it goes to the dead letters.  Neither blocks the queue.
    """
    decided = True

    def judge(part: ProcessorContext) -> None:
        nonlocal decided
        decided = decide(held.restore_head(key, row, part))

    failure = context.savepoint(judge)
    if failure is None:
        return decided
    if isinstance(failure, TooLarge):
        command, ctx = held.restore_head(key, row, context)
        verdicts.publish(command, verdicts.too_large(failure.topic, failure.size), ctx)
    else:
        context.send_to_dlq(ASAP_ENVELOPES, held.head_record(key, row, context), failure)
    return True


def drain(timer: Timer, ctx: ProcessorContext) -> None:
    """Continue with a long queue."""
    row = held.row_of(timer.key, ctx)
    if row is not None and row["state"] is None:
        _drain(timer.key, row, ctx, timer.due_ms)


def _drain(key: str, row: AvroValue, ctx: ProcessorContext, now_ms: int) -> None:
    """Decide the held records, oldest first, up to a request that waits again."""
    remaining: AvroValue | None = row
    for _ in range(MAX_PER_STEP):
        if remaining is None:
            return
        if not _decide_head(key, remaining, ctx, _decide_held):
            return
        remaining = held.drop_first(key, remaining, ctx)
    if remaining is not None:
        ctx.set_timer(Timer(now_ms, DRAIN, key, {}))


def _decide_held(waiting: HeldCommand) -> bool:
    return decide(waiting.command, waiting.ctx, draining=True)
