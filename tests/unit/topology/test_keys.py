"""Keys and partitions."""

from __future__ import annotations

from string import ascii_letters, digits
from urllib.parse import unquote

import pytest
from aiokafka.partitioner import murmur2 as reference_murmur2
from hypothesis import given
from hypothesis import strategies as st

from topology import topics
from topology.declarations import Topic
from topology.keys import (
    KeyUnknown,
    composite,
    key_of,
    murmur2,
    partition_of,
    saop_task_key,
    sap_key,
    sap_version,
    split,
)

# The vectors of Kafka's own test of its Java implementation, as signed 32-bit numbers.
JAVA_VECTORS = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize(("key", "signed"), JAVA_VECTORS.items())
def test_murmur2_gives_what_java_gives(key: bytes, signed: int) -> None:
    assert murmur2(key) == signed & 0xFFFFFFFF


@given(st.binary(max_size=200))
def test_murmur2_agrees_with_the_python_client(key: bytes) -> None:
    assert murmur2(key) == reference_murmur2(key) & 0xFFFFFFFF


@given(st.binary(max_size=64), st.integers(1, 64))
def test_a_partition_is_the_one_that_the_python_client_chooses(key: bytes, count: int) -> None:
    assert partition_of(key, count) == (reference_murmur2(key) & 0x7FFFFFFF) % count


@given(st.lists(st.text(), min_size=1, max_size=5))
def test_a_composite_key_is_split_into_the_parts_it_was_made_of(parts: list[str]) -> None:
    assert split(composite(*parts)) == parts


@given(st.lists(st.text(alphabet="a/%2F5", max_size=4), min_size=1, max_size=4))
def test_no_two_lists_of_parts_have_one_key(parts: list[str]) -> None:
    assert split(composite(*parts)) == parts


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=4))
def test_the_parts_of_a_sap_key_are_percent_encoded(parts: list[str]) -> None:
    key = sap_key(*parts)
    assert [unquote(part) for part in key.split("/")] == parts
    assert set(key) <= set(ascii_letters + digits + "._~-%/")


def test_a_part_of_a_sap_key_that_is_null_is_empty() -> None:
    assert sap_key("c", None, sap_version(1)) == "c//00000001"


def test_slash_and_percent_in_a_part_are_escaped() -> None:
    assert composite("a/b", "50%") == "a%2Fb/50%25"
    assert composite("%2F") == "%252F"


def test_a_task_of_another_protocol_has_a_key_of_its_own() -> None:
    assert saop_task_key("s", "t") == "s/t"
    assert saop_task_key("s", "t", "apc") == "s/apc:t"
    assert saop_task_key("s/1", "t", "apc") == "s%2F1/apc:t"


