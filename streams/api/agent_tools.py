"""The tools that registered agents of a protocol offer, for doors that show them to others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from streams.settings.service import ServiceSettings
from streams.views.reads import ReadOnlyStore
from topology.declarations import Topic

Json = dict[str, Any]


class AgentTool(NamedTuple):
    """A tool of an agent, or the agent itself.

    name: of the tool; None for the agent, which is called by its inputs.
    takes, returns: the JSON Schemas of the arguments and of the output, if there is one.
    annotations: what a bridged server says of the tool, as MCP has it; None where it says nothing.
    """

    agent_id: str
    version: str
    manifest_hash: str
    name: str | None
    description: str
    takes: Json
    returns: Json | None
    annotations: Json | None = None


class CallContext(NamedTuple):
    """The wishes of a caller about the run that it makes."""

    run_id: str
    parent_run_id: str | None = None
    trace_id: str | None = None
    budget: Mapping[str, Any] | None = None


class AgentTools(NamedTuple):
    """The tools of a protocol's agents.

    topic: of the calls.  list: the tools of registered agents, by agent, the agent itself first.
    call: makes the envelope of a call.  cancel: makes that which cancels a run, with a reason.
    node: the node of a run, whose outcome is the answer.
    about: what is known of a run that has ended: its status, metrics, provenance, evidence, and
    the verification if there is one.
    is_bridged: whether a run is a call of a real MCP server's tool, whose result is the output.
    manifest: the node of the manifest that declares a tool.
    changes: a record of this topic is written when an agent is registered, changed or withdrawn.
    wait_s: how long a call waits for it; takes what the caller wishes, in seconds.
    """

    topic: Topic
    list: Callable[[ReadOnlyStore], Iterable[AgentTool]]
    call: Callable[[AgentTool, Mapping[str, Any], CallContext], Json]
    cancel: Callable[[str, str], Json]
    node: Callable[[str], str]
    about: Callable[[ReadOnlyStore, str], Json]
    is_bridged: Callable[[ReadOnlyStore, str], bool]
    manifest: Callable[[AgentTool], str]
    changes: Topic
    wait_s: Callable[[ServiceSettings, float | None], float]
