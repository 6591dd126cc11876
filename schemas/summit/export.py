"""The Avro sources of Summit, made from its models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from schemas.json_mapping.mapping import EXTRA
from schemas.objects import ABSENT, JsonObject
from schemas.sources import enum_text, record_text
from schemas.summit import models, rows
from schemas.summit.avro_types import AvroType, Doc, Enumeration
from schemas.summit.mapping import NAMESPACE
from schemas.summit.models import SummitObject

RECORDS: dict[type[SummitObject], str] = {
    models.SummitManifest: "An agent as its manifest declares it.",
    models.Metadata: "Which agent a manifest is of.",
    models.Spec: "What an agent is, can do and takes.",
    models.Interface: "The JSON Schemas of what an agent takes and gives.",
    models.ToolDefinition: "A typed function that an agent offers.",
    models.SummitCall: (
        "A JSON-RPC request that is judged and logged; on the inbox, what an agent is to do."
    ),
    models.InvokeParams: "What agent.invoke asks for.",
    models.ToolCallParams: "What tool.call asks for.",
    models.CancelParams: "What agent.cancel asks for.",
    models.ToolCall: "The call of a tool.",
    models.Context: "What a run is part of, and what it may use.",
    models.Budget: "What a run may use at most.",
    models.Delivery: "What the service adds for the agent.",
    models.SummitReply: "What an agent says of a run.",
    models.Metrics: "What a run has used so far.",
    models.Provenance: "What made an output, and when.",
    models.Verification: "How well an output stands up, as its judge says.",
    models.Check: "One thing that was checked.",
    models.RunError: "Why a run did not complete.",
    rows.SummitEvent: "One fact of Summit: the verdict on a record, or a timeout.",
    rows.SchemaError: "One place that breaks a JSON Schema.",
    rows.SummitRun: "Where a run stands, and the evidence of it.",
    rows.RunVerification: (
        "A verification with the status that stands and the one that was claimed."
    ),
    rows.RunJudge: "What a critic says of a run.",
    rows.RunCancel: "Who cancelled a run, and why.",
    rows.Evidence: "What a run rests on: positions in the log, and hashes of what lies there.",
    rows.SummitAgent: "An accepted manifest, and whether the agent takes calls.",
    rows.SummitTree: "What one run tells another of its tree.",
    rows.SummitTreeTotals: "What a run and the runs below it have spent.",
    rows.SummitTreeOrigin: "The last totals of one run of a tree.",
}
"""The models that are records, with their descriptions."""

_PRIMITIVES: dict[Any, str] = {str: "string", int: "long", float: "double", bool: "boolean"}
_OPEN = (JsonObject, Any)
"""The types of members with open JSON, which a record has as text."""


def avro_sources() -> dict[str, str]:
    """Return the Avro source of each record and enum, texts by their paths below `avro/`."""
    records = {model.__name__: _record_source(model, doc) for model, doc in RECORDS.items()}
    enums = {
        enum.name: enum_text(enum.name, NAMESPACE, enum.doc, enum.symbols)
        for model in RECORDS
        for hint in _hints(model).values()
        for enum in _enums_in(hint)
    }
    return {f"summit/{name}.avsc": text for name, text in (records | enums).items()}


def _record_source(model: type[SummitObject], doc: str) -> str:
    return record_text(model.__name__, NAMESPACE, doc, list(_fields(model)))


def _hints(model: type[SummitObject]) -> dict[str, Any]:
    """Return the annotated types of the members."""
    hints = get_type_hints(model, include_extras=True)
    return {of.name: hints[of.name] for of in fields(model) if of.name != "extra"}


def _fields(model: type[SummitObject]) -> Iterator[JsonObject]:
    attributes = model.__dataclass_fields__
    for name, hint in _hints(model).items():
        yield _field(name, hint, attributes[name])
    if model.IS_OPEN:
        yield {"name": EXTRA, "type": ["null", "string"], "default": None}


def _field(name: str, hint: Any, attribute: Field[Any]) -> JsonObject:
    doc = {}
    if get_origin(hint) is Annotated and isinstance(hint.__metadata__[0], Doc):
        doc = {"doc": hint.__metadata__[0].text}
        hint = hint.__origin__
    hint = _not_none(hint)
    field_name = f"{name}_json" if hint in _OPEN else name
    avro = _avro_type(hint)
    if attribute.default is None or attribute.default is ABSENT:
        branches = avro if isinstance(avro, list) else [avro]
        return {"name": field_name, "type": ["null", *branches], "default": None, **doc}
    if attribute.default_factory is not MISSING:
        return {"name": field_name, "type": avro, "default": attribute.default_factory(), **doc}
    return {"name": field_name, "type": avro, **doc}


def _not_none(hint: Any) -> Any:
    """Return the type of a member that is present."""
    if get_origin(hint) not in (Union, UnionType) or NoneType not in get_args(hint):
        return hint
    (present,) = (branch for branch in get_args(hint) if branch is not NoneType)
    return present


def _avro_type(hint: Any) -> Any:
    if hint in _OPEN:
        return "string"
    if hint in _PRIMITIVES:
        return _PRIMITIVES[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        avro = arguments[1]
        return avro.schema() if isinstance(avro, AvroType) else avro.name
    if origin is list:
        return {"type": "array", "items": _avro_type(arguments[0])}
    if origin is dict:
        return {"type": "map", "values": _avro_type(arguments[1])}
    if origin in (Union, UnionType):
        return [_avro_type(branch) for branch in arguments]
    name: str = hint.__name__
    return name


def _enums_in(hint: Any) -> Iterator[Enumeration]:
    if get_origin(hint) is Annotated:
        yield from (part for part in hint.__metadata__ if isinstance(part, Enumeration))
    for inner in get_args(hint):
        yield from _enums_in(inner)