THROTTLE = {
    "session_id": "s",
    "run_id": "r/1",
    "generation": 14,
    "protocol_id": "px",
    "from_swarm": "sw",
}
PARENT = {"id": "e/1", "correlation_id": None}
TASK = {"task_id": "t/1"}
CALL = {"request_id": "r/1"}
BY_PAYLOAD = [
    ("TaskRequest", {}, "e/1"),
    ("TaskResponse", TASK, "t/1"),
    ("TaskUpdate", TASK, "t/1"),
    ("TaskCancel", TASK, "t/1"),
    ("MessageSend", TASK, "t/1"),
    ("StateQuery", TASK, "t/1"),
    ("StateRestore", TASK, "t/1"),
    ("ArtifactNotify", TASK, "t/1"),
    ("McpToolCall", CALL, "r/1"),
    ("McpToolResult", CALL, "r/1"),
    ("McpResourceFetch", {}, "e/1"),
]
"""The table of asap 5.1, of envelopes without correlation_id."""
BY_CORRELATION = {"TaskResponse", "TaskUpdate", "McpResourceData"}
CASES = [
    (topics.APC_PACKETS, {"trace": {"session_id": "s/1"}}, "s/1"),
    (topics.APC_EVENTS, {"session_id": "s"}, "s"),
    (topics.APC_INBOX, {"recipient_agent_id": "planner"}, "planner"),
    (topics.APC_PACKET_STATES, {"session_id": "s/1", "packet_id": "p"}, "s%2F1/p"),
    (topics.APC_COORDINATION, {"session_id": "s/1", "agent_id": None}, "s%2F1"),
    (topics.APC_COORDINATION, {"session_id": "s"}, "s"),
    (topics.APC_COORDINATION, {"session_id": "s", "agent_id": "a"}, "s/a"),
    (topics.APC_THROTTLING, THROTTLE, "s/r%2F1/14/px/sw"),
    (topics.APC_TRANSFERS, {"protocol_id": "p/x"}, "p/x"),
    (topics.APC_DECISIONS, {"protocol_id": "p/x"}, "p/x"),
    (topics.APC_LINEAGE, {"protocol_id": "p/x", "run_id": None}, "p%2Fx"),
    (topics.APC_LINEAGE, {"protocol_id": "p", "run_id": "r"}, "p/r"),
    (topics.LINEAGE_EDGES, {"edge_id": "00ff"}, "00ff"),
    (topics.RTES_RAW, {"session_id": ""}, ""),
    (topics.RTES_EVENTS, {"session_id": "s"}, "s"),
    (topics.RTES_REJECTIONS, {"session_id": "s"}, "s"),
    (topics.SAOP_TASKS, {"session_id": "s", "task_id": "t", "origin": None}, "s/t"),
    (topics.SAOP_TASKS, {"session_id": "s", "task_id": "t", "origin": "apc"}, "s/apc:t"),
    (topics.SAOP_TURNS, {"metadata": {"task_id": "t/1"}}, "t/1"),
    (topics.SAOP_VERDICTS, {"task_id": ""}, ""),
    (topics.SAOP_LOG, {"turn": {"metadata": {"task_id": "t"}}}, "t"),
    (topics.SAOP_ESCALATIONS, {"task_id": "t", "session_id": "s"}, "t"),
    (topics.SAOP_REWINDS, {"session_id": "s/1", "task_id": "t"}, "s/1"),
    (topics.SAOP_REWIND_LOG, {"session_id": "s"}, "s"),
    (topics.SAOP_TASK_SIGNALS, {"task_id": "t", "session_id": "s"}, "t"),
    (topics.SAP_TASKS, {"taskId": "ABCD-1"}, "abcd-1"),
    (topics.SAP_RESULTS, {"taskId": "ABCD-1"}, "abcd-1"),
    (topics.SAP_SIGNALS, {"taskId": "ABCD-1", "signalId": "s"}, "abcd-1"),
    (topics.SAP_ACKS, {"taskId": "ABCD-1"}, "abcd-1"),
    (topics.SAP_ACKS, {"taskId": None}, "-"),
    (topics.SAP_OUTCOMES, {"taskId": "t"}, "t"),
    (topics.SAP_VERDICTS, {"taskId": "T", "cacheKey": "k"}, "t"),
    (topics.SAP_TASK_STATES, {"taskId": "T"}, "t"),
    (topics.SAP_INBOX, {"target": {"agentId": "A 1/x", "capability": "c"}}, "A 1/x"),
    (topics.SAP_INBOX, {"target": {"agentId": None, "capability": "c"}}, "c"),
    (topics.SAP_INBOX, {"target": {"capability": "a.b"}}, "a.b"),
    (topics.SAP_LOOKUPS, {"cacheKey": "k", "taskId": "t"}, "k"),
    (topics.SAP_CACHE, {"cacheKey": "k", "version": 3}, "k/00000003"),
    (topics.SAP_LEARNING_SIGNALS, {"capability": "a.b"}, "a.b"),
    (
        topics.SAP_LEARNING,
        {"capability": "report.summarise", "territory": None, "fingerprint": "e0.72"},
        "report.summarise//e0.72",
    ),
    (
        topics.SAP_KNOWLEDGE,
        {"capability": "c", "territory": "Nord/Süd ~1", "fingerprint": "e0.7"},
        "c/Nord%2FS%C3%BCd%20~1/e0.7",
    ),
    (topics.SAP_HEURISTICS, {"capability": "a.b", "version": 123456789}, "a.b/123456789"),
    (topics.ASAP_MANIFESTS, {"id": "urn:asap:agent:a"}, "urn:asap:agent:a"),
    (topics.ASAP_INBOX, {"recipient": "urn:asap:agent:a"}, "urn:asap:agent:a"),
    (topics.ASAP_TASKS, {"task_id": "t/1"}, "t%2F1"),
    (topics.ASAP_SNAPSHOTS, {"task_id": "t/1", "version": 12}, "t%2F1/12"),
    *(
        (topics.ASAP_ENVELOPES, {**PARENT, "payload_type": kind, "payload": payload}, key)
        for kind, payload, key in BY_PAYLOAD
    ),
    *(
        (
            topics.ASAP_ENVELOPES,
            {**PARENT, "correlation_id": "c/1", "payload_type": kind, "payload": payload},
            "c/1" if kind in BY_CORRELATION else key,
        )
        for kind, payload, key in [*BY_PAYLOAD, ("McpResourceData", {}, "c/1")]
    ),
    (
        topics.ASAP_ENVELOPES,
        {**PARENT, "correlation_id": "", "payload_type": "task.update", "payload": TASK},
        "t/1",
    ),
    (topics.SUMMIT_MANIFESTS, {"metadata": {"name": "word-stats"}}, "word-stats"),
    (topics.SUMMIT_CALLS, {"params": {"runId": "r", "agentId": "a"}}, "r"),
    (topics.SUMMIT_CALLS, {"params": ("a record", {"runId": "r", "agentId": "a"})}, "r"),
    (topics.SUMMIT_INBOX, {"params": ("a record", {"runId": "r", "agentId": "a"})}, "a"),
    (topics.SUMMIT_REPLIES, {"runId": "r", "agentId": "a"}, "r"),
    (topics.SUMMIT_RUNS, {"runId": "r", "agentId": "a"}, "r"),
]


