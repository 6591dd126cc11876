"""Running a processor over a batch: decode, decide, and set aside what cannot be decided.

Bytes that do not decode are the sender's fault: each becomes a dead letter, and any number of
them never stops a task.  Only between processors they do: there no sender is at fault, and a
record passed over would be missing for good, unless it is asked for again.  A record that makes
the decide step raise is poison: the batch is tried again in halves until it stands alone.
Failures of store, log or memory are neither; they pass.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from schemas import Decoded, Undecodable, decode_many, encode
from streams.engine.letters import letter, told
from streams.engine.principals import SERVICE, Senders
from streams.engine.processor import Message, Processor, Timer, TooLarge
from streams.engine.records import Output, Record, position
from streams.engine.rows import GetMany, layered
from streams.engine.work import (
    DECIDE_FAILED,
    NOT_POISON,
    STEP_BYTES,
    Context,
    Effects,
    StepWork,
)
from streams.errors import InternalUnreadable
from streams.telemetry.logs import fields
from topology.core import TIMERS
from topology.declarations import Topic
from topology.topics import dead_letters_of

log = logging.getLogger(__name__)

Taken = tuple[Topic, Record]
_Item = tuple[Topic, Record, Decoded | Undecodable]
Decide = Callable[[StepWork], None]
TIMER_FAILED = "timer_failed"
"""The code of a dead letter that holds a timer which made the processor raise."""
_WITHDRAWN = Decoded({}, b"", 0, False)


class Step:
    """One processor over what it took in one cycle.

    effects: what it causes.  undecodable, poison: how many records became dead letters, and why.
    """

    def __init__(self, processor: Processor, context: Context, read: GetMany) -> None:
        self.effects = Effects()
        self.undecodable = 0
        self.poison = 0
        self._processor = processor
        self._context = context
        self._senders = Senders(context.principals)
        self._read = layered([self.effects.rows], read)

    def records(self, taken: Sequence[Taken]) -> list[Taken]:
        """Decide them in order; returns those left over when the effects have grown too large."""
        self._senders.read([record for _, record in taken])
        left = self._decide(self._decode(taken))
        return [item[:2] for item in left]

    def timers(self, due: Sequence[Timer], now_ms: int) -> None:
        self._senders.default = SERVICE
        failure = self._attempt(lambda work: self._processor.fire(due, now_ms, work))
        if failure is None:
            return
        if len(due) > 1:
            middle = len(due) // 2
            self.timers(due[:middle], now_ms)
            self.timers(due[middle:], now_ms)
        else:
            self._poisoned_timer(due[0], failure)

    def _decode(self, taken: Sequence[Taken]) -> list[_Item]:
        by_topic: dict[Topic, list[Record]] = {}
        for topic, record in taken:
            by_topic.setdefault(topic, []).append(record)
        decoded = {topic: iter(_decoded(topic, records)) for topic, records in by_topic.items()}
        return [(topic, record, next(decoded[topic])) for topic, record in taken]

    def _decide(self, items: Sequence[_Item]) -> Sequence[_Item]:
        """Returns what is left over."""
        if self.effects.size > STEP_BYTES:
            return items
        messages = [
            Message(topic, record, result.value, result.body, result.current)
            for topic, record, result in items
            if not isinstance(result, Undecodable)
        ]
        failure = None
        if messages:
            failure = self._attempt(lambda work: self._processor.decide(messages, work))
        if failure is not None and len(messages) > 1:
            middle = len(items) // 2
            left = self._decide(items[:middle])
            return [*left, *items[middle:]] if left else self._decide(items[middle:])
        if failure is not None:
            self._alone(messages[0], failure)
        for topic, record, result in items:
            if isinstance(result, Undecodable):
                if topic.between:
                    _alarm(topic, record, result)
                self.undecodable += 1
                self._dead_letter(topic, record, result.code, result.message)
        return ()

    def _alone(self, message: Message, failure: Exception) -> None:
        """The one that raises: too large an output has a coded refusal, the rest is poison."""
        if isinstance(failure, TooLarge):
            topic, size = failure.topic, failure.size
            second = self._attempt(lambda w: self._processor.too_large(message, topic, size, w))
            if second is None:
                return
            failure = second
        at, about = position(message.record), self._processor.declaration.name
        noted = fields(position=at, processor=about, code=DECIDE_FAILED)
        log.error("poison at %s: %s", at, told(failure), extra=noted)
        self.poison += 1
        self._dead_letter(message.topic, message.record, DECIDE_FAILED, told(failure))

    def _poisoned_timer(self, timer: Timer, exc: Exception) -> None:
        log.error("timer %s of %s raises: %s", timer.kind, timer.key, told(exc))
        self.poison += 1
        source = self._processor.declaration.inputs[0]
        topic = dead_letters_of(source)
        heads = [
            ("kafka_dlt-exception-fqcn", TIMER_FAILED.encode()),
            ("kafka_dlt-exception-message", told(exc).encode()),
        ]
        self.effects.letters[source.name, TIMER_FAILED] += 1
        key = f"timer/{timer.kind}/{timer.key}/{timer.due_ms}".encode()
        row = encode(TIMERS.record, {"data": dict(timer.data)})
        self.effects.outputs.append(Output(self._context.prefix + topic.name, key, row, heads, 0))

    def _attempt(self, decide: Decide) -> Exception | None:
        """Take the effects of a step, or return what it raised and keep nothing of it."""
        work = StepWork(self._processor.declaration, self._context, self._read, self._senders)
        try:
            decide(work)
            effects = work.seal()
            self.effects.add(effects)
            self.poison += effects.poison
        except NOT_POISON:
            raise
        except Exception as exc:
            return exc
        return None

    def _dead_letter(self, topic: Topic, record: Record, code: str, message: str) -> None:
        settings, keep = self._context.settings, self._processor.dead_letter
        kept = keep(topic, record.key, settings), keep(topic, record.value, settings)
        self.effects.letters[topic.name, code] += 1
        self.effects.outputs.append(
            letter(self._context.prefix, topic, record, kept, code, message)
        )


def _alarm(topic: Topic, record: Record, failure: Undecodable) -> None:
    """Of a record between processors.  Raises InternalUnreadable unless it is asked for again."""
    said = f"{position(record)}: {failure.message}"
    if not topic.asked_again:
        raise InternalUnreadable(said)
    log.error("a record between processors is set aside: %s", said)


def _decoded(topic: Topic, records: Sequence[Record]) -> list[Decoded | Undecodable]:
    results = decode_many([record.value for record in records], topic.record or "")
    if topic.takes_null:
        pairs = zip(records, results, strict=True)
        return [_WITHDRAWN if record.value is None else result for record, result in pairs]
    return results
