"""Keys and partitions."""

from __future__ import annotations

from string import ascii_letters, digits
from urllib.parse import unquote

import pytest
from aiokafka.partitioner import murmur2 as reference_murmur2
from hypothesis import given
from hypothesis import strategies as st

from topology.apc import (
    APC_COORDINATION,
    APC_DECISIONS,
    APC_EVENTS,
    APC_INBOX,
    APC_LINEAGE,
    APC_OUTCOMES,
    APC_PACKET_STATES,
    APC_PACKETS,
    APC_PACKETS_DLQ,
    APC_PRIORS,
    APC_THROTTLING,
    APC_TRANSFERS,
)
from topology.asap import (
    ASAP_ENVELOPES,
    ASAP_EVENTS,
    ASAP_INBOX,
    ASAP_LINKS,
    ASAP_MANIFESTS,
    ASAP_SNAPSHOTS,
    ASAP_TASKS,
)
from topology.core import CHANGELOG, LINEAGE_EDGES, RTES_RAW
from topology.declarations import Topic
from topology.keys import KeyUnknown, composite, key_of, murmur2, partition_of, split
from topology.saop import (
    RTES_EVENTS,
    RTES_REJECTIONS,
    SAOP_CONTROL_LOG,
    SAOP_CONTROLS,
    SAOP_ESCALATIONS,
    SAOP_LOG,
    SAOP_REWIND_LOG,
    SAOP_REWINDS,
    SAOP_TASK_SIGNALS,
    SAOP_TASKS,
    SAOP_TURNS,
    SAOP_VERDICTS,
    saop_task_key,
)
from topology.sap import (
    SAP_ACKS,
    SAP_CACHE,
    SAP_HEURISTICS,
    SAP_INBOX,
    SAP_KNOWLEDGE,
    SAP_LEARNING,
    SAP_LEARNING_SIGNALS,
    SAP_LOOKUPS,
    SAP_OUTCOMES,
    SAP_RESULTS,
    SAP_SIGNALS,
    SAP_TASK_STATES,
    SAP_TASKS,
    SAP_VERDICTS,
    sap_key,
    sap_version,
)
from topology.summit import (
    SUMMIT_CALLS,
    SUMMIT_INBOX,
    SUMMIT_MANIFESTS,
    SUMMIT_REPLIES,
    SUMMIT_RUNS,
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
    (APC_PACKETS, {"trace": {"session_id": "s/1"}}, "s/1"),
    (APC_EVENTS, {"session_id": "s"}, "s"),
    (APC_INBOX, {"recipient_agent_id": "planner"}, "planner"),
    (APC_PACKET_STATES, {"session_id": "s/1", "packet_id": "p"}, "s%2F1/p"),
    (APC_COORDINATION, {"session_id": "s/1", "agent_id": None}, "s%2F1"),
    (APC_COORDINATION, {"session_id": "s"}, "s"),
    (APC_COORDINATION, {"session_id": "s", "agent_id": "a"}, "s/a"),
    (APC_THROTTLING, THROTTLE, "s/r%2F1/14/px/sw"),
    (APC_TRANSFERS, {"protocol_id": "p/x"}, "p/x"),
    (APC_DECISIONS, {"protocol_id": "p/x"}, "p/x"),
    (APC_LINEAGE, {"protocol_id": "p/x", "run_id": None}, "p%2Fx"),
    (APC_LINEAGE, {"protocol_id": "p", "run_id": "r"}, "p/r"),
    (APC_OUTCOMES, {"use_case": "-", "kind": "method", "strategy": "m/1"}, "-/method/m%2F1"),
    (APC_PRIORS, {"use_case": "u/1", "kind": "protocol", "strategy": "px"}, "u%2F1/protocol/px"),
    (LINEAGE_EDGES, {"edge_id": "00ff"}, "00ff"),
    (RTES_RAW, {"session_id": ""}, ""),
    (RTES_EVENTS, {"session_id": "s"}, "s"),
    (RTES_REJECTIONS, {"session_id": "s"}, "s"),
    (SAOP_TASKS, {"session_id": "s", "task_id": "t", "origin": None}, "s/t"),
    (SAOP_TASKS, {"session_id": "s", "task_id": "t", "origin": "apc"}, "s/apc:t"),
    (SAOP_TURNS, {"metadata": {"task_id": "t/1"}}, "t/1"),
    (SAOP_VERDICTS, {"task_id": ""}, ""),
    (SAOP_LOG, {"turn": {"metadata": {"task_id": "t"}}}, "t"),
    (SAOP_ESCALATIONS, {"task_id": "t", "session_id": "s"}, "t"),
    (SAOP_REWINDS, {"session_id": "s/1", "task_id": "t"}, "s/1"),
    (SAOP_CONTROLS, {"session_id": "s/1", "task_id": "t"}, "s/1"),
    (SAOP_REWIND_LOG, {"session_id": "s"}, "s"),
    (SAOP_CONTROL_LOG, {"session_id": "s"}, "s"),
    (SAOP_TASK_SIGNALS, {"task_id": "t", "session_id": "s"}, "t"),
    (SAP_TASKS, {"taskId": "ABCD-1"}, "abcd-1"),
    (SAP_RESULTS, {"taskId": "ABCD-1"}, "abcd-1"),
    (SAP_SIGNALS, {"taskId": "ABCD-1", "signalId": "s"}, "abcd-1"),
    (SAP_ACKS, {"taskId": "ABCD-1"}, "abcd-1"),
    (SAP_ACKS, {"taskId": None}, "-"),
    (SAP_OUTCOMES, {"taskId": "t"}, "t"),
    (SAP_VERDICTS, {"taskId": "T", "cacheKey": "k"}, "t"),
    (SAP_TASK_STATES, {"taskId": "T"}, "t"),
    (SAP_INBOX, {"target": {"agentId": "A 1/x", "capability": "c"}}, "A 1/x"),
    (SAP_INBOX, {"target": {"agentId": None, "capability": "c"}}, "c"),
    (SAP_INBOX, {"target": {"capability": "a.b"}}, "a.b"),
    (SAP_LOOKUPS, {"cacheKey": "k", "taskId": "t"}, "k"),
    (SAP_CACHE, {"cacheKey": "k", "version": 3}, "k/00000003"),
    (SAP_LEARNING_SIGNALS, {"capability": "a.b"}, "a.b"),
    (
        SAP_LEARNING,
        {"capability": "report.summarise", "territory": None, "fingerprint": "e0.72"},
        "report.summarise//e0.72",
    ),
    (
        SAP_KNOWLEDGE,
        {"capability": "c", "territory": "Nord/Süd ~1", "fingerprint": "e0.7"},
        "c/Nord%2FS%C3%BCd%20~1/e0.7",
    ),
    (SAP_HEURISTICS, {"capability": "a.b", "version": 123456789}, "a.b/123456789"),
    (ASAP_MANIFESTS, {"id": "urn:asap:agent:a"}, "urn:asap:agent:a"),
    (ASAP_INBOX, {"recipient": "urn:asap:agent:a"}, "urn:asap:agent:a"),
    (ASAP_TASKS, {"task_id": "t/1"}, "t%2F1"),
    (ASAP_SNAPSHOTS, {"task_id": "t/1", "version": 12}, "t%2F1/12"),
    *(
        (ASAP_ENVELOPES, {**PARENT, "payload_type": kind, "payload": payload}, key)
        for kind, payload, key in BY_PAYLOAD
    ),
    *(
        (
            ASAP_ENVELOPES,
            {**PARENT, "correlation_id": "c/1", "payload_type": kind, "payload": payload},
            "c/1" if kind in BY_CORRELATION else key,
        )
        for kind, payload, key in [*BY_PAYLOAD, ("McpResourceData", {}, "c/1")]
    ),
    (
        ASAP_ENVELOPES,
        {**PARENT, "correlation_id": "", "payload_type": "task.update", "payload": TASK},
        "t/1",
    ),
    (SUMMIT_MANIFESTS, {"metadata": {"name": "word-stats"}}, "word-stats"),
    (SUMMIT_CALLS, {"params": {"runId": "r", "agentId": "a"}}, "r"),
    (SUMMIT_CALLS, {"params": ("a record", {"runId": "r", "agentId": "a"})}, "r"),
    (SUMMIT_INBOX, {"params": ("a record", {"runId": "r", "agentId": "a"})}, "a"),
    (SUMMIT_REPLIES, {"runId": "r", "agentId": "a"}, "r"),
    (SUMMIT_RUNS, {"runId": "r", "agentId": "a"}, "r"),
]


