"""Who may do what on Kafka follows from what the topics are for."""

from __future__ import annotations

import pytest

from streams.ops.acls import grants_of, script
from topology import processors, topics
from topology.acls import Operation, Pattern, Permission, Resource, Role, permissions_of
from topology.core import CHANGELOG, LINEAGE_EDGES, RTES_RAW, TRANSPARENCY
from topology.declarations import Topic, TopicKind

READ, WRITE = Operation.READ, Operation.WRITE


def may(role: Role, operation: Operation) -> set[Topic]:
    entries = [
        a
        for a in permissions_of(role)
        if a.resource is Resource.TOPIC and operation in a.operations
    ]
    by_name = {topic.name: topic for topic in topics.EVERY}
    return {by_name[a.name] for a in entries}


def of_kind(*kinds: TopicKind) -> set[Topic]:
    return {topic for topic in topics.ALL if topic.kind in kinds}


def test_only_the_service_decides() -> None:
    decided = of_kind(TopicKind.FACT, TopicKind.INBOX, TopicKind.TABLE, TopicKind.DEAD_LETTER)
    assert decided <= may(Role.SERVICE, WRITE)
    for role in set(Role) - {Role.SERVICE}:
        assert not decided & may(role, WRITE), role


def test_whose_records_say_on_whose_behalf_is_for_the_service_and_the_gateway() -> None:
    collectors = of_kind(TopicKind.COLLECTOR)
    writers = {topic: {r for r in Role if topic in may(r, WRITE)} for topic in collectors}
    assert writers == {
        RTES_RAW: {Role.SERVICE, Role.GATEWAY},
        LINEAGE_EDGES: {Role.SERVICE},
    }


def test_workers_may_do_what_their_processors_declare() -> None:
    inputs = {topic for p in processors.ALL for topic in p.inputs}
    outputs = {topic for p in processors.ALL for topic in p.outputs}
    assert inputs <= may(Role.SERVICE, READ)
    assert outputs <= may(Role.SERVICE, WRITE)
    assert not of_kind(TopicKind.COMMAND) & may(Role.SERVICE, WRITE)
    tables = {t.topic for p in processors.ALL for t in p.tables if t.topic is not None}
    assert {*tables, CHANGELOG} <= may(Role.SERVICE, READ) & may(Role.SERVICE, WRITE)


def test_agents_send_commands_but_not_the_operators_and_read_inboxes_only() -> None:
    assert may(Role.AGENT, READ) == of_kind(TopicKind.INBOX)
    assert may(Role.AGENT, WRITE) == of_kind(TopicKind.COMMAND) - {
        t for t in topics.ALL if t.operators_only
    }


def test_secrets_are_read_by_the_service_and_operators_only() -> None:
    secret = {topic for topic in topics.ALL if topic.secret}
    assert secret
    for role in (Role.GATEWAY, Role.AGENT, Role.READER):
        assert not secret & may(role, READ), role


def test_the_auditor_alone_writes_the_transparency_log_and_reads_what_has_entries() -> None:
    assert may(Role.AUDITOR, WRITE) == set(TRANSPARENCY)
    for role in set(Role) - {Role.AUDITOR}:
        assert not may(role, WRITE) & set(TRANSPARENCY), role
    assert may(Role.AUDITOR, READ) == of_kind(TopicKind.FACT, TopicKind.AUDIT) | set(TRANSPARENCY)
    assert set(TRANSPARENCY) <= may(Role.OPERATOR, Operation.CREATE)


def test_gateways_may_ask_for_the_offsets_of_every_topic() -> None:
    seen = {
        topic for each in (READ, WRITE, Operation.DESCRIBE) for topic in may(Role.GATEWAY, each)
    }
    assert seen == set(topics.EVERY)


def test_readers_write_nothing() -> None:
    assert may(Role.READER, WRITE) == set()
    assert may(Role.READER, READ) == may(Role.GATEWAY, READ) - of_kind(TopicKind.DOOR)


def test_what_doors_keep_is_for_gateways_and_read_by_operators() -> None:
    door = of_kind(TopicKind.DOOR)
    assert door
    assert {role for role in Role if may(role, WRITE) & door} == {Role.GATEWAY}
    assert {role for role in Role if may(role, READ) & door} == {Role.GATEWAY, Role.OPERATOR}
    assert door <= may(Role.GATEWAY, WRITE) & may(Role.GATEWAY, READ) & may(Role.OPERATOR, READ)


@pytest.mark.parametrize("topic", topics.ALL, ids=lambda topic: topic.name)
def test_every_topic_has_a_role_that_writes_it_and_one_that_reads_it(topic: Topic) -> None:
    for operation in (READ, WRITE):
        assert [role for role in Role if topic in may(role, operation)], operation


@pytest.mark.parametrize("role", Role)
def test_every_name_begins_with_the_prefix_and_is_allowed_once(role: Role) -> None:
    permissions = permissions_of(role, "acme.")
    assert all(each.name.startswith("acme.") for each in permissions)
    assert len({(each.resource, each.pattern, each.name) for each in permissions}) == len(
        permissions
    )
    assert all(each.operations for each in permissions)


def test_groups_and_transactions_are_those_that_the_code_uses() -> None:
    groups = {
        r: {a[2:] for a in permissions_of(r) if a.resource is not Resource.TOPIC} for r in Role
    }
    reader = (Pattern.LITERAL, "headrace-reader", (Operation.DESCRIBE,))
    transactions = (Pattern.PREFIXED, "headrace-", (WRITE,))
    assert groups == {
        Role.SERVICE: {(Pattern.LITERAL, "headrace", (READ,)), transactions, reader},
        Role.GATEWAY: {
            (Pattern.LITERAL, "headrace", (Operation.DESCRIBE,)),
            (Pattern.LITERAL, "headrace-redrive", (WRITE,)),
            (Pattern.LITERAL, "headrace-push", (READ,)),
            reader,
        },
        Role.AGENT: {(Pattern.PREFIXED, "summit-agent.", (READ,)), reader},
        Role.READER: {(Pattern.PREFIXED, "headrace-otlp", (READ,)), reader},
        Role.OPERATOR: {
            (Pattern.LITERAL, "headrace", (Operation.DESCRIBE,)),
            transactions,
            reader,
        },
        Role.AUDITOR: {(Pattern.LITERAL, "headrace-audit", (WRITE,)), reader},
    }


def test_a_script_says_the_same() -> None:
    (first, *_) = script(grants_of({Role.OPERATOR: ["User:o b"]}, "acme."), "kafka:9092")
    assert first == (
        "kafka-acls.sh --bootstrap-server kafka:9092 --add --allow-principal 'User:o b'"
        " --operation Read --operation Write --operation Create --operation DescribeConfigs"
        " --topic acme.apc.packets"
    )
    grants = grants_of({Role.AGENT: ["User:a"]}, "")
    prefixed = [line for line in script(grants, "k:1") if "prefixed" in line]
    assert prefixed == [
        "kafka-acls.sh --bootstrap-server k:1 --add --allow-principal User:a --operation Read"
        " --group summit-agent. --resource-pattern-type prefixed"
    ]


def test_a_principal_with_two_roles_has_the_rights_of_both() -> None:
    grants = grants_of({Role.AGENT: ["User:a", "User:a"], Role.READER: ["User:a"]}, "")
    both: list[Permission] = [*permissions_of(Role.AGENT), *permissions_of(Role.READER)]
    assert [grant.what for grant in grants] == both