@pytest.mark.parametrize(("topic", "value", "key"), CASES)
def test_the_key_of_a_value(topic: Topic, value: object, key: str) -> None:
    assert key_of(topic, value) == key


@pytest.mark.parametrize(
    ("topic", "value"),
    [
        (topics.APC_PACKETS, {}),
        (topics.APC_PACKETS, {"trace": "s"}),
        (topics.APC_PACKETS, {"trace": {"session_id": 7}}),
        (topics.APC_PACKETS, ["trace"]),
        (topics.APC_COORDINATION, {"session_id": "s", "agent_id": 7}),
        (topics.RTES_REJECTIONS, {"session_id": None}),
        (topics.SAOP_TURNS, {"metadata": {"task_id": 7}}),
        (topics.SAOP_TURNS, {"task_id": "t"}),
        (topics.SUMMIT_CALLS, {"params": {"runId": 7}}),
        (topics.SUMMIT_CALLS, {"params": "r"}),
        (topics.SUMMIT_MANIFESTS, {"name": "word-stats"}),
        (topics.SAOP_VERDICTS, {"task_id": None}),
        (topics.SAOP_REWINDS, {"task_id": "t"}),
        (topics.APC_THROTTLING, {**THROTTLE, "generation": "14"}),
        (topics.APC_THROTTLING, {**THROTTLE, "from_swarm": None}),
        (topics.SAP_TASKS, {"taskId": 7}),
        (topics.SAP_INBOX, {"target": {"agentId": 7, "capability": "c"}}),
        (topics.SAP_INBOX, {"target": None}),
        (topics.SAP_CACHE, {"cacheKey": "k", "version": "3"}),
        (topics.SAP_LEARNING, {"capability": "c", "territory": 7, "fingerprint": "f"}),
        (topics.ASAP_ENVELOPES, {"payload_type": "TaskRequest", "payload": {}}),
        (topics.ASAP_SNAPSHOTS, {"task_id": "t", "version": None}),
        (topics.ASAP_EVENTS, {"task_id": "t"}),
        (topics.ASAP_LINKS, {"from_key": "t"}),
        (topics.CHANGELOG, {"session_id": "s"}),
        (topics.APC_PACKETS_DLQ, {"trace": {"session_id": "s"}}),
    ],
)
def test_a_value_without_what_the_key_is_made_of_is_refused(topic: Topic, value: object) -> None:
    with pytest.raises(KeyUnknown):
        key_of(topic, value)
