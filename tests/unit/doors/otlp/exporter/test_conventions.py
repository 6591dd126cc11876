"""The file of conventions fits the topology and the conventions of OpenTelemetry."""

from __future__ import annotations

from importlib.metadata import version
from importlib.resources import files
from typing import Any

import pytest
from opentelemetry.semconv._incubating.attributes import (
    gen_ai_attributes,
    messaging_attributes,
    session_attributes,
)
from opentelemetry.semconv.attributes import error_attributes
from opentelemetry.semconv.schemas import Schemas

from streams.doors.otlp.exporter.conventions import (
    OUTGOING,
    AttributeNames,
    member_at,
    parse,
    projection_of,
)
from streams.doors.otlp.exporter.spans import is_exported
from topology.declarations import Topic, TopicKind
from topology.topics import ALL, BY_NAME

TEXT = files("topology").joinpath("otel/outgoing.toml").read_text("utf-8")
OWN = ("headrace.", "openinference.")
EXPORTED = [topic for topic in ALL if is_exported(topic)]


def test_the_file_lists_every_topic_whose_values_are_read() -> None:
    listed = {*OUTGOING.topics, OUTGOING.tools.topic}
    assert listed == {each.name for each in EXPORTED if each.kind is not TopicKind.DEAD_LETTER}
    assert set(BY_NAME) >= OUTGOING.omitted


@pytest.mark.parametrize("topic", EXPORTED, ids=lambda topic: topic.name)
def test_the_members_of_a_topic_exist(topic: Topic) -> None:
    members = OUTGOING.tools if topic.name == OUTGOING.tools.topic else OUTGOING.members_of(topic)
    assert (projection_of(topic) is None) == (not list(members.paths()))


def test_names_are_those_of_the_version_that_the_file_names() -> None:
    known = {
        value
        for module in (
            error_attributes,
            gen_ai_attributes,
            messaging_attributes,
            session_attributes,
        )
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, str)
    }
    exported = {
        name
        for member in AttributeNames.model_fields
        for name in getattr(OUTGOING.attributes, member)
    }
    assert {name for name in exported if not name.startswith(OWN)} <= known
    package = "opentelemetry-semantic-conventions"
    assert OUTGOING.checked == (f"{package} {version(package)}",)
    assert OUTGOING.schema_url == Schemas.V1_44_0.value


def test_a_renamed_attribute_is_an_edit_of_the_file() -> None:
    changed = parse(TEXT.replace('"gen_ai.tool.name"', '"gen_ai.tool", "tool.name"'))
    attributes = changed.attributes.attributes(tool="pytest", fault=None, rule="")
    assert attributes == {"gen_ai.tool": "pytest", "tool.name": "pytest"}


@pytest.mark.parametrize("more", ["extra = 1\n", "omitted = 3\n"])
def test_a_file_that_says_something_else_is_refused(more: str) -> None:
    with pytest.raises(ValueError, match=r"extra|omitted|overwrite"):
        parse(more + TEXT)


@pytest.mark.parametrize(
    ("value", "path", "member"),
    [
        ({"a": {"b": 1}}, "a/b", 1),
        ({"a": ("of.Record", {"b": 1})}, "a/Record/b", 1),
        ({"a": ("of.Other", {})}, "a/Record/b", None),
        ({"a": None}, "a/b", None),
        (None, "a", None),
        ({"a": 1}, None, None),
    ],
)
def test_a_member_is_found_by_its_path(value: Any, path: str | None, member: Any) -> None:
    assert member_at(value, path) == member
