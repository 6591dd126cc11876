"""As whom a principal may speak."""

from __future__ import annotations

from typing import Any

import pytest

from streams.access.callers import Caller, Role
from streams.errors import Forbidden
from streams.ingress.senders import SENDERS, check, fill_sender
from streams.routes.table import INPUTS
from topology.apc import APC_PACKETS
from topology.asap import ASAP_ENVELOPES, ASAP_MANIFESTS
from topology.core import RTES_RAW
from topology.declarations import Topic
from topology.saop import SAOP_CONTROLS, SAOP_REWINDS, SAOP_TURNS
from topology.sap import SAP_RESULTS, SAP_SIGNALS, SAP_TASKS
from topology.summit import SUMMIT_CALLS, SUMMIT_MANIFESTS, SUMMIT_REPLIES

PRODUCER, OPERATOR = frozenset({Role.PRODUCER}), frozenset({Role.OPERATOR})
THOUGHT = {"payload": {"type": "THOUGHT_STREAM", "agent_id": "developer"}}
PULSE = {"payload": {"type": "SANDBOX_PULSE"}}


def test_every_topic_that_http_writes_says_who_sends() -> None:
    assert set(SENDERS) == set(INPUTS)


@pytest.mark.parametrize(
    ("topic", "value", "principal", "rule", "path"),
    [
        (APC_PACKETS, {"sender": {"agent_id": "a"}}, "a", "auth_sender", "/sender/agent_id"),
        (ASAP_ENVELOPES, {"sender": "urn:a"}, "urn:a", "sender_mismatch", "/sender"),
        (SAP_TASKS, {"issuer": {"agentId": "a"}}, "a", "forbidden", "/issuer/agentId"),
        (SAP_RESULTS, {"producer": {"agentId": "a"}}, "a", "forbidden", "/producer/agentId"),
        (SAP_SIGNALS, {"operator": {"agentId": "a"}}, "a", "forbidden", "/operator/agentId"),
        (SAOP_TURNS, {"agent_id": "a"}, "saop:a", "principal_mismatch", "/agent_id"),
        (RTES_RAW, THOUGHT, "saop:developer", "principal_mismatch", "/payload/agent_id"),
        (RTES_RAW, PULSE, "saop:anyone", "principal_mismatch", "/payload/agent_id"),
        (SUMMIT_CALLS, {"caller": "a"}, "a", "auth.sender", "/caller"),
        (SUMMIT_REPLIES, {"agentId": "a"}, "a", "auth.sender", "/agentId"),
        (
            SUMMIT_MANIFESTS,
            {"metadata": {"name": "a"}},
            "a",
            "auth.sender",
            "/metadata/name",
        ),
        (ASAP_MANIFESTS, {"id": "urn:a"}, "urn:a", "sender_mismatch", "/id"),
    ],
)
def test_each_sends_as_itself(
    topic: Topic, value: Any, principal: str, rule: str, path: str
) -> None:
    check(topic, [value], Caller(principal, PRODUCER))
    with pytest.raises(Forbidden) as caught:
        check(topic, [value, value], Caller("mallory", PRODUCER))
    assert (caught.value.rule, caught.value.path) == (rule, path)
    assert "mallory" in caught.value.message


@pytest.mark.parametrize("topic", [SAOP_TURNS, RTES_RAW])
def test_one_may_speak_for_all_agents_of_a_session(topic: Topic) -> None:
    value = {"agent_id": "developer", **THOUGHT}
    check(topic, [value], Caller("saop:*", PRODUCER))
    with pytest.raises(Forbidden):
        check(topic, [value], Caller("saop:researcher", PRODUCER))
    with pytest.raises(Forbidden):
        check(topic, [value], Caller("developer", PRODUCER))


@pytest.mark.parametrize(
    ("topic", "value"),
    [
        (SUMMIT_MANIFESTS, {"metadata": {"name": "a"}}),
        (ASAP_MANIFESTS, {"id": "urn:a"}),
        (SAOP_REWINDS, {"session_id": "s"}),
        (SAOP_CONTROLS, {"session_id": "s"}),
        (SUMMIT_CALLS, {"caller": "operator"}),
    ],
)
def test_what_operators_may(topic: Topic, value: Any) -> None:
    check(topic, [value], Caller("kim", OPERATOR))
    with pytest.raises(Forbidden):
        check(topic, [value], Caller("kim", PRODUCER))


@pytest.mark.parametrize("topic", [APC_PACKETS, SAP_TASKS, SUMMIT_REPLIES])
def test_operators_do_not_speak_for_agents(topic: Topic) -> None:
    value = {"sender": {"agent_id": "a"}, "issuer": {"agentId": "a"}, "agentId": "a"}
    with pytest.raises(Forbidden):
        check(topic, [value], Caller("kim", OPERATOR))


def test_a_caller_is_filled_in() -> None:
    kim = Caller("kim", PRODUCER)
    assert fill_sender(SUMMIT_CALLS, {"id": 1}, kim) == {"id": 1, "caller": "kim"}
    assert fill_sender(SUMMIT_CALLS, {"caller": None}, kim) == {"caller": "kim"}
    assert fill_sender(SUMMIT_CALLS, {"caller": "lee"}, kim) == {"caller": "lee"}
    assert fill_sender(SUMMIT_CALLS, [], kim) == []
    assert fill_sender(SUMMIT_REPLIES, {}, kim) == {}
    assert fill_sender(SUMMIT_CALLS, {}, None) == {}


def test_without_tokens_everybody_sends_as_they_like() -> None:
    for topic in SENDERS:
        check(topic, [{}, None], None)