@pytest.mark.parametrize(("topic", "value", "key"), CASES)
def test_the_key_of_a_value(topic: Topic, value: object, key: str) -> None:
    assert key_of(topic, value) == key


@pytest.mark.parametrize(
    ("topic", "value"),
    [
        (APC_PACKETS, {}),
        (APC_PACKETS, {"trace": "s"}),
        (APC_PACKETS, {"trace": {"session_id": 7}}),
        (APC_PACKETS, ["trace"]),
        (APC_COORDINATION, {"session_id": "s", "agent_id": 7}),
        (RTES_REJECTIONS, {"session_id": None}),
        (SAOP_TURNS, {"metadata": {"task_id": 7}}),
        (SAOP_TURNS, {"task_id": "t"}),
        (SUMMIT_CALLS, {"params": {"runId": 7}}),
        (SUMMIT_CALLS, {"params": "r"}),
        (SUMMIT_MANIFESTS, {"name": "word-stats"}),
        (SAOP_VERDICTS, {"task_id": None}),
        (SAOP_REWINDS, {"task_id": "t"}),
        (APC_THROTTLING, {**THROTTLE, "generation": "14"}),
        (APC_THROTTLING, {**THROTTLE, "from_swarm": None}),
        (SAP_TASKS, {"taskId": 7}),
        (SAP_INBOX, {"target": {"agentId": 7, "capability": "c"}}),
        (SAP_INBOX, {"target": None}),
        (SAP_CACHE, {"cacheKey": "k", "version": "3"}),
        (SAP_LEARNING, {"capability": "c", "territory": 7, "fingerprint": "f"}),
        (ASAP_ENVELOPES, {"payload_type": "TaskRequest", "payload": {}}),
        (ASAP_SNAPSHOTS, {"task_id": "t", "version": None}),
        (ASAP_EVENTS, {"task_id": "t"}),
        (ASAP_LINKS, {"from_key": "t"}),
        (CHANGELOG, {"session_id": "s"}),
        (APC_PACKETS_DLQ, {"trace": {"session_id": "s"}}),
    ],
)
def test_a_value_without_what_the_key_is_made_of_is_refused(topic: Topic, value: object) -> None:
    with pytest.raises(KeyUnknown):
        key_of(topic, value)
