"""Records of `asap.links`: questions of other keys are answered, answers end a request's wait.

A question may be asked twice, and an answer may come when nobody waits any more: asking changes
nothing that was asked before, and an answer counts only for the request, the question and the time
that it names.

When the request is decided, the records behind it are, some at a time, so that a long queue of
large envelopes does not become one transaction.

Source: ASAP spec, 5.3 and 9.19.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from streams.engine.processor import AvroValue, Message, Timer, TooLarge, Work
from streams.engine.records import header, position
from streams.protocols.asap.processor import (
    admission,
    asking,
    case,
    claims,
    dispatch,
    held,
    publishing,
    verdicts,
)
from streams.protocols.asap.processor.held import Waiting
from streams.protocols.asap.processor.inbound import Command
from streams.protocols.asap.processor.scene import Scene
from streams.protocols.asap.processor.verdicts import Outcome
from topology.asap import ASAP_ENVELOPES
from topology.machines.asap_admission import AdmissionState

DRAIN = "drain"
"""The timer of a queue that is longer than what is decided at once."""
AT_ONCE = 4
"""Records of a queue decided in one step: so few that the largest together stay a small step."""
ANSWERS = "headrace-answers"
"""Header of an envelope delivered again: the id of the duplicate that asks for it."""

_Take = Callable[[AvroValue, AvroValue, Command, Scene], Outcome | None]


def apply(message: Message, work: Work) -> None:
    link, record = message.value, message.record
    assert record.key is not None, "links have keys"
    key = record.key.decode()
    scene = Scene(work, position(record), link["at"], header(record, "traceparent"))
    _KINDS[link["kind"]](key, link, scene)


def _tell_depth(key: str, link: AvroValue, scene: Scene) -> None:
    """Nobody waits for a parent that is itself held, so two that name each other do not block."""
    found = case.find(key, scene)
    depth = None if found is None else found.row["depth"]
    asking.answer("depth_answer", link, key, scene, known=found is not None, depth=depth)


def _resend(key: str, link: AvroValue, scene: Scene) -> None:
    """Deliver a task's response again; one that is not there yet is delivered when it comes."""
    found = case.find(key, scene)
    response = None if found is None else found.response
    if found is not None and response is not None:
        headers = [(ANSWERS, link["envelope_id"].encode())]
        scene.deliver(found.requester, response, response["id"], headers)


def _take_depth(key: str, link: AvroValue, scene: Scene) -> None:
    _take(key, link, scene.work, AdmissionState.AWAITING_DEPTH, admission.take_depth)


def _take_claim(key: str, link: AvroValue, scene: Scene) -> None:
    _take(key, link, scene.work, AdmissionState.AWAITING_CLAIM, admission.take_claim)


_KINDS: Mapping[str, Callable[[str, AvroValue, Scene], None]] = {
    "depth_ask": _tell_depth,
    "depth_answer": _take_depth,
    "claim_ask": claims.decide,
    "claim_answer": _take_claim,
    "resend": _resend,
}


def _take(key: str, link: AvroValue, work: Work, state: AdmissionState, take: _Take) -> None:
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
    command, scene = waiting
    if row["state"] == AdmissionState.AWAITING_DEPTH:
        asked = command.body["parent_task_id"]
    else:
        idempotency_key = admission.config_of(command, scene).idempotency_key
        asked = claims.key_of(command, idempotency_key or "")
    about = (link["from_key"], link["sender"], link["at"])
    return about == (asked, command.sender, command.at)


def ask_again(timer: Timer, now_ms: int, work: Work) -> None:
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
    key: str, row: AvroValue, work: Work, at: int, judge: Callable[[Waiting], Outcome | None]
) -> None:
    """Decide the request, unless it has one more question, and go on with those behind it."""

    def decide(waiting: Waiting) -> bool:
        outcome = judge(waiting)
        if outcome is not None:
            publishing.publish(waiting.command, outcome, waiting.scene)
        return outcome is not None

    if _decide(key, row, work, decide):
        rest = held.drop_first(key, row, work)
        if rest is not None:
            _drain(key, rest, work, at)


def _decide(key: str, row: AvroValue, work: Work, decide: Callable[[Waiting], bool]) -> bool:
    """Decide the record at the head as if it had just come; False: it waits for an answer.

    One that causes too much is refused, as it would have been then, and one that cannot be decided
    is set aside: they hold up nobody.
    """
    decided = True

    def judge(part: Work) -> None:
        nonlocal decided
        decided = decide(held.first(key, row, part))

    failure = work.attempt(judge)
    if failure is None:
        return decided
    if isinstance(failure, TooLarge):
        command, scene = held.first(key, row, work)
        publishing.publish(command, verdicts.too_large(failure.topic, failure.size), scene)
    else:
        work.set_aside(ASAP_ENVELOPES, held.record_of(key, row, work), failure)
    return True


def drain(timer: Timer, work: Work) -> None:
    """The timer of a long queue."""
    row = held.row_of(timer.key, work)
    if row is not None and row["state"] is None:
        _drain(timer.key, row, work, timer.due_ms)


def _drain(key: str, row: AvroValue, work: Work, now_ms: int) -> None:
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
    return dispatch.decide(waiting.command, waiting.scene, draining=True)
