"""Signatures of who has sent a record: what they hold for, and what facts show."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from streams.engine.principals import (
    FRESH_MS,
    PRINCIPAL,
    SERVICE,
    SIGNATURE,
    UNAUTHENTICATED,
    Principals,
    Senders,
)
from streams.engine.records import LogRecord, Output, position

NOW = 1_767_225_600_000
OURS = Principals([b"0123456789abcdef"])
OUTPUT = Output("apc.packets", b"s1", b"\x00value", [("traceparent", b"t")])


def landed(output: Output, at: int = NOW, offset: int = 7) -> LogRecord:
    return LogRecord(
        output.topic, 0, offset, at, output.key, output.value, tuple(output.headers or ())
    )


def signed(output: Output = OUTPUT, principals: Principals = OURS) -> LogRecord:
    return landed(principals.signed(output, b"planner-1", NOW))


def headed(record: LogRecord, name: str, value: bytes | None) -> LogRecord:
    others = [(n, v) for n, v in record.headers if n != name]
    return record._replace(headers=others if value is None else [*others, (name, value)])


def test_a_record_says_who_sent_it() -> None:
    record = signed()
    assert dict(record.headers)[PRINCIPAL] == b"planner-1"
    assert dict(record.headers)["traceparent"] == b"t"
    assert OURS.of_record(record) == b"planner-1"


def test_one_without_is_nobodys() -> None:
    assert OURS.of_record(landed(OUTPUT)) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r._replace(topic="sap.tasks"),
        lambda r: r._replace(key=b"s2"),
        lambda r: r._replace(key=None),
        lambda r: r._replace(value=b"\x00other"),
        lambda r: r._replace(value=None),
        lambda r: r._replace(key=b"s1\x00", value=b"value"),
        lambda r: r._replace(timestamp=NOW + FRESH_MS + 1),
        lambda r: r._replace(timestamp=NOW - FRESH_MS - 1),
        lambda r: headed(r, PRINCIPAL, b"planner-2"),
        lambda r: headed(r, PRINCIPAL, None),
        lambda r: headed(r, SIGNATURE, None),
        lambda r: headed(r, SIGNATURE, b""),
        lambda r: headed(r, SIGNATURE, b"1;;" + dict(r.headers)[SIGNATURE].split(b";")[2]),
        lambda r: headed(r, SIGNATURE, b"2" + dict(r.headers)[SIGNATURE][1:]),
        lambda r: headed(r, SIGNATURE, dict(r.headers)[SIGNATURE] + b";"),
        lambda r: headed(r, SIGNATURE, "1;１;x".encode()),
    ],
)
def test_it_holds_for_that_record_alone(change: Callable[[LogRecord], LogRecord]) -> None:
    assert OURS.of_record(change(signed())) is None


@pytest.mark.parametrize("late_ms", [-FRESH_MS, 0, FRESH_MS])
def test_its_time_is_near_the_append_time(late_ms: int) -> None:
    assert OURS.of_record(signed()._replace(timestamp=NOW + late_ms)) == b"planner-1"


@pytest.mark.parametrize(("key", "value"), [(None, b"v"), (b"k", None), (b"", b""), (None, None)])
def test_null_and_empty_differ(key: bytes | None, value: bytes | None) -> None:
    record = signed(Output("asap.manifests", key, value))
    assert OURS.of_record(record) == b"planner-1"
    other = {None: b"", b"": None}.get(value, value)
    if other != value:
        assert OURS.of_record(record._replace(value=other)) is None


def test_keys_can_be_replaced() -> None:
    old, new = Principals.of("first-key-of-all"), Principals.of("second-key-now, first-key-of-all")
    assert old is not None
    assert new is not None
    assert new.of_record(signed(principals=old)) == b"planner-1"
    assert old.of_record(signed(principals=new)) is None


@pytest.mark.parametrize("setting", [None, "", " , "])
def test_without_a_key_nothing_is_signed(setting: str | None) -> None:
    assert Principals.of(setting) is None


def test_a_key_that_differs_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    strangers = Principals([b"another key"])
    ours = Principals([b"0123456789abcdef"])
    with caplog.at_level(logging.WARNING):
        assert [ours.of_record(signed(principals=strangers)) for _ in range(3)] == [None] * 3
    assert caplog.text.count("HEADRACE_PRINCIPAL_KEY must be the same in gateways") == 1


def test_a_record_that_is_sent_again_is_signed_again() -> None:
    record = signed()
    later = NOW + 10 * FRESH_MS
    again = Output(record.topic, record.key, record.value, record.headers)
    assert OURS.of_record(landed(OURS.resigned(record, again, later), later)) == b"planner-1"
    forged = headed(record, PRINCIPAL, b"planner-2")
    bare = OURS.resigned(forged, again._replace(headers=forged.headers), later)
    assert dict(bare.headers) == {"traceparent": b"t"}


class TestSenders:
    """What one step knows."""

    @staticmethod
    def known(*records: LogRecord) -> Senders:
        senders = Senders(OURS)
        senders.read(records)
        return senders

    def test_it_shows_who_sent_the_cause(self) -> None:
        record, other = signed(), landed(OUTPUT, offset=8)
        senders = self.known(record, other)
        assert senders.principal_header(position(record)) == b"planner-1"
        assert senders.proved(position(record)) == "planner-1"
        assert senders.principal_header(position(other)) == UNAUTHENTICATED
        assert senders.proved(position(other)) is None

    def test_time_alone_is_the_service(self) -> None:
        senders = self.known()
        senders.default = SERVICE
        assert senders.principal_header("apc.packets/0/1") == SERVICE
        assert senders.proved("apc.packets/0/1") is None

    @pytest.mark.parametrize(("principal", "expected"), [("kim", b"kim"), (None, UNAUTHENTICATED)])
    def test_what_has_waited_is_vouched_for(self, principal: str | None, expected: bytes) -> None:
        senders = self.known()
        senders.default = SERVICE
        senders.vouch("saop.turns/0/1", principal)
        assert senders.principal_header("saop.turns/0/1") == expected
        assert senders.proved("saop.turns/0/1") == principal

    def test_it_is_passed_on_with_a_proof_that_does_not_age(self) -> None:
        record = signed()
        passed = self.known(record).passed_on(Output("rtes.raw", b"s", b"v"), position(record))
        assert OURS.of_record(landed(passed, NOW + 100 * FRESH_MS)) == b"planner-1"

    def test_nobody_is_not_passed_on(self) -> None:
        output = Output("rtes.raw", b"s", b"v")
        assert self.known().passed_on(output, "apc.packets/0/1") == output

    def test_without_a_key_nothing_is_known(self) -> None:
        senders = Senders(None)
        senders.read([signed()])
        senders.default = SERVICE
        senders.vouch("a/0/1", "kim")
        assert senders.principal_header("a/0/1") == UNAUTHENTICATED
        assert senders.proved(position(signed())) is None


def test_a_claim_is_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    """Of whoever writes the header by hand."""
    forged: list[Any] = [(PRINCIPAL, b"kim"), (SIGNATURE, b"1;;" + b"A" * 43)]
    senders = Senders(Principals([b"0123456789abcdef"]))
    record = landed(OUTPUT._replace(headers=forged))
    senders.read([record])
    assert senders.principal_header(position(record)) == UNAUTHENTICATED
    assert caplog.text
