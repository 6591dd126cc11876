"""What is declared: schemas by their ids, topics, tables and processors in their order, rights on
Kafka, rules, routes, and the names by which others import and find things.
"""

from __future__ import annotations

import ast
import importlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

from fastavro.schema import to_parsing_canonical_form

import schemas
from schemas import CATALOGUE, SchemaEntry
from schemas.build import derived_files
from schemas.protocols import RECORDS
from streams.gateway.access import list_access_rules
from streams.protocols.commands import COMMANDS, all_processors
from streams.registry.reading import RegistryReadApi
from streams.registry.subjects import subjects
from streams.routes.table import ROUTES, parameters_of
from tests.data.unchanged.commands import run
from tests.data.unchanged.manifest import Texts
from topology import processors, tables, topics
from topology.declarations import ProcessorDeclaration, Table, Topic
from topology.headers import headers_of
from topology.verdicts import VERDICTS

ROOT = Path(__file__).resolve().parents[3]
_ELSEWHERE = ("key_of", "headers", "operators_only")
"""Members of declarations that other texts show: envelopes, topics with their headers, ACLs."""
PUBLIC = (
    "schemas",
    *(f"schemas.{each}" for each in ("apc", "asap", "otel", "rtes", "saop", "sap", "summit")),
    "streams",
    *(f"streams.{each}" for each in ("agents", "asap", "summit")),
)
"""Modules whose names users import."""


def describe() -> Texts:
    return {
        **dict(_describe_schemas()),
        "order/processors.txt": _lines(each.declaration.name for each in all_processors()),
        "order/records.txt": _lines(RECORDS),
        "topology/topics.jsonl": _json_lines(map(_describe_topic, topics.ALL)),
        "topology/tables.jsonl": _json_lines(map(_describe, tables.ALL)),
        "topology/processors.jsonl": _json_lines(map(_describe, processors.ALL)),
        "topology/verdicts.jsonl": _json_lines(
            [topic.name, *(each.name for each in facts)] for topic, facts in VERDICTS.items()
        ),
        "topology/subjects.jsonl": _json_lines(_describe_subjects()),
        "topology/rules.jsonl": _json_lines(
            [protocol, *astuple(rule)]
            for side in COMMANDS
            for protocol, rules in side.rules.items()
            for rule in rules
        ),
        "acls/table.txt": run("topics", "acls"),
        "acls/lines.jsonl": run("topics", "acls", "--json"),
        "acls/script.sh": run("topics", "acls", "--script"),
        "names/routes.jsonl": _json_lines(_describe_routes()),
        "names/needs.jsonl": _json_lines(list_access_rules()),
        "names/imports.txt": _lines(_public_names()),
        "names/loggers.txt": _lines(sorted(set(_loggers()))),
    }


def _lines(texts: Iterable[str]) -> str:
    return "".join(f"{text}\n" for text in texts)


def _json_lines(values: Iterable[Any]) -> str:
    return _lines(json.dumps(value, ensure_ascii=False) for value in values)


def _describe_schemas() -> Iterator[tuple[str, str]]:
    for entry in CATALOGUE:
        name = f"catalogue/{entry.id}-{entry.record}-v{entry.version}.jsonl"
        yield name, _json_lines(_forms(entry))
    for path, text in derived_files().items():
        yield path.relative_to(Path(schemas.__file__).parent).as_posix(), text


def _forms(entry: SchemaEntry) -> Iterator[Any]:
    """Its line in the catalogue, its canonical form, and what a schema registry has of it."""
    yield entry._asdict()
    yield to_parsing_canonical_form(entry.schema)
    yield RegistryReadApi("").get_by_id(str(entry.id))


def _describe(declared: Topic | Table | ProcessorDeclaration) -> dict[str, Any]:
    names = [each.name for each in fields(declared) if each.name not in _ELSEWHERE]
    return {name: _plain(getattr(declared, name)) for name in names}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value.name if isinstance(value, Topic | Table) else value


def _describe_topic(topic: Topic) -> dict[str, Any]:
    return {
        **_describe(topic),
        "partitions": topics.partitions_of(topic, 4),
        "config": topics.config_of(topic),
        "headers": [header.name for header in headers_of(topic)],
    }


def _describe_subjects() -> Iterator[Any]:
    for subject in subjects().values():
        yield [subject.name, subject.record, [entry.id for entry in subject.entries]]


def _describe_routes() -> Iterator[Any]:
    for route in ROUTES:
        parameters = [each.name for each in parameters_of(route)]
        yield [route.method, route.template, route.name, route.tag, route.answer, parameters]


def _public_names() -> Iterator[str]:
    for module in PUBLIC:
        yield from (f"{module}.{name}" for name in sorted(importlib.import_module(module).__all__))


def _loggers() -> Iterator[str]:
    """The names of all loggers, which lines of a log in JSON bear."""
    for path in sorted((ROOT / "streams").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("getLogger"):
                names = [each.value for each in node.args if isinstance(each, ast.Constant)]
                yield from map(str, names or [module][: len(node.args)])
