"""The records about a thing: those that its steps name, and what these caused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from streams.api.things import Step, Thing, ThingVerdict
from streams.views.parse import parse_position
from streams.views.reads import ReadOnlyStore
from streams.views.service.effects import effects_of
from topology import topics
from topology.declarations import Topic, TopicKind

COMMAND, FACT, REPLY, INBOX = "command", "fact", "reply", "inbox"
RecordVerdict = TypeVar("RecordVerdict", Step, ThingVerdict)


class ThingRecord(NamedTuple):
    """A record about a thing.  at: ms since the epoch, when it was decided."""

    position: str
    role: str
    at: int


class ThingRecords:
    """The effects of the records that a thing names.  prefix: of topic names."""

    def __init__(self, view: ReadOnlyStore, prefix: str, thing: Thing) -> None:
        self._view = view
        self._prefix = prefix
        self._thing = thing
        self._effects: dict[str, list[str]] = {}

    def with_fact(self, ruling: RecordVerdict) -> RecordVerdict:
        """Return a step or verdict with the position of its fact, if its cause had only one."""
        if ruling.fact is not None or ruling.cause is None:
            return ruling
        facts = [
            each
            for each in self._effects_of(ruling.cause)
            if self._topic(each) is self._thing.facts
        ]
        return ruling._replace(fact=facts[0]) if len(facts) == 1 else ruling

    def witness(self, ruling: RecordVerdict) -> str | None:
        """Return the position of a record that shows the principal of a step or verdict."""
        if ruling.fact is not None or ruling.cause is None:
            return ruling.fact
        return next(iter(self._effects_of(ruling.cause)), None)

    def with_principal(self, ruling: RecordVerdict, principals: Mapping[str, str]) -> RecordVerdict:
        """Return a step or verdict with its principal.  principals: by position of a witness."""
        place = self.witness(ruling)
        if ruling.principal is not None or place is None:
            return ruling
        return ruling._replace(principal=principals.get(place))

    def of(self, steps: Iterable[Step]) -> list[ThingRecord]:
        """Return the records that steps name, and the messages that these caused, each once."""
        records: dict[str, ThingRecord] = {}
        for step in steps:
            for position, role in self._named(step):
                records.setdefault(position, ThingRecord(position, role, step.at))
        return list(records.values())

    def _named(self, step: Step) -> list[tuple[str, str]]:
        named = [] if step.cause is None else [(step.cause, self._role(step.cause))]
        if step.fact is not None:
            named.append((step.fact, FACT))
        sent = [] if step.cause is None else self._effects_of(step.cause)
        return [*named, *((each, INBOX) for each in sent if self._is_message(each))]

    def _role(self, position: str) -> str:
        topic = self._topic(position)
        if topic is not None and topic.kind is TopicKind.FACT:
            return FACT
        return REPLY if topic in self._thing.replies else COMMAND

    def _is_message(self, position: str) -> bool:
        topic = self._topic(position)
        return topic is not None and topic.kind is TopicKind.INBOX

    def _topic(self, position: str) -> Topic | None:
        return topics.BY_NAME.get(position.partition("/")[0].removeprefix(self._prefix))

    def _effects_of(self, position: str) -> Sequence[str]:
        if position not in self._effects:
            effects = effects_of(self._view, parse_position(position))
            self._effects[position] = ["/".join(map(str, each)) for each in effects]
        return self._effects[position]
