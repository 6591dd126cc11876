"""The Kafka roles and their ACLs, derived from the topology.

Only the service and the gateway write `rtes.raw` and `lineage.edges`, since their writer states
on whose behalf it writes (`origin`).  Only the service writes facts, inboxes and tables.  Kafka's
ACLs apply to whole topics: a reader of an inbox topic reads all agents' records in it, and a writer
of a command topic may name any sender there.  The gateway is finer: it knows the sender.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from topology import processors, topics
from topology.core import AUDIT_REDRIVES, RTES_RAW, TRANSPARENCY
from topology.declarations import Topic, TopicKind
from topology.topics import full_name

WORKERS_GROUP = "headrace"
"""The consumer group of all workers, and what their transactional ids begin with."""
READERS_GROUP = "-reader"
"""What is put behind it for who reads without joining, which Kafka's client asks about anyway."""
AGENTS_GROUPS = "summit-agent."
"""What the consumer group of an agent's processes begins with."""
PUSH_GROUP = "headrace-push"
"""The consumer group of gateways, which share the subscriptions that they post events for."""
EXPORTERS_GROUP = "headrace-otlp"
"""The consumer group of exporters of spans; what comes behind it names another backend."""


class Role(StrEnum):
    SERVICE = "service"  # workers
    GATEWAY = "gateway"  # HTTP, for whoever has a token
    AGENT = "agent"  # sends commands and reads inboxes on Kafka itself
    READER = "reader"  # reads what was decided: queries, tails, sinks
    OPERATOR = "operator"  # creates topics, sends every command, redrives, verifies
    AUDITOR = "auditor"  # writes the transparency log


class Resource(StrEnum):
    TOPIC = "topic"
    GROUP = "group"
    TRANSACTIONAL_ID = "transactional id"


class Pattern(StrEnum):
    LITERAL = "literal"
    PREFIXED = "prefixed"


class Operation(StrEnum):
    """Reading and writing a topic implies describing it: asking for its offsets."""

    READ = "read"
    WRITE = "write"
    CREATE = "create"
    DESCRIBE = "describe"
    DESCRIBE_CONFIGS = "describe configs"


class Permission(NamedTuple):
    """One role may do these things to one resource.  name: in full, prefix included."""

    role: Role
    resource: Resource
    pattern: Pattern
    name: str
    operations: tuple[Operation, ...]


def permissions_of(role: Role, prefix: str = "") -> list[Permission]:
    """Return all permissions of a role, topics in the order of their declaration."""
    every = topics.ALL if role in (Role.SERVICE, Role.AGENT) else topics.EVERY
    permissions = [
        Permission(role, Resource.TOPIC, Pattern.LITERAL, full_name(topic, prefix), operations)
        for topic in every
        if (operations := _on_topic(role, topic))
    ]
    workers_group = f"{prefix}{WORKERS_GROUP}"
    workers = _group(workers_group)
    permissions.append(
        Permission(role, *_group(f"{workers_group}{READERS_GROUP}"), (Operation.DESCRIBE,))
    )
    transactions = (
        Resource.TRANSACTIONAL_ID,
        Pattern.PREFIXED,
        f"{workers_group}-",
        (Operation.WRITE,),
    )
    match role:
        case Role.SERVICE:
            permissions.append(Permission(role, *workers, (Operation.READ,)))
            permissions.append(Permission(role, *transactions))
        case Role.GATEWAY:
            permissions.append(Permission(role, *workers, (Operation.DESCRIBE,)))
            redrive = (Resource.TRANSACTIONAL_ID, Pattern.LITERAL, f"{workers_group}-redrive")
            permissions.append(Permission(role, *redrive, (Operation.WRITE,)))
            push = _group(f"{prefix}{PUSH_GROUP}")
            permissions.append(Permission(role, *push, (Operation.READ,)))
        case Role.OPERATOR:
            permissions.append(Permission(role, *workers, (Operation.DESCRIBE,)))
            permissions.append(Permission(role, *transactions))
        case Role.AUDITOR:
            audit = (Resource.TRANSACTIONAL_ID, Pattern.LITERAL, f"{workers_group}-audit")
            permissions.append(Permission(role, *audit, (Operation.WRITE,)))
        case Role.READER:
            exporters = (Resource.GROUP, Pattern.PREFIXED, f"{prefix}{EXPORTERS_GROUP}")
            permissions.append(Permission(role, *exporters, (Operation.READ,)))
        case Role.AGENT:
            groups = (Resource.GROUP, Pattern.PREFIXED, f"{prefix}{AGENTS_GROUPS}")
            permissions.append(Permission(role, *groups, (Operation.READ,)))
    return permissions


def _group(name: str) -> tuple[Resource, Pattern, str]:
    return Resource.GROUP, Pattern.LITERAL, name


def _on_topic(role: Role, topic: Topic) -> tuple[Operation, ...]:
    may = {
        Operation.READ: _reads(role, topic),
        Operation.WRITE: _writes(role, topic),
        Operation.CREATE: role is Role.OPERATOR,
        Operation.DESCRIBE: role is Role.GATEWAY
        and not (_reads(role, topic) or _writes(role, topic)),
        Operation.DESCRIBE_CONFIGS: role is Role.OPERATOR,
    }
    return tuple(operation for operation, yes in may.items() if yes)


def _reads(role: Role, topic: Topic) -> bool:
    match role:
        case Role.SERVICE:
            return _is_read_by_workers(topic)
        case Role.GATEWAY:
            return topic.kind is TopicKind.DOOR or _is_public(topic)
        case Role.READER:
            return _is_public(topic)
        case Role.AGENT:
            return topic.kind is TopicKind.INBOX
        case Role.OPERATOR:
            return True
        case Role.AUDITOR:
            return topic.kind in (TopicKind.FACT, TopicKind.AUDIT)


def _is_public(topic: Topic) -> bool:
    hidden = (TopicKind.INTERNAL, TopicKind.CHANGELOG, TopicKind.DOOR)
    return topic.kind not in hidden and not topic.secret


def _is_read_by_workers(topic: Topic) -> bool:
    """Inputs, and what tables are restored and copied from."""
    tables = {t.topic for p in processors.ALL for t in (*p.tables, *p.global_tables)}
    return topic in processors.inputs() or topic in tables or topic.kind is TopicKind.CHANGELOG


def _writes(role: Role, topic: Topic) -> bool:
    match role:
        case Role.SERVICE:
            return bool(processors.writers_of(topic)) or topic.kind is TopicKind.DEAD_LETTER
        case Role.GATEWAY:
            is_own = topic.kind in (TopicKind.COMMAND, TopicKind.DOOR)
            return is_own or topic in (RTES_RAW, AUDIT_REDRIVES)
        case Role.AGENT:
            return topic.kind is TopicKind.COMMAND and not topic.operators_only
        case Role.READER:
            return False
        case Role.OPERATOR:
            kinds = (TopicKind.COMMAND, TopicKind.INTERNAL, TopicKind.CHANGELOG, TopicKind.AUDIT)
            return topic.kind in kinds and topic not in TRANSPARENCY
        case Role.AUDITOR:
            return topic in TRANSPARENCY
