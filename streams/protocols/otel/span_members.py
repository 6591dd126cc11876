"""The dialect, the type and the members of a span (OTel guide, 4).

Pure functions of the JSON form of a masked OtelSpan that breaks no rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from schemas import ShapeError, parse_ijson
from schemas.formats import MAX_ID
from schemas.members import is_open_object
from streams.protocols.otel.conventions import CONVENTIONS, Source, TextSource

NO_DIALECT = "none"
UNKNOWN_AGENT = "unknown"
_MEMBERS = CONVENTIONS.members
Json = Mapping[str, Any]


class SpanMembers(NamedTuple):
    """The members of a span.

    type: model, tool, task or other.  session_id: as the span itself names it.
    """

    type: str
    dialect: str
    session_id: str | None
    agent: str
    tool: str | None
    model: str | None
    provider: str | None
    input_tokens: int | None
    output_tokens: int | None
    failed: bool


def members_of(span: Json) -> SpanMembers:
    """Return the members of a span."""
    dialect, span_type = _classify(span)
    return SpanMembers(
        type=span_type,
        dialect=dialect,
        session_id=session_of(span),
        agent=_text(_MEMBERS.agent, span, span_type) or UNKNOWN_AGENT,
        tool=_text(_MEMBERS.tool, span, span_type) or "" if span_type == "tool" else None,
        model=_text(_MEMBERS.model, span, span_type),
        provider=_text(_MEMBERS.provider, span, span_type),
        input_tokens=_count(_MEMBERS.input_tokens, span, span_type),
        output_tokens=_count(_MEMBERS.output_tokens, span, span_type),
        failed=span["status"] == "ERROR" or _error(span) is not None,
    )


def session_of(span: Json) -> str | None:
    """Return the session that a span names, if it can be the id of one.

    span: has `name`, `attributes` and `resource`.
    """
    ids = (source.value(span, "") for source in _MEMBERS.session_id)
    fitting = (id for id in ids if isinstance(id, str) and 0 < len(id) <= MAX_ID)
    return next(fitting, None)


def has_timed_out(span: Json) -> bool:
    """Return whether the error of a failed span is a timeout."""
    error = _error(span)
    return isinstance(error, str) and "timeout" in error.lower()


def arguments_of(span: Json) -> dict[str, Any]:
    """Return the arguments of a tool's span: an object; what is none is its member `input`."""
    value = next(_values(_MEMBERS.arguments, span, "tool"), None)
    if value is None:
        return {}
    parsed = _parsed(value)
    return parsed if is_open_object(parsed) is None else {"input": value}


def answer_of(span: Json) -> str:
    """Return the text that a model answered; several are joined by a line feed."""
    texts = (list(_texts(source, span["attributes"])) for source in CONVENTIONS.text)
    return "\n".join(next(filter(None, texts), []))


def _classify(span: Json) -> tuple[str, str]:
    """Return the dialect of a span, and its type."""
    attributes = span["attributes"]
    dialect = next((each for each in CONVENTIONS.dialect if each.is_of(attributes)), None)
    named = None if dialect is None else dialect.type_of(attributes)
    default = "task" if span.get("parent_span_id") is None else "other"
    return NO_DIALECT if dialect is None else dialect.name, named or default


def _values(sources: tuple[Source, ...], span: Json, span_type: str) -> Iterator[Any]:
    """Yield the values that are there, in the order of the sources."""
    values = (source.value(span, span_type) for source in sources)
    return (value for value in values if value is not None)


def _text(sources: tuple[Source, ...], span: Json, span_type: str) -> str | None:
    texts = _values(sources, span, span_type)
    return next((text for text in texts if isinstance(text, str) and text), None)


def _count(sources: tuple[Source, ...], span: Json, span_type: str) -> int | None:
    counts = _values(sources, span, span_type)
    return next((count for count in counts if type(count) is int and count >= 0), None)


def _error(span: Json) -> Any:
    return next(_values(_MEMBERS.error, span, ""), None)


def _parsed(value: Any) -> Any:
    """Return the value of a JSON text; any other value, and any other text, unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return parse_ijson(value)
    except ShapeError:
        return value


def _texts(source: TextSource, attributes: Json) -> Iterator[str]:
    """Yield the texts of one source, in the order of their numbers."""
    if source.messages is not None:
        yield from _message_texts(_parsed(attributes.get(source.messages)))
    elif source.text is not None:
        text = attributes.get(source.text)
        is_excluded = source.unless is not None and source.unless.holds(attributes)
        if isinstance(text, str) and not is_excluded:
            yield text
    else:
        numbered = sorted(_numbered_texts(source, attributes))
        yield from (text for _, text in numbered)


def _numbered_texts(source: TextSource, attributes: Json) -> Iterator[tuple[list[int], str]]:
    patterns = source.patterns
    for name, value in attributes.items():
        for pattern in patterns:
            match = pattern.fullmatch(name)
            if match is not None and isinstance(value, str):
                yield [int(number) for number in match.groups()], value


def _message_texts(messages: Any) -> Iterator[str]:
    """Yield the texts of the parts of messages, and nothing of what has another form."""
    for message in messages if isinstance(messages, list) else ():
        parts = message.get("parts") if isinstance(message, dict) else None
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and part.get("type") == "text":
                content = part.get("content")
                if isinstance(content, str):
                    yield content
