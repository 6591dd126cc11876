"""Tests of the doctor's check of who may write facts and tables."""

from __future__ import annotations

import pytest

from streams.engine.kafka_admin import WriteGrant
from streams.ops.doctor.findings import Check, Level
from streams.ops.doctor.writers import check_writers
from topology.acls import Resource

SERVICE = [
    WriteGrant("User:worker", Resource.TRANSACTIONAL_ID, True, "acme.headrace-"),
    WriteGrant("User:worker", Resource.TOPIC, False, "acme.apc.events"),
    WriteGrant("User:worker", Resource.TOPIC, False, "acme.sap.cache"),
]
SENDER = WriteGrant("User:alice", Resource.TOPIC, False, "acme.apc.packets")


def check(*grants: WriteGrant) -> Check:
    (finding,) = check_writers([*SERVICE, *grants], "acme.")
    return finding


def test_workers_write_facts_and_agents_write_commands() -> None:
    assert check(SENDER).level is Level.OK


@pytest.mark.parametrize(
    ("is_prefix", "name", "topic"),
    [
        (False, "acme.sap.cache", "acme.sap.cache"),
        (False, "*", "acme.apc.events"),
        (True, "acme.sap.", "acme.sap.acks"),
        (True, "", "acme.apc.events"),
        (True, "acme.headrace.", "acme.headrace.changelog"),
    ],
)
def test_another_writer_is_named(is_prefix: bool, name: str, topic: str) -> None:
    finding = check(WriteGrant("User:mallory", Resource.TOPIC, is_prefix, name))
    assert finding.level is Level.WARN
    assert finding.said.endswith(f"the first is User:mallory, on {topic}")


def test_the_ids_of_another_environment_make_nobody_a_worker() -> None:
    other = WriteGrant("User:mallory", Resource.TRANSACTIONAL_ID, True, "other.headrace-")
    topic = WriteGrant("User:mallory", Resource.TOPIC, False, "acme.apc.events")
    assert "User:mallory" in check(other, topic).said
