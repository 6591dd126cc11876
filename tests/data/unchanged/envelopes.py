"""What edges make of envelopes: the bytes of every example, and what they answer to an example in
which one member is another, or is not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from schemas import decode, to_json
from streams.cli import validate
from streams.errors import InvalidInput, OutputTooLarge
from streams.ingress.edges import EDGES
from streams.ingress.kinds import KINDS
from streams.play import fill
from streams.play.scenario import START_MS
from streams.processing.encode import to_output
from streams.processing.ingress import EnvelopeType, IngressTopic, check
from streams.settings import Settings
from tests.data.unchanged.manifest import Texts
from tests.unit.schemas import examples

SETTINGS = Settings(partitions=1)
ID = "01KQS00M00JE48CRP1TWPW6JY4"
"""Of an envelope that comes without one."""
Json = Any
Place = tuple[str | int, ...]


def judge_envelopes() -> Texts:
    """A text for each example that is valid, and one for those of each kind that are not."""
    texts: dict[str, str] = {}
    for folder, name in examples.KINDS.items():
        kind = KINDS[name]
        for example, value in examples.valid(folder).items():
            texts[f"envelopes/{name}/{example}.txt"] = _text(_judge(kind, value))
        texts[f"envelopes/{name}/invalid.txt"] = _text(_validate(name, folder))
    return texts


def _text(lines: Iterator[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _validate(name: str, folder: str) -> Iterator[str]:
    """What `headrace validate` answers to the examples that are not valid."""
    for example, case in examples.invalid(folder).items():
        text = case["text"] if "text" in case else json.dumps(case[examples.CASES[folder]])
        yield f"{example}  {json.dumps(validate.check(name, text.encode(), SETTINGS))}"


def _judge(kind: EnvelopeType, value: Json) -> Iterator[str]:
    yield _answer(kind, value)
    for place, label, variant in _vary(value):
        path = "/".join(map(str, place))
        yield f"/{path}  {label}  {_answer(kind, variant)}"


def _answer(kind: EnvelopeType, value: Json) -> str:
    """The record that an edge produces, or the rules that the value breaks."""
    edge = next((each for each in EDGES.values() if each.kind is kind), None)
    if edge is None:
        _, problems = check(kind, value, START_MS, SETTINGS)
        return json.dumps(problems)
    try:
        return _describe_record(edge, fill.fill_value(edge.topic.name, value, lambda: ID))
    except InvalidInput as exc:
        return json.dumps(exc.problems)
    except OutputTooLarge as exc:
        return exc.message


def _describe_record(edge: IngressTopic, value: Json) -> str:
    output = to_output(edge, value, START_MS, SETTINGS)
    assert output.value is not None
    record = edge.topic.record or ""
    form = to_json(record, decode(output.value, record).value)
    return f"{output.key!r} {output.headers!r} {output.value!r} {json.dumps(form)}"


def _vary(value: Json) -> Iterator[tuple[Place, str, Json]]:
    """The value with one place of it changed, for each place."""
    for place in _list_places(value):
        member = _at(value, place)
        yield place, "missing", _put(value, place, ...)
        for other in _replace(member):
            yield place, json.dumps(other)[:24], _put(value, place, other)


def _replace(member: Json) -> Iterator[Json]:
    """Values that could stand in the place of another, and mostly may not."""
    yield None
    match member:
        case bool():
            yield from (not member, 0)
        case int() | float():
            yield from (str(member), -1, 0.5, 2**70)
        case str():
            yield from (7, "", "colour", "x" * 3000)
        case list():
            yield from ({}, [], [*member, *member], [*member, None])
        case dict():
            yield from ([], {}, {**member, "colour": "red"})
        case _:
            yield from (7, "colour", {})


def _list_places(value: Json, place: Place = ()) -> Iterator[Place]:
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for name, member in members:
        yield (*place, name)
        if isinstance(member, dict | list):
            yield from _list_places(member, (*place, name))


def _at(value: Json, place: Place) -> Json:
    for name in place:
        value = value[name]
    return value


def _put(value: Json, place: Place, member: Json) -> Json:
    """A copy with another member at a place; `...` takes it out."""
    copy = deepcopy(value)
    *owners, name = place
    owner = _at(copy, tuple(owners))
    if member is ...:
        del owner[name]
    else:
        owner[name] = member
    return copy
