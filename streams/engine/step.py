"""Running a processor over a batch: decode, decide, and dead-letter what cannot be decided.

Bytes that do not decode are the sender's fault: each record becomes a dead letter, and any number
of them never stops a task.  Records between processors are the exception: no sender is at fault,
and a skipped record would be lost for good unless it is requested again, so they stop the task.
A record that makes the decide step raise is poison: the batch is split in halves and retried
until that record is alone.  Failures of store, log or memory are neither; they propagate.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from schemas import Decoded, Undecodable, decode_many, encode
from streams.engine.dead_letters import describe_failure, make_dead_letter
from streams.engine.headers import trace_context
from streams.engine.mac_checks import Judgement
from streams.engine.principals import SERVICE, Senders
from streams.engine.processor import Message, Processor, Timer, TooLarge
from streams.engine.records import Output, Record, position
from streams.engine.refused_rows import ROW_REFUSED, RowRefused
from streams.engine.rows import GetMany, layered, store_key
from streams.engine.work import (
    DECIDE_FAILED,
    NOT_POISON,
    STEP_BYTES,
    BatchOutput,
    Context,
    StepContext,
)
from streams.errors import InternalUnreadable
from streams.telemetry.logs import fields
from topology.core import ACCEPTED_GAPS, TIMERS
from topology.declarations import Topic
from topology.topics import dead_letters_of

log = logging.getLogger(__name__)

InputRecord = tuple[Topic, Record]
_Item = tuple[Topic, Record, Decoded | Undecodable]
Decide = Callable[[StepContext], None]
TIMER_FAILED = "timer_failed"
"""The code of dead letters of timers that made the processor raise."""
_NULL_VALUE = Decoded({}, b"", 0, False)


class _Refused(Undecodable):
    """An input that no processor has written there; it is never decoded."""


class Step:
    """One processor and the records it takes in one cycle.

    effects: its output.  undecodable, poison: how many records became dead letters, by reason.
    """

    def __init__(self, processor: Processor, context: Context, read: GetMany) -> None:
        self.effects = BatchOutput()
        self.undecodable = 0
        self.poison = 0
        self._processor = processor
        self._context = context
        self._senders = Senders(context.principals)
        self._read = layered([self.effects.rows], read)

    def records(
        self, taken: Sequence[InputRecord], judgements: Sequence[Judgement] = ()
    ) -> list[InputRecord]:
        """Decide the records in order; return those left over when the effects grow too large.

        judgements: on the MACs of these records, if they are checked.
        """
        self._senders.read([record for _, record in taken])
        items = self._decode(taken)
        for index, (reason, _) in enumerate(judgements):
            if reason is not None:
                topic, record, _ = items[index]
                items[index] = topic, record, _Refused(reason, "no processor has written it here")
        undecided = self._decide(items)
        return [item[:2] for item in undecided]

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
            self._dead_letter_timer(due[0], failure)

    def _decode(self, taken: Sequence[InputRecord]) -> list[_Item]:
        by_topic: dict[Topic, list[Record]] = {}
        for topic, record in taken:
            by_topic.setdefault(topic, []).append(record)
        decoded = {
            topic: iter(_decode_records(topic, records)) for topic, records in by_topic.items()
        }
        return [(topic, record, next(decoded[topic])) for topic, record in taken]

    def _decide(self, items: Sequence[_Item]) -> Sequence[_Item]:
        """Decide the items and return those left over."""
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
            undecided = self._decide(items[:middle])
            return [*undecided, *items[middle:]] if undecided else self._decide(items[middle:])
        if failure is not None:
            self._handle_failure(messages[0], failure)
        for topic, record, result in items:
            if isinstance(result, Undecodable):
                if topic.internal and not isinstance(result, _Refused):
                    self._report_internal(topic, record, result)
                self.undecodable += 1
                self._dead_letter(topic, record, result.code, result.message)
        return ()

    def _report_internal(self, topic: Topic, record: Record, failure: Undecodable) -> None:
        """Log an undecodable record between processors.

        Raises InternalUnreadable unless the record is requested again, or an operator has set it
        aside.
        """
        row = store_key(ACCEPTED_GAPS.name, position(record))
        if not topic.retried and self._read([row])[0] is None:
            at = record.topic, record.partition, record.offset
            raise InternalUnreadable.at(*at, failure.message)
        detail = f"{position(record)}: {failure.message}"
        log.error("a record between processors is set aside: %s", detail)

    def _handle_failure(self, message: Message, failure: Exception) -> None:
        """Refuse the record that raised if its output is too large, else dead-letter it."""
        if isinstance(failure, TooLarge):
            topic, size = failure.topic, failure.size
            second_failure = self._attempt(
                lambda w: self._processor.too_large(message, topic, size, w)
            )
            if second_failure is None:
                return
            failure = second_failure
        if isinstance(failure, RowRefused):
            self._dead_letter(message.topic, message.record, ROW_REFUSED, str(failure))
            return
        at, processor = position(message.record), self._processor.declaration.name
        trace = trace_context(message.record)
        extra = fields(position=at, processor=processor, code=DECIDE_FAILED, **trace)
        log.error("poison at %s: %s", at, describe_failure(failure), extra=extra)
        self.poison += 1
        self._dead_letter(message.topic, message.record, DECIDE_FAILED, describe_failure(failure))

    def _dead_letter_timer(self, timer: Timer, exc: Exception) -> None:
        is_refused = isinstance(exc, RowRefused)
        code = ROW_REFUSED if is_refused else TIMER_FAILED
        failure = str(exc) if is_refused else describe_failure(exc)
        log.error("timer %s of %s raises: %s", timer.kind, timer.key, failure)
        self.poison += not is_refused
        source = self._processor.declaration.inputs[0]
        topic = dead_letters_of(source)
        heads = [
            ("kafka_dlt-exception-fqcn", code.encode()),
            ("kafka_dlt-exception-message", failure.encode()),
        ]
        self.effects.letters[source.name, code] += 1
        key = f"timer/{timer.kind}/{timer.key}/{timer.due_ms}".encode()
        row = encode(TIMERS.record, {"data": dict(timer.data)})
        self.effects.outputs.append(Output(self._context.prefix + topic.name, key, row, heads, 0))

    def _attempt(self, decide: Decide) -> Exception | None:
        """Add the effects of a step, or return what it raised and drop them."""
        work = StepContext(self._processor.declaration, self._context, self._read, self._senders)
        try:
            decide(work)
            effects = work.encode()
            self.effects.add(effects)
            self.poison += effects.poison
        except NOT_POISON:
            raise
        except Exception as exc:
            return exc
        return None

    def _dead_letter(self, topic: Topic, record: Record, code: str, message: str) -> None:
        settings, mask = self._context.settings, self._processor.dead_letter
        content = mask(topic, record.key, settings), mask(topic, record.value, settings)
        self.effects.letters[topic.name, code] += 1
        self.effects.outputs.append(
            make_dead_letter(self._context.prefix, topic, record, content, code, message)
        )


def _decode_records(topic: Topic, records: Sequence[Record]) -> list[Decoded | Undecodable]:
    results = decode_many([record.value for record in records], topic.record or "", topic.max_items)
    if topic.nullable:
        pairs = zip(records, results, strict=True)
        return [_NULL_VALUE if record.value is None else result for record, result in pairs]
    return results
