"""JSON of any kind at the edge: a record that decodes to the same, or coded problems."""

from __future__ import annotations

from collections.abc import Sequence

from schemas import Problem, decode
from streams.errors import InvalidInput, OutputTooLarge
from streams.ingress.edges import EDGES
from streams.processing.encode import to_output
from streams.processing.lines import Unparsed
from streams.settings import Settings
from tests.fuzz import examples
from tests.fuzz.json_inputs import mutated as mutate

__all__ = ["mutate", "run", "seeds"]

NOW_MS = 1_767_225_600_000
SETTINGS = Settings()
seeds = examples.seeds


def run(data: bytes) -> None:
    if not data:
        return
    topic, value = examples.picked(data)
    edge = EDGES[topic]
    if isinstance(value, Unparsed):
        assert edge.kind.unread(value).rule
        return
    try:
        output = to_output(edge, value, NOW_MS, SETTINGS)
    except InvalidInput as exc:
        check(exc.problems)
    except OutputTooLarge:
        pass
    else:
        decode(output.value, edge.topic.record or "")


def check(problems: Sequence[Problem]) -> None:
    assert problems
    assert all(problem.rule and problem.message for problem in problems)
