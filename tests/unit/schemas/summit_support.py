"""Examples of Summit, changed and sent."""

from __future__ import annotations

import json
from typing import Any

from schemas import Problem, decode, encode, from_json, summit
from schemas.summit import words
from schemas.summit.manifest_schema import Schema, schema_problems
from tests.unit.schemas import examples
from tests.unit.schemas.examples import changed as changed

FOLDERS = ("summit/manifests", "summit/calls", "summit/replies")


VALID = [(folder, name) for folder in FOLDERS for name in examples.valid(folder)]


INVALID = [(folder, name) for folder in FOLDERS for name in examples.invalid(folder)]


MANIFEST = examples.valid("summit/manifests")["word-stats"]


CALL = examples.valid("summit/calls")["invoke"]


TOOL_CALL = examples.valid("summit/calls")["tool_call"]


CANCEL = examples.valid("summit/calls")["cancel"]


RESULT = examples.valid("summit/replies")["result"]


ERROR = examples.valid("summit/replies")["error"]


PROGRESS = examples.valid("summit/replies")["progress"]


VERIFICATION = examples.valid("summit/replies")["verification"]


JUDGES: dict[str, Any] = {
    "summit/manifests": (words.MANIFEST_RECORD, summit.judge_manifest),
    "summit/calls": (words.CALL_RECORD, summit.judge_call),
    "summit/replies": (words.REPLY_RECORD, summit.judge_reply),
}


def rules_and_paths(problems: list[Problem]) -> list[tuple[str, str]]:
    return [(problem.rule, problem.path) for problem in problems]


def off_the_log(record: str, value: dict[str, Any]) -> dict[str, Any]:
    return decode(encode(record, from_json(record, value)), record).value


def extra(size: int) -> dict[str, Any]:
    """Members whose canonical JSON, braces included, has this size."""
    return {"note": "x" * (size - len('{"note":""}'))}


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


OBJECT = {"type": "object"}


def problems(schema: dict[str, Any]) -> list[tuple[str, str]]:
    return [(p.rule.removeprefix("manifest."), p.path) for p in schema_problems(schema, ("s",))]


def schema(**keywords: Any) -> Schema:
    made = {**OBJECT, **keywords}
    assert problems(made) == []
    return summit.schema_of(json.dumps(made))


def errors(value: Any, **keywords: Any) -> list[tuple[str, str]]:
    return [(e["path"], e["keyword"]) for e in schema(**keywords).errors(value, "/output")]


def member(**keywords: Any) -> dict[str, Any]:
    """The schema of an object whose member x has these keywords."""
    return {**OBJECT, "properties": {"x": keywords}}
