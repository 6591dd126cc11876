"""The summit processor: every command gets one verdict, every accepted call one end.

Manifests, calls and replies are judged by the rules of their own files.  A decision writes the
run's row once.

Source: Summit 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams.engine.processor import Message, Timer, Work
from streams.protocols.summit.processor import (
    calls,
    cancels,
    events,
    manifests,
    preload,
    replies,
    scene,
    timers,
)
from streams.protocols.summit.processor.inbound import Call, Inbound, Reply
from streams.protocols.summit.processor.rulings import Ruling
from streams.protocols.summit.processor.scene import Scene
from topology.declarations import Topic
from topology.summit import SUMMIT_CALLS, SUMMIT_MANIFESTS, SUMMIT_PROCESSOR, SUMMIT_REPLIES


class SummitProcessor:
    """The processor of `summit.manifests`, `summit.calls` and `summit.replies`."""

    declaration = SUMMIT_PROCESSOR

    def decide(self, batch: Sequence[Message], work: Work) -> None:
        inputs = [_read(message) for message in batch]
        preload.load(inputs, work)
        manifests.load([message for message in batch if message.topic is SUMMIT_MANIFESTS], work)
        for message, item in zip(batch, inputs, strict=True):
            if item is None:
                manifests.judge(message, work)
            else:
                _decide(item, scene.of_record(message, work))

    def fire(self, timers_due: Sequence[Timer], now_ms: int, work: Work) -> None:
        preload.load_timers(timers_due, work)
        for timer in timers_due:
            timers.fire(timer, work)

    def too_large(self, message: Message, topic: Topic, size: int, work: Work) -> None:
        """Cannot be: the bounds of Summit 2 keep what a record causes below every limit."""
        raise ValueError(f"a record of {message.topic.name} causes {size} on {topic.name}")

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        return value


def _read(message: Message) -> Inbound | None:
    """None for a manifest."""
    if message.topic is SUMMIT_CALLS:
        return Call(message)
    return Reply(message) if message.topic is SUMMIT_REPLIES else None


def _decide(inbound: Inbound, scene: Scene) -> None:
    ruling = inbound.refusal(scene) or _judge(inbound, scene)
    events.tell(inbound, ruling, scene)


def _judge(inbound: Inbound, scene: Scene) -> Ruling:
    if isinstance(inbound, Reply):
        return replies.judge(inbound, scene)
    assert isinstance(inbound, Call)
    if inbound.method == "agent.cancel":
        return cancels.judge(inbound, scene)
    return calls.judge(inbound, scene)
