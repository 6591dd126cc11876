"""The registry of agents on the bus, and the routing of tasks to them.

A task that names an agent goes to that one; another to the first available agent, in the order of
registration, that has its capability.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any, NamedTuple, Protocol

from schemas.sap import SapTask, rules


class Handler(Protocol):
    """A function that returns a SapResult or a JSON value, or an awaitable of one."""

    def __call__(self, task: SapTask, /) -> Any: ...


@dataclass(slots=True)
class Agent:
    id: str
    capabilities: frozenset[str]
    handler: Handler
    available: bool

    @property
    def is_async(self) -> bool:
        """Return whether the handler has to be awaited."""
        return iscoroutinefunction(self.handler) or iscoroutinefunction(self.handler.__call__)


class Unroutable(NamedTuple):
    """The reason why a task cannot be routed.

    path: the member of the task that names its target.
    """

    rule: str
    path: str
    reason: str


class Agents:
    """The registered agents by id, in order of registration."""

    def __init__(self) -> None:
        self._agents: dict[str, Agent] = {}

    def add(self, id: str, capabilities: Iterable[str], handler: Handler, available: bool) -> None:
        """Register an agent.  Raises ValueError for an id that is taken."""
        if id in self._agents:
            raise ValueError(f"agent {id} is registered already")
        named = [capabilities] if isinstance(capabilities, str) else capabilities
        self._agents[id] = Agent(id, frozenset(named), handler, available)

    def set_available(self, id: str, flag: bool) -> None:
        """Set whether an agent takes tasks.  Raises KeyError for an unregistered agent."""
        self._agents[id].available = flag

    def route(self, task: Mapping[str, Any]) -> Agent | Unroutable:
        """Return the agent that gets a valid task now, or the reason why none does."""
        target = task["target"]
        capability, named = target["capability"], target.get("agentId")
        path = "/target/capability" if named is None else "/target/agentId"
        if named is not None and named not in self._agents:
            return Unroutable(rules.UNKNOWN_DESTINATION.code, path, f"Unknown destination: {named}")
        known = self._agents.values() if named is None else [self._agents[named]]
        able = [agent for agent in known if capability in agent.capabilities]
        if not able:
            who = "no agent has" if named is None else f"{named} does not have"
            reason = f"No handler: {who} the capability {capability}"
            return Unroutable(rules.NO_HANDLER.code, "/target/capability", reason)
        recipient = next((agent for agent in able if agent.available), None)
        if recipient is None:
            whom = named or f"no agent with the capability {capability}"
            reason = f"Destination not available: {whom}"
            return Unroutable(rules.DESTINATION_UNAVAILABLE.code, path, reason)
        return recipient
