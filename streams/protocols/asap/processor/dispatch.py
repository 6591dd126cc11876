"""One record of `asap.envelopes`, from its shape to its verdict; records of `asap.links`.

For every envelope, in this order, the first that applies decides:

1. its shape breaks a rule; its key, or its partition, is not its own;
2. its key is held: it waits behind the request that waits for an answer, or the queue is full;
3. the same was accepted before: `same_envelope`; with other content: `id_conflict`;
4. what the payload's judge says.

A refused record leaves nothing behind: sent again, it is judged anew.

Links ask and answer.  A question may be asked twice, and an answer may come when nobody waits any
more: asking changes nothing that was asked before, and an answer counts only for the request, the
question and the time that it names.  When the request is decided, the records behind it are, some
at a time, so that a long queue of large envelopes does not become one transaction.

Source: ASAP spec, 5.2, 5.3 and 9.19.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from streams.engine.processor import AvroValue, Message, ProcessorContext, Timer, TooLarge
from streams.engine.records import header, position
from streams.protocols.asap.processor import admission, calls, held, links, updates, verdicts
from streams.protocols.asap.processor.command import Command
from streams.protocols.asap.processor.decision import HOUR_MS, DecisionContext
from streams.protocols.asap.processor.held import Waiting
from streams.protocols.asap.processor.task import find_task
from streams.protocols.asap.processor.verdicts import Handler, Outcome
from topology.asap import ASAP_ENVELOPES, ASAP_SEEN
from topology.machines.asap_admission import AdmissionState

_Take = Callable[[AvroValue, AvroValue, Command, DecisionContext], Outcome | None]

_JUDGES: Mapping[str, Handler] = {
    "TaskRequest": admission.judge,
    **dict.fromkeys(updates.PAYLOADS, updates.judge),
    **calls.HANDLERS,
}
DRAIN = "drain"
"""The timer of a queue that is longer than what is decided at once."""
AT_ONCE = 4
"""Records of a queue decided in one step: so few that the largest together stay a small step."""
_LONGEST = 1024
"""Characters of a wrong key that its fact shows."""


def decide(command: Command, ctx: DecisionContext, *, draining: bool = False) -> bool:
    """Judge one record.  draining: it was held, and its turn has come.

    False: it is held, nothing was decided.
    """
    outcome = _judge(command, ctx, draining)
    if outcome is None:
        return False
    verdicts.publish(command, outcome, ctx)
    return True


def _judge(command: Command, ctx: DecisionContext, draining: bool) -> Outcome | None:
    if command.problems:
        return verdicts.malformed(command.problems)
    if command.given_key != command.task_key:
        return _misplaced(command)
    if (elsewhere := verdicts.partition_mismatch(command.key, ctx.work)) is not None:
        return elsewhere
    if not draining and held.is_held(ctx, command.key):
        return held.join(command, ctx)
    return _repeated(command, ctx) or _JUDGES[command.kind](command, ctx)


def _misplaced(command: Command) -> Outcome:
    given, expected = command.given_key, command.task_key
    detail = f"The record's key is not the one that its envelope has, which is {expected}."
    given = None if given is None else given[:_LONGEST]
    return verdicts.refuse("key_mismatch", detail, given=given, expected=expected)


def _repeated(command: Command, ctx: DecisionContext) -> Outcome | None:
    known = _known(command, ctx)
    if known is None:
        return None
    first = known["sequence"]
    task = None if first is None else find_task(command.task_key, ctx)
    call_key = command.task_key if first is None else None
    if known["sha256"] == command.sha256:
        return verdicts.duplicate(
            "same_envelope", task=task, call_key=call_key, first_sequence=first
        )
    detail = f"id: {command.id} was accepted before, with other content."
    figures = {"first_sequence": first, "known_hash": known["sha256"]}
    return verdicts.refuse("id_conflict", detail, task=task, call_key=call_key, **figures)


def _known(command: Command, ctx: DecisionContext) -> AvroValue | None:
    """The envelope of this id, if it is remembered; a request for as long as its task is."""
    if command.kind == "TaskRequest":
        task = find_task(command.task_key, ctx)
        if task is not None:
            return {"sha256": task.row["request_hash"], "sequence": 1}
    known = ctx.work.rows(ASAP_SEEN).get(verdicts.seen_key(command))
    if known is None or ctx.at - known["at"] > ctx.setting("DEDUPE_HOURS") * HOUR_MS:
        return None
    return known


def apply_link(message: Message, work: ProcessorContext) -> None:
    link, record = message.value, message.record
    assert record.key is not None, "links have keys"
    key = record.key.decode()
    ctx = DecisionContext(work, position(record), link["at"], header(record, "traceparent"))
    _KINDS[link["kind"]](key, link, ctx)


def _take_depth(key: str, link: AvroValue, ctx: DecisionContext) -> None:
    _take(key, link, ctx.work, AdmissionState.AWAITING_DEPTH, admission.take_depth)


def _take_claim(key: str, link: AvroValue, ctx: DecisionContext) -> None:
    _take(key, link, ctx.work, AdmissionState.AWAITING_CLAIM, admission.take_claim)


_KINDS: Mapping[str, Callable[[str, AvroValue, DecisionContext], None]] = {
    "depth_ask": links.answer_depth,
    "depth_answer": _take_depth,
    "claim_ask": links.decide_claim,
    "claim_answer": _take_claim,
    "resend": links.resend,
}


def _take(
    key: str, link: AvroValue, work: ProcessorContext, state: AdmissionState, take: _Take
) -> None:
    """Give an answer to the request that waits for it, if one does."""
    row = held.row_of(key, work)
    if row is None or row["state"] != state:
        return
    waiting = held.first(key, row, work)
    if _asked(row, waiting, link):
        admission.disarm(row, *waiting)
        _settle(key, row, work, link["at"], lambda again: take(row, link, *again))


def _asked(row: AvroValue, waiting: Waiting, link: AvroValue) -> bool:
    """Whether this very request has asked the key that answers."""
    command, ctx = waiting
    if row["state"] == AdmissionState.AWAITING_DEPTH:
        asked = command.body["parent_task_id"]
    else:
        idempotency_key = admission.config_of(command, ctx).idempotency_key
        asked = links.claim_key_of(command, idempotency_key or "")
    about = (link["from_key"], link["sender"], link["at"])
    return about == (asked, command.sender, command.at)


def ask_again(timer: Timer, now_ms: int, work: ProcessorContext) -> None:
    """The timer of a request that waits."""
    row = held.row_of(timer.key, work)
    if row is None or row["state"] is None or row["ask_at"] != timer.due_ms:
        return
    if admission.given_up(row, now_ms):
        due_ms = timer.due_ms
        _settle(timer.key, row, work, due_ms, lambda waiting: admission.accept(row, *waiting))
    else:
        admission.ask_again(row, *held.first(timer.key, row, work), now_ms)


def _settle(
    key: str,
    row: AvroValue,
    work: ProcessorContext,
    at: int,
    judge: Callable[[Waiting], Outcome | None],
) -> None:
    """Decide the request, unless it has one more question, and go on with those behind it."""

    def decide(waiting: Waiting) -> bool:
        outcome = judge(waiting)
        if outcome is not None:
            verdicts.publish(waiting.command, outcome, waiting.ctx)
        return outcome is not None

    if _decide(key, row, work, decide):
        rest = held.drop_first(key, row, work)
        if rest is not None:
            _drain(key, rest, work, at)


def _decide(
    key: str, row: AvroValue, work: ProcessorContext, decide: Callable[[Waiting], bool]
) -> bool:
    """Decide the record at the head as if it had just come; False: it waits for an answer.

    One that causes too much is refused, as it would have been then, and one that cannot be decided
    is set aside: they hold up nobody.
    """
    decided = True

    def judge(part: ProcessorContext) -> None:
        nonlocal decided
        decided = decide(held.first(key, row, part))

    failure = work.savepoint(judge)
    if failure is None:
        return decided
    if isinstance(failure, TooLarge):
        command, ctx = held.first(key, row, work)
        verdicts.publish(command, verdicts.too_large(failure.topic, failure.size), ctx)
    else:
        work.send_to_dlq(ASAP_ENVELOPES, held.record_of(key, row, work), failure)
    return True


def drain(timer: Timer, work: ProcessorContext) -> None:
    """The timer of a long queue."""
    row = held.row_of(timer.key, work)
    if row is not None and row["state"] is None:
        _drain(timer.key, row, work, timer.due_ms)


def _drain(key: str, row: AvroValue, work: ProcessorContext, now_ms: int) -> None:
    """Decide what is held, oldest first, until one of them is a request that waits again."""
    rest: AvroValue | None = row
    for _ in range(AT_ONCE):
        if rest is None:
            return
        if not _decide(key, rest, work, _as_it_came):
            return
        rest = held.drop_first(key, rest, work)
    if rest is not None:
        work.set_timer(Timer(now_ms, DRAIN, key, {}))


def _as_it_came(waiting: Waiting) -> bool:
    return decide(waiting.command, waiting.ctx, draining=True)
