"""Running a processor over a batch: decode, decide, and set aside what cannot be decided.

Bytes that do not decode are the sender's fault: each becomes a dead letter, and any number of
them never stops a task.  Only between processors they do: there no sender is at fault, and a
record passed over would be missing for good.  A record that makes the decide step raise is
poison: the batch is tried again in halves until it stands alone.  Failures of store, log or
memory are neither; they pass.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from schemas import Decoded, Undecodable, decode_many, encode
from streams.engine import headers
from streams.engine.processor import Message, Processor, Timer
from streams.engine.records import Output, Record, position
from streams.engine.rows import GetMany, layered
from streams.engine.work import STEP_BYTES, Context, Effects, StepWork, TooLarge
from streams.errors import HeadraceError, InternalUnreadable
from topology.declarations import Topic
from topology.tables import TIMERS
from topology.topics import dead_letters_of

log = logging.getLogger(__name__)

Taken = tuple[Topic, Record]
_Item = tuple[Topic, Record, Decoded | Undecodable]
Decide = Callable[[StepWork], None]
_NOT_POISON = (HeadraceError, MemoryError)


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
        self._read = layered([self.effects.rows], read)

    def records(self, taken: Sequence[Taken]) -> list[Taken]:
        """Decide them in order; returns those left over when the effects have grown too large."""
        left = self._decide(self._decode(taken))
        return [item[:2] for item in left]

    def timers(self, due: Sequence[Timer], now_ms: int) -> None:
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
        decoded = {
            topic: iter(decode_many([r.value for r in records], topic.record or ""))
            for topic, records in by_topic.items()
        }
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
                    raise InternalUnreadable(f"{position(record)}: {result.message}")
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
        log.error("poison at %s: %s", position(message.record), _told(failure))
        self.poison += 1
        self._dead_letter(message.topic, message.record, "decide_failed", _told(failure))

    def _poisoned_timer(self, timer: Timer, exc: Exception) -> None:
        log.error("timer %s of %s raises: %s", timer.kind, timer.key, _told(exc))
        self.poison += 1
        topic = dead_letters_of(self._processor.declaration.inputs[0])
        heads = [
            ("kafka_dlt-exception-fqcn", b"timer_failed"),
            ("kafka_dlt-exception-message", _told(exc).encode()),
        ]
        key = f"timer/{timer.kind}/{timer.key}/{timer.due_ms}".encode()
        row = encode(TIMERS.record, {"data": dict(timer.data)})
        self.effects.outputs.append(Output(self._context.prefix + topic.name, key, row, heads, 0))

    def _attempt(self, decide: Decide) -> Exception | None:
        """Take the effects of a step, or return what it raised and keep nothing of it."""
        work = StepWork(self._processor.declaration, self._context, self._read)
        try:
            decide(work)
            self.effects.add(work.seal())
        except _NOT_POISON:
            raise
        except Exception as exc:
            return exc
        return None

    def _dead_letter(self, topic: Topic, record: Record, code: str, message: str) -> None:
        """Keep the bytes, unless they exceed the topic that keeps them.

        An input's limit is on what it took compressed: a value that was small on the way in may
        be too large here. Then the letter says where it lies instead of holding it.
        """
        letters = dead_letters_of(topic)
        settings = self._context.settings
        key = self._processor.dead_letter(topic, record.key, settings)
        kept = self._processor.dead_letter(topic, record.value, settings)
        masked = topic.secret
        heads = headers.dead_letter(record, code, "" if masked else message, original=not masked)
        if masked:
            heads = [*heads, (headers.MASKED, b"true")]
        if len(kept or b"") + len(key or b"") + headers.size(heads) > letters.max_bytes:
            size = str(len(record.value or b"")).encode()
            heads = headers.dead_letter(record, code, "", original=False)
            heads = [*heads, (headers.OVERSIZE, size)]
            key, kept = None, None
        name = self._context.prefix + letters.name
        self.effects.outputs.append(Output(name, key, kept, heads, 0))


def _told(exc: Exception) -> str:
    """What a log may say of a failure: its type and place, not its text, which may quote input."""
    frames = traceback.extract_tb(exc.__traceback__)[-3:]
    places = " < ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in reversed(frames))
    return f"{type(exc).__name__} at {places}"
