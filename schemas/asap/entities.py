"""The entities of ASAP (ASAP guide, 2.2)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from schemas.asap.base import ASAPBaseModel, OpenObject, Urn
from schemas.asap.constants import ASAP_PROTOCOL_VERSION
from schemas.asap.enums import MessageRole, TaskStatus
from schemas.asap.parts import Item


def _check_version(text: str) -> str:
    try:
        Version(text)
    except InvalidVersion:
        raise PydanticCustomError("version", "Invalid semantic version") from None
    return text


class Agent(ASAPBaseModel):
    """An agent and what it can do."""

    id: Urn
    manifest_uri: str
    capabilities: Annotated[list[str], Field(min_length=1)]


class Skill(ASAPBaseModel):
    """Something an agent can be asked for.  The schemas are not applied."""

    id: str
    description: str
    input_schema: OpenObject | None = None
    output_schema: OpenObject | None = None


class Capability(ASAPBaseModel):
    """What an agent offers."""

    asap_version: str = ASAP_PROTOCOL_VERSION
    skills: list[Skill] = Field(default_factory=list)
    state_persistence: bool = False
    streaming: bool = False
    mcp_tools: list[str] = Field(default_factory=list)


class Endpoint(ASAPBaseModel):
    """Where an agent is reached."""

    asap: str
    events: str | None = None


class AuthScheme(ASAPBaseModel):
    """How to log in to an agent."""

    schemes: list[str]
    oauth2: OpenObject | None = None


class Manifest(ASAPBaseModel):
    """An agent as it presents itself.  version: any that PEP 440 reads.  signature: opaque."""

    id: Urn
    name: str
    version: Annotated[str, AfterValidator(_check_version)]
    description: str
    capabilities: Capability
    endpoints: Endpoint
    auth: AuthScheme | None = None
    signature: str | None = None


class Conversation(ASAPBaseModel):
    """What tasks and messages belong to."""

    id: str
    participants: Annotated[list[str], Field(min_length=1)]
    created_at: datetime
    metadata: OpenObject | None = None


class Task(ASAPBaseModel):
    """A unit of work."""

    id: str
    conversation_id: str
    parent_task_id: str | None = None
    status: TaskStatus
    progress: OpenObject | None = None
    created_at: datetime
    updated_at: datetime

    def is_terminal(self) -> bool:
        return self.status.is_terminal()

    def can_be_cancelled(self) -> bool:
        return not self.is_terminal()


class Message(ASAPBaseModel):
    """What one agent said to another."""

    id: str
    task_id: str
    sender: str
    role: MessageRole
    parts: list[Item]
    timestamp: datetime


class Artifact(ASAPBaseModel):
    """What a task has made."""

    id: str
    task_id: str
    name: str
    parts: list[Item]
    created_at: datetime


class StateSnapshot(ASAPBaseModel):
    """A saved state of a task.  checkpoint: a point to return to."""

    id: str
    task_id: str
    version: Annotated[int, Field(ge=1)]
    data: OpenObject
    checkpoint: bool = False
    created_at: datetime
