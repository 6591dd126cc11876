"""Reading of requests: ProtoJSON whose open JSON keeps the numbers that were sent.

The SDK's messages say which members there are and which are required.  They hold every number of
open JSON as a double, so that JSON is taken from the request itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

from streams.doors.a2a.errors import A2aError, Violation
from streams.doors.a2a.protocol import Json
from streams.errors import needs_extra

with needs_extra("a2a", "/a2a"):
    from a2a.utils.errors import InvalidParamsError
    from a2a.utils.proto_utils import validate_proto_required_fields
    from google.protobuf.descriptor import FieldDescriptor
    from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
    from google.protobuf.message import Message

Descriptor: TypeAlias = Any
Field: TypeAlias = Any
"""protobuf has two implementations of each, without a common type."""
_CLOSED = "lf.a2a."
_OPEN = ("google.protobuf.Struct", "google.protobuf.Value")
_RULES = {"message_id": ("a2a.message_id", "messageId is 1 to 256 characters")}
_RULES["role"] = ("a2a.role", "role is ROLE_USER")
_FLAGS = {"true": True, "false": False}


def read_request(value: Any, message: Message) -> Json:
    """Return the members of a request that A2A knows, in camelCase, without those that say nothing.

    message: an empty one of the request's type.  Raises A2aError.
    """
    if not isinstance(value, dict):
        raise A2aError("a2a.shape", "the parameters are an object")
    for path, text in _unknown_words(value, message.DESCRIPTOR, ""):
        raise A2aError("a2a.shape", f"{text!r} is no word that A2A has there", path)
    try:
        ParseDict(value, message, ignore_unknown_fields=True)
    except (ParseError, RecursionError, OverflowError) as exc:
        raise A2aError("a2a.shape", str(exc)) from exc
    _check_required(message)
    members: Json = MessageToDict(message)
    _restore_open(members, value, message.DESCRIPTOR)
    return members


def read_query(query: str, descriptor: Descriptor, skipped: tuple[str, ...]) -> Json:
    """Return the parameters of a GET as the JSON of a request.

    skipped: names that are no members of the request.  Unknown ones are ignored, as in a body.
    Raises A2aError.
    """
    fields = {field.camelcase_name: field for field in descriptor.fields}
    value: Json = {}
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError as exc:
        raise A2aError("a2a.shape", "a query of at most 100 UTF-8 parameters") from exc
    for name, text in pairs:
        field = fields.get(name)
        if field is None or name in skipped:
            continue
        if name in value:
            raise A2aError("a2a.shape", f"{name} is given more than once", f"/{name}")
        if field.type == FieldDescriptor.TYPE_BOOL:
            if text not in _FLAGS:
                raise A2aError("a2a.shape", f"{name} is true or false", f"/{name}")
            value[name] = _FLAGS[text]
        else:
            value[name] = text
    return value


def _check_required(message: Message) -> None:
    """Raise A2aError for the first required member that is missing; all of them are named."""
    try:
        validate_proto_required_fields(message)
    except InvalidParamsError as exc:
        missing = [(each["field"], each["message"]) for each in (exc.data or {})["errors"]]
        rule, detail = _RULES.get(
            missing[0][0].removeprefix("message."), ("a2a.shape", "required members are missing")
        )
        violations = [Violation(_pointer(field), text) for field, text in missing]
        raise A2aError(rule, detail, violations[0].field, violations=violations) from exc


def _pointer(field: str) -> str:
    """Return the JSON Pointer of a member that the SDK names like `message.parts[0].media_type`."""
    parts = field.replace("[", ".").replace("]", "").split(".")
    return "".join(f"/{_camel(part)}" for part in parts)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)


def _members(value: Mapping[str, Any], descriptor: Descriptor) -> Iterator[tuple[Field, Any]]:
    """Yield the known members of an object that are not null, with what they hold."""
    for field in descriptor.fields:
        for name in dict.fromkeys((field.json_name, field.name)):
            if value.get(name) is not None:
                yield field, value[name]


def _items(field: Field, member: Any) -> list[Any]:
    """Return what a member holds as a list, whether it may hold many or one."""
    if not field.is_repeated:
        return [member]
    return member if isinstance(member, list) else []


def _unknown_words(
    value: Mapping[str, Any], descriptor: Descriptor, path: str
) -> Iterator[tuple[str, str]]:
    """Yield the words that an enumeration has not, which ProtoJSON would take for its first one."""
    for field, member in _members(value, descriptor):
        for number, item in enumerate(_items(field, member)):
            place = f"{path}/{field.json_name}" + (f"/{number}" if field.is_repeated else "")
            if field.type == FieldDescriptor.TYPE_ENUM:
                if isinstance(item, str) and item not in field.enum_type.values_by_name:
                    yield place, item
            elif _is_closed(field) and isinstance(item, dict):
                yield from _unknown_words(item, field.message_type, place)


def _is_closed(field: Field) -> bool:
    """Return whether a member holds an object of which A2A knows all members."""
    is_object = field.type == FieldDescriptor.TYPE_MESSAGE
    return is_object and str(field.message_type.full_name).startswith(_CLOSED)


def _restore_open(members: Json, value: Mapping[str, Any], descriptor: Descriptor) -> None:
    """Put open JSON back as it was sent."""
    for field, member in _members(value, descriptor):
        name = field.json_name
        if name not in members or field.type != FieldDescriptor.TYPE_MESSAGE:
            continue
        if field.message_type.full_name in _OPEN:
            members[name] = member
        elif _is_closed(field):
            items = zip(_items(field, members[name]), _items(field, member), strict=True)
            for item, sent in items:
                _restore_open(item, sent, field.message_type)
