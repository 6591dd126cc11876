"""The shape rules of packets (APC guide, 3.1), all of them collected.

The models say what a packet may look like; their errors are translated to rule codes here.  A
packet that plainly fits its model (`schemas.shapes`) is not given to it.  The rules that tie
members together are functions in `relations`.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import orjson
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from schemas.apc import rules as r
from schemas.apc.envelope import FORMATS
from schemas.apc.mapping import PAYLOADS
from schemas.apc.packets import MODELS, Envelope
from schemas.apc.relations import relation_problems
from schemas.canonical import canonical_json
from schemas.native import Fits, compile_shape
from schemas.nesting import MAX_NESTING, Normaliser, too_deep
from schemas.problems import Problem, pointer
from schemas.rules import Rule
from schemas.shapes import rule_of

MAX_PACKET_BYTES = 524_288
MAX_DELIVERIES = 128
"""How many packets of the largest size the deliveries of one packet may amount to in bytes.

Each recipient gets a copy: a packet of 400 KB to 1,000 recipients would be 400 MB on the log.
"""

_METADATA, _DETAILS = ("metadata",), ("payload", "details")
_AST = ("payload", "formula_bundle", "ast_json")
_OPEN = frozenset({_METADATA, _DETAILS, _AST})
_NON_FINITE = ("NaN", "Infinity", "-Infinity")

_RULES = {
    "missing": r.MEMBER_MISSING,
    "extra_forbidden": r.MEMBER_UNKNOWN,
    "literal_error": r.ENUM_VALUE,
    "union_tag_invalid": r.ENUM_VALUE,
    "union_tag_not_found": r.MEMBER_MISSING,
    "string_too_short": r.STRING_EMPTY,
    "string_too_long": r.PACKET_TOO_LARGE,
    "greater_than_equal": r.NUMBER_RANGE,
    "less_than_equal": r.NUMBER_RANGE,
    "finite_number": r.NUMBER_RANGE,
    "too_short": r.ARRAY_SIZE,
    "too_long": r.ARRAY_SIZE,
    "format_uuid": r.FORMAT_UUID,
    "format_time": r.FORMAT_TIME,
    "string_unicode": r.JSON_INVALID,
}


def validate(
    value: object, *, edge: bool = True, max_bytes: int = MAX_PACKET_BYTES
) -> list[Problem]:
    """Return every shape rule that a packet's JSON breaks, sorted by path, then rule.

    edge: the value comes from outside.  Else it is the JSON form of an Avro record: without nulls,
    with integral numbers as integers and non-finite ones as words.  `created_at` is required; edges
    fill it in before.
    """
    if not isinstance(value, dict):
        return [Problem("json_invalid", "", "The packet must be a JSON object.")]
    normaliser = Normaliser(_OPEN)
    packet: dict[str, Any] = normaliser.run(value) if edge else value
    packet_type = packet.get("packet_type")
    model = MODELS.get(packet_type) if isinstance(packet_type, str) else None
    problems = set(normaliser.problems)
    if model is None or not _shape(model)(packet):
        problems.update(_model_problems(model or Envelope, packet, edge))
    if model is None and not isinstance(packet.get("payload", {}), dict):
        problems.add(Problem("member_type", "/payload", "payload must be an object."))
    problems.update(relation_problems(packet))
    problems.update(_size_problems(packet, max_bytes, suspect=bool(problems)))
    if normaliser.nulls:
        problems.update(_null_problems(normaliser.nulls, problems, model is None))
    return sorted(problems, key=lambda problem: (problem.path, problem.rule))


def validate_avro(
    value: dict[str, Any], packet: dict[str, Any], *, max_bytes: int = MAX_PACKET_BYTES
) -> list[Problem]:
    """Return every shape rule that a decoded ApcPacket breaks; packet: its JSON form."""
    problems = validate(packet, edge=False, max_bytes=max_bytes)
    if value["payload"][0] == PAYLOADS[value["packet_type"]]:
        return problems
    branch = value["payload"][0].rpartition(".")[2]
    mismatch = Problem(
        "payload_type_mismatch", "/payload", f"payload is {branch}, not of {value['packet_type']}."
    )
    others = [p for p in problems if p.path != "/payload" and not p.path.startswith("/payload/")]
    return sorted([*others, mismatch], key=lambda problem: (problem.path, problem.rule))


@cache
def _shape(model: type[Envelope]) -> Fits:
    return compile_shape(rule_of(model, FORMATS))


def _model_problems(model: type[Envelope], packet: dict[str, Any], edge: bool) -> list[Problem]:
    try:
        model.__pydantic_validator__.validate_python(packet)
    except ValidationError as exc:
        return [_problem(error, packet, edge) for error in exc.errors(include_url=False)]
    return []


def _problem(error: ErrorDetails, packet: dict[str, Any], edge: bool) -> Problem:
    path = error["loc"]
    if path[:2] == ("payload", "objects") and len(path) > 4:
        path = (*path[:3], *path[4:])  # the model's name for the branch of the union
    if error["type"].startswith("union_tag"):
        path = (*path, "type")
    rule = _rule(error, path, packet, edge)
    return Problem(
        rule.code, pointer(*path), _message(rule, error, str(path[-1]) if path else "The packet")
    )


def _rule(error: ErrorDetails, path: tuple[int | str, ...], packet: Any, edge: bool) -> Rule:
    value = error["input"]
    rule = _RULES.get(error["type"], r.MEMBER_TYPE)
    if rule is r.MEMBER_TYPE:
        if not edge and path in _OPEN:
            return r.JSON_TEXT
        if error["type"] in ("float_type", "int_type"):
            infinite = isinstance(value, float) and not _finite(value)
            spelled_out = not edge and isinstance(value, str) and value in _NON_FINITE
            return r.NUMBER_RANGE if infinite or spelled_out else rule
    elif rule is r.MEMBER_MISSING and len(path) == 1:
        if path[0] == "lineage":
            return r.LINEAGE_MISSING
        if path[0] == "proof_bundle":
            return r.PROOF_BUNDLE_MISSING
    elif rule is r.ENUM_VALUE:
        word = value.get("type") if error["type"] == "union_tag_invalid" else value
        if not isinstance(word, str):
            return r.MEMBER_TYPE
        return r.VERSION_UNSUPPORTED if path == ("protocol_version",) else rule
    return rule


def _finite(number: float) -> bool:
    return number - number == 0


def _message(rule: Rule, error: ErrorDetails, name: str) -> str:
    context = error.get("ctx", {})
    match rule.code:
        case "member_missing" | "lineage_missing" | "proof_bundle_missing":
            return f"{name} is missing."
        case "member_unknown":
            return f"{name} is no member of this object."
        case "json_text":
            return f"{name} must be the text of a JSON object."
        case "string_empty":
            return f"{name} must have at least 1 character."
        case "packet_too_large":
            return f"{name} must have at most {context['max_length']} characters."
        case "format_uuid":
            return f"{name} must be a UUID."
        case "format_time":
            return f"{name} must be an RFC 3339 date-time with a zone, of a real instant."
        case "enum_value" | "version_unsupported":
            return f"{name} must be {context.get('expected') or context.get('expected_tags')}."
        case "array_size":
            count = _figure(context["actual_length"])
            if "min_length" in context:
                return f"{name} must have at least {context['min_length']} items{count}."
            return f"{name} must have at most {context['max_length']} items{count}."
        case "number_range":
            return f"{name} must be {_bound(context)}{_figure(error['input'])}."
        case _:
            return f"{name} must be {_TYPES.get(error['type'], 'of another type')}."


_TYPES = {
    "string_type": "a string",
    "literal_error": "a string",
    "union_tag_invalid": "a string",
    "string_unicode": "text without lone surrogates",
    "int_type": "an integer",
    "float_type": "a number",
    "bool_type": "a boolean",
    "list_type": "an array",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}


def _figure(number: Any) -> str:
    spelled = repr(number)
    return f", not {spelled}" if len(spelled) <= 30 else ""


def _bound(context: dict[str, Any]) -> str:
    if "ge" in context:
        return f"at least {context['ge']:g}"
    return f"at most {context['le']:.16g}" if "le" in context else "a finite number"


def _size_problems(packet: dict[str, Any], max_bytes: int, suspect: bool) -> list[Problem]:
    """Check the packet's nesting and size.

    suspect: the packet breaks other rules, so any member may be too deep; else only open members.
    """
    problems = []
    if _too_deep(packet, suspect):
        message = f"The packet is nested more than {MAX_NESTING} deep."
        problems.append(Problem("packet_too_large", "", message))
    copies, max_total = _count_recipients(packet), MAX_DELIVERIES * max_bytes
    try:
        size = _size(packet, min(max_bytes, max_total // copies))
    except UnicodeEncodeError:
        return [*problems, Problem("json_invalid", "", "A string has a lone surrogate.")]
    except (ValueError, RecursionError, TypeError):
        return problems
    if size > max_bytes and not problems:
        message = f"The packet is {size} bytes of canonical JSON, more than {max_bytes}."
        problems.append(Problem("packet_too_large", "", message))
    if size * copies > max_total:
        message = (
            f"The packet is {size} bytes of canonical JSON for each of {copies} recipients, more"
            f" than {max_total} bytes."
        )
        problems.append(Problem("packet_too_large", "/recipients", message))
    return problems


def _count_recipients(packet: dict[str, Any]) -> int:
    """Return how many agents get the packet, at least 1; the packet may break rules."""
    recipients = packet.get("recipients")
    if not isinstance(recipients, list):
        return 1
    agents = (each.get("agent_id") for each in recipients if isinstance(each, dict))
    return max(1, len({agent for agent in agents if isinstance(agent, str)}))


def _too_deep(packet: dict[str, Any], suspect: bool) -> bool:
    if suspect:
        return too_deep(packet)
    payload = packet["payload"]
    bundle = payload.get("formula_bundle")
    return (
        ("metadata" in packet and too_deep(packet["metadata"], 2))
        or ("details" in payload and too_deep(payload["details"], 3))
        or (bundle is not None and too_deep(bundle, 3))
    )


def _size(packet: dict[str, Any], max_bytes: int) -> int:
    """Return the bytes of canonical JSON; a cheaper count if that is far below the limit."""
    try:
        size = len(orjson.dumps(packet))
    except TypeError:
        size = len(json.dumps(packet, ensure_ascii=False).encode())
    # A number is at most 22 characters in RFC 8785, and at least 3 in orjson where they differ.
    if size * 8 <= max_bytes:
        return size
    try:
        return len(canonical_json(packet))
    except ValueError:
        return size


def _null_problems(
    nulls: list[str], problems: set[Problem], payload_unknown: bool
) -> list[Problem]:
    found_nulls = []
    reported = {problem.path for problem in problems}
    for path in nulls:
        covered = any(path == p or path.startswith(p + "/") for p in reported if p)
        if covered or (payload_unknown and path.startswith("/payload/")):
            continue
        name = path.rpartition("/")[2]
        found_nulls.append(Problem("member_type", path, f"{name} must not be null."))
    return found_nulls
