"""What Kafka's client says of brokers that do not take us in, in our words, once."""

from __future__ import annotations

import logging
from typing import NamedTuple

import pytest

from streams.engine.kafka_refusals import Refusals, refusal_of
from streams.errors import AccessDenied, BrokerRefuses, LoginFailed, TlsFailed


class Said(NamedTuple):
    """An error of the client."""

    code: str
    text: str

    def name(self) -> str:
        return self.code

    def str(self) -> str:
        return self.text


LOGIN = Said(
    "_AUTHENTICATION",
    "sasl_ssl://kafka:9093/bootstrap: SASL authentication error: Invalid username or password"
    " (after 301ms in state AUTH_REQ)",
)
DOWN = Said("_ALL_BROKERS_DOWN", "1/1 brokers are down")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (LOGIN, LoginFailed),
        (Said("_SSL", "ssl://k:1/1: SSL handshake failed: certificate verify failed"), TlsFailed),
        (Said("_TRANSPORT", "Receive failed: ssl/tls alert bad certificate"), TlsFailed),
        (Said("_TRANSPORT", "Disconnected: connecting to a PLAINTEXT broker listener?"), TlsFailed),
        (Said("TOPIC_AUTHORIZATION_FAILED", "Broker: Topic authorization failed"), AccessDenied),
        (Said("CLUSTER_AUTHORIZATION_FAILED", "Cluster authorization failed"), AccessDenied),
        (Said("_TRANSPORT", "Connect to ipv4#127.0.0.1:9 failed: Connection refused"), None),
        (DOWN, None),
    ],
)
def test_each_refusal_is_known(error: Said, kind: type[BrokerRefuses] | None) -> None:
    assert type(refusal_of(error)) is (kind or type(None))


def test_what_changes_with_each_attempt_is_left_out() -> None:
    refusal = refusal_of(LOGIN)
    assert refusal is not None
    assert refusal.message == (
        "Kafka does not take the login: kafka:9093: SASL authentication error: Invalid username"
        " or password"
    )


def test_who_waits_for_a_first_answer_is_told_and_the_log_is_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    refusals = Refusals("kafka:9093")
    assert refusals.hopeless() is None
    refusals(LOGIN)
    assert isinstance(refusals.hopeless(), LoginFailed)
    assert caplog.records == []


def test_later_it_is_logged_once_until_a_broker_answers(caplog: pytest.LogCaptureFixture) -> None:
    refusals = Refusals("kafka:9093")
    refusals.clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            refusals(LOGIN)
        assert len(caplog.records) == 1
        assert "login_failed: " in caplog.text
        assert isinstance(refusals.last, LoginFailed)
        refusals.clear()
        refusals(LOGIN)
    assert len(caplog.records) == 2


def test_connections_that_end_again_and_again_are_no_use_to_wait_for() -> None:
    refusals = Refusals("kafka:9093")
    for _ in range(4):
        refusals(DOWN)
    assert refusals.hopeless() is None
    refusals(DOWN)
    refusal = refusals.hopeless()
    assert refusal is not None
    assert "every connection to kafka:9093 ends" in refusal.message
    assert "HEADRACE_SECURITY_PROTOCOL" in refusal.advice
