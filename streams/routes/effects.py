"""`GET /v1/records/{topic}/{partition}/{offset}/effects`: what came of one record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from streams.api.route import Call, Query, Route
from streams.engine.records import Record, TopicPartition
from streams.log.fetching import read_offsets
from streams.log.records import PATIENCE_S, parse_number, read_record
from streams.routes.log import process_of
from streams.routes.records import ERRORS, RECORD, log_of, named_partition
from streams.routes.verdicts import judgement_json
from streams.view_store.rows import edges_caused_by
from streams.view_store.service_rows import FACTS
from streams.views.changes import WriteBatch
from streams.views.positions import Position
from streams.views.service.effects import effects_of
from streams.views.service.verdicts import VERDICTS, FactReading, Judgement, judgement_of
from topology.declarations import TopicKind
from topology.topics import BY_NAME

Json = dict[str, Any]


def list_effects(call: Call) -> Json:
    """Return what a record caused.  Raises Forbidden, NotFound, Gone."""
    _, tp = named_partition(call)
    cause = Position(tp.topic, tp.partition, parse_number(call.ids["offset"]))
    places = effects_of(call.view, cause)
    if not places:
        read_record(log_of(call), tp, call.ids["offset"])
    return {
        "decided": bool(places),
        "verdicts": [judgement_json(each) for each in _verdicts(call, places)],
        "facts": _of_kind(call, places, TopicKind.FACT),
        "messages": _of_kind(call, places, TopicKind.INBOX),
        "edges": edges_caused_by(call.view, cause, call.settings.prefix),
    }


def _name(call: Call, place: Position) -> str:
    """Return the name of a topic without the prefix."""
    return place.topic.removeprefix(call.settings.prefix)


def _of_kind(call: Call, places: Sequence[Position], kind: TopicKind) -> list[str]:
    return ["/".join(map(str, p)) for p in places if BY_NAME[_name(call, p)].kind is kind]


def _verdicts(call: Call, places: Sequence[Position]) -> Iterator[Judgement]:
    """Yield the verdicts among facts, accepted ones too."""
    for tp, group in groupby(places, lambda place: TopicPartition(place.topic, place.partition)):
        facts = FACTS.get(tp.topic.removeprefix(call.settings.prefix))
        if facts is None or not isinstance(facts.reading, FactReading):
            continue
        for record in _read_facts(call, tp, list(group)):
            judgement = _judgement(call, facts.protocol, facts.reading, record)
            if judgement is not None:
                yield judgement


def _read_facts(call: Call, tp: TopicPartition, places: Sequence[Position]) -> Iterator[Record]:
    """Yield the records at places of one partition, from the log if any of them is not recent."""
    find = process_of(call).recent_fact
    recent = [record for place in places if (record := find(place)) is not None]
    if len(recent) == len(places):
        yield from recent
    else:
        yield from read_offsets(log_of(call), tp, [place.offset for place in places], PATIENCE_S)


def _judgement(call: Call, protocol: str, reading: FactReading, record: Record) -> Judgement | None:
    """Return the verdict that a fact says, None if it is no verdict on a record."""
    members = reading.projection.of(record.value)
    counted = reading.count(record, members, WriteBatch(call.view))
    if counted is None or counted.verdict not in VERDICTS:
        return None
    topic = record.topic.removeprefix(call.settings.prefix)
    return judgement_of(protocol, topic, reading, record, members, counted)


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        f"{RECORD}/effects",
        "list_effects",
        Query(list_effects, asks_kafka=True),
        "what came of a record: the verdicts on it, and the positions of facts, messages and edges"
        " of the lineage graph",
        (),
        "Effects",
        errors=ERRORS,
    ),
)
