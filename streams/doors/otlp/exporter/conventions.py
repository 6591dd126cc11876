"""The conventions of exported spans: `topology/otel/outgoing.toml`, read and checked once.

Source: OTel guide, 9.3.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from importlib.resources import files
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from schemas.projection import Projection
from topology.declarations import Topic

Attributes = dict[str, str | int]
Names = tuple[str, ...]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AttributeNames(_Closed):
    """The names of each attribute, none for one that is not exported."""

    system: Names
    topic: Names
    partition: Names
    offset: Names
    key: Names
    message_id: Names
    operation: Names
    session: Names
    work: Names
    agent: Names
    agent_version: Names
    tool: Names
    call_id: Names
    drawn_as: Names
    position: Names
    cause: Names
    processor: Names
    verdict: Names
    rule: Names
    fault: Names
    principal: Names
    protocol: Names
    error: Names
    governance_ref: Names

    def attributes(self, **values: str | int | None) -> Attributes:
        """Return the attributes of the values that are there, under all of their names."""
        return {
            name: value
            for member, value in values.items()
            if value is not None and value != ""
            for name in getattr(self, member)
        }


class DrawnAs(_Closed):
    """The kinds of OpenInference, by the work that a span shows."""

    process: str
    tool: str
    agent: str
    other: str


class _Paths(_Closed):
    """Paths of members in the values of one topic."""

    def paths(self) -> Iterator[str]:
        """Yield the path of each member."""
        for name in type(self).model_fields:
            value = getattr(self, name)
            if isinstance(value, str):
                yield value


class TopicMembers(_Paths):
    """The members of a topic's values, each as a path.

    kind: what names a fact without a rule.  failed: the values of `kind` that say that it failed.
    """

    session: str | None = None
    verdict: str | None = None
    rule: str | None = None
    kind: str | None = None
    fault: str | None = None
    failed: tuple[str, ...] = ()


class WorkMembers(_Paths):
    """The members of facts that end the work of an agent.

    failed: the values of `state` that say that it failed; `error` names why.  other_agent: names
    the agent where the value of `type` is one of `other_types`.
    """

    agent: str
    version: str | None = None
    state: str
    failed: tuple[str, ...]
    error: str | None = None
    type: str | None = None
    other_types: tuple[str, ...] = ()
    other_agent: str | None = None


class ToolMembers(_Paths):
    """The members of facts that are the end of a tool call.

    id: the members that identify it.  failed: the values of `status` that are no success.
    """

    topic: str
    id: tuple[str, ...]
    origin: str
    omitted_origins: tuple[str, ...]
    session: str
    tool: str
    call_id: str
    status: str
    failed: tuple[str, ...]
    ended_at: str
    duration_ms: str

    def paths(self) -> Iterator[str]:
        yield from (path for path in super().paths() if path != self.topic)
        yield from self.id


class Outgoing(_Closed):
    """All that the file says."""

    schema_url: str
    checked: Annotated[tuple[str, ...], Field(min_length=1)]
    omitted: frozenset[str]
    attributes: AttributeNames
    drawn_as: DrawnAs
    topics: Mapping[str, TopicMembers]
    work: Mapping[str, WorkMembers]
    tools: ToolMembers

    @cached_property
    def no_members(self) -> TopicMembers:
        """Return what is known of topics that the file does not list."""
        return TopicMembers()

    def members_of(self, topic: Topic) -> TopicMembers:
        return self.topics.get(topic.name, self.no_members)


def parse(text: str) -> Outgoing:
    """Parse the TOML text of the conventions; raise ValueError if it is invalid."""
    return Outgoing.model_validate(tomllib.loads(text))


OUTGOING = parse(files("topology").joinpath("otel/outgoing.toml").read_text("utf-8"))


@cache
def projection_of(topic: Topic) -> Projection | None:
    """Return the decoder of the members that spans of the topic need, None if they need none."""
    members = OUTGOING.tools if topic.name == OUTGOING.tools.topic else OUTGOING.members_of(topic)
    work = OUTGOING.work.get(topic.name)
    paths = tuple(dict.fromkeys((*members.paths(), *(() if work is None else work.paths()))))
    return Projection(topic.record, paths) if topic.record is not None and paths else None


def member_at(value: Any, path: str | None) -> Any:
    """Return the member at a path, None if it is not there."""
    for step in () if path is None else path.split("/"):
        if isinstance(value, tuple):
            record, members = value
            value = members if record.rpartition(".")[2] == step else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return None if path is None else value
