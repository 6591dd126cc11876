"""Mermaid diagrams, drawn from the declarations."""

from __future__ import annotations

from collections.abc import Sequence

from topology.declarations import ProcessorDeclaration, Topic, TopicKind
from topology.machine import ANY, Machine, S
from topology.machines.task_profiles import Profile

_BRACKETS = {
    TopicKind.COMMAND: ("[/", "/]"),
    TopicKind.COLLECTOR: ("[/", "/]"),
    TopicKind.INTERNAL: ("[/", "/]"),
    TopicKind.TABLE: ("[(", ")]"),
    TopicKind.CHANGELOG: ("[(", ")]"),
}
"""How a topic of a kind is drawn; facts, inboxes and dead letters are plain boxes."""


def _any_label(sealed: Sequence[str]) -> str:
    return "any state" + (" but " + ", ".join(sealed) if sealed else "")


def mermaid(machine: Machine[S]) -> str:
    """Draw a state diagram with every edge of the machine; the edges of `*` start at their own
    state.
    """
    lines = ["stateDiagram-v2", f"    [*] --> {machine.initial}"]
    if any(state == ANY for state, _ in machine.edges):
        lines.append(f'    state "{_any_label(sorted(machine.sealed))}" as any_state')
    for (state, event), target in machine.edges.items():
        source = "any_state" if state == ANY else state
        lines.append(f"    {source} --> {target}: {event}")
    lines += [f"    {state} --> [*]" for state in machine.states if state in machine.terminal]
    return "\n".join(lines) + "\n"


def mermaid_profile(profile: Profile) -> str:
    """Draw a state diagram of a profile's edges, guards in brackets."""
    lines = ["stateDiagram-v2"]
    for source, target, guard in profile.edges:
        lines.append(f"    {source} --> {target}" + (f": [{guard}]" if guard else ""))
    return "\n".join(lines) + "\n"


def _node(topic: Topic) -> str:
    opening, closing = _BRACKETS.get(topic.kind, ("[", "]"))
    return f'    {_id(topic.name)}{opening}"{topic.name}"{closing}'


def _id(name: str) -> str:
    return name.replace(".", "_").replace("-", "_")


def mermaid_processors(processors: Sequence[ProcessorDeclaration]) -> str:
    """Draw a flow chart of topics and the processors that read and write them."""
    topics = dict.fromkeys(topic for p in processors for topic in (*p.inputs, *p.outputs))
    lines = ["flowchart LR", *map(_node, topics)]
    for processor in processors:
        name = f"processor_{_id(processor.name)}"
        lines.append(f'    {name}(["{processor.name}"])')
        lines += [f"    {_id(topic.name)} --> {name}" for topic in processor.inputs]
        lines += [f"    {name} --> {_id(topic.name)}" for topic in processor.outputs]
    return "\n".join(lines) + "\n"
