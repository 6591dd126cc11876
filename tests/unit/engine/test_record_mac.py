"""MACs of records: the vector of the guide, the compiled function, and what a reader refuses."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.native import compiled_record_macs
from streams.engine import mac_checks
from streams.engine.mac_checks import MacChecks, Serials, dump_serials, load_serials
from streams.engine.mac_signer import MacSigner
from streams.engine.record_mac import (
    HEADER,
    REDRIVE_TASK,
    MacInput,
    first_serial,
    format_header,
    parse_header,
    python_record_macs,
    split_mac_keys,
)
from streams.engine.records import LogRecord, Output, TopicPartition
from topology.declarations import Topic, TopicKind
from topology.keys import partition_of

KEY = b"0123456789abcdef0123456789abcdef"
OTHER_KEY = b"fedcba9876543210fedcba9876543210"
PARTITIONS = 4
NOW = 1_767_225_600_000
FACTS = Topic("toy.facts", TopicKind.FACT, None, "id", "facts")
ROWS = Topic("toy.rows", TopicKind.TABLE, None, "id", "rows")
CALLS = Topic("toy.calls", TopicKind.INTERNAL, None, "id", "calls")
INBOX = Topic("toy.inbox", TopicKind.INBOX, None, "id", "inbox")
TOPICS = (FACTS, ROWS, CALLS, INBOX)
TASK = partition_of(b"k", PARTITIONS)
"""The task that owns the partition of the key `k`."""

item = st.tuples(
    st.text(max_size=40),
    st.none() | st.binary(max_size=60),
    st.none() | st.binary(max_size=300),
    st.integers(-1, 255),
    st.integers(1, 2**63 - 1),
)


def spelled_out(key: bytes, record: MacInput) -> bytes:
    """Compute a MAC as the guide words it, without a line of the module."""
    topic, record_key, value, task, serial = record
    message = b"headrace-mac-1"
    for part in (topic.encode(), record_key, value, str(task).encode(), str(serial).encode()):
        message += b"-" if part is None else b"+" + str(len(part)).encode() + b":" + part
    digest = hmac.new(key, message, hashlib.sha256).digest()[:16]
    return base64.urlsafe_b64encode(digest).replace(b"=", b"")


def test_the_vector_of_the_guide() -> None:
    record = ("sap.cache", b"k/00000001", b"\x00\x01", 3, 4_294_967_297)
    assert python_record_macs(KEY, [record]) == [b"KtB-dIcPy9oc95knVoZcKg"]
    assert first_serial(1) == record[-1]


@given(st.binary(min_size=1, max_size=100), st.lists(item, max_size=5))
def test_the_compiled_function_equals_the_one_in_python(key: bytes, records: list[Any]) -> None:
    expected = [spelled_out(key, record) for record in records]
    assert python_record_macs(key, records) == expected
    compiled = compiled_record_macs()
    if compiled is not None:
        assert compiled(key, records) == expected


@given(st.integers(-1, 255), st.integers(1, 2**63 - 1))
def test_a_header_is_read_back(task: int, serial: int) -> None:
    mac = spelled_out(KEY, ("t", None, None, task, serial))
    assert parse_header(format_header(task, serial, mac)) == (task, serial, mac)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"2;3;7;KtB-dIcPy9oc95knVoZcKg",
        b"1;3;7",
        b"1;-2;7;KtB-dIcPy9oc95knVoZcKg",
        b"1;03;7;KtB-dIcPy9oc95knVoZcKg",
        b"1;3;0;KtB-dIcPy9oc95knVoZcKg",
        b"1;3;7;KtB-dIcPy9oc95knVoZcKg=",
        b"1;3;7;KtB-dIcPy9oc95knVoZcKg\n",
        b"1;3;7;KtB+dIcPy9oc95knVoZcKg",
        b"1;3;99999999999999999999;KtB-dIcPy9oc95knVoZcKg",
        "1;٣;7;KtB-dIcPy9oc95knVoZcKg".encode(),
        b"\xff",
    ],
)
def test_other_texts_are_no_header(text: bytes) -> None:
    assert parse_header(text) is None


def signer(task: int = TASK, opening: int = 1, key: bytes = KEY) -> MacSigner:
    return MacSigner.of_opening(key, task, opening, TOPICS, "acme.")


def checks(*keys: bytes, since: int | None = None) -> MacChecks:
    return MacChecks(keys or (KEY,), TOPICS, "acme.", PARTITIONS, since)


def output(topic: Topic = ROWS, key: bytes | None = b"k", value: bytes | None = b"v") -> Output:
    return Output("acme." + topic.name, key, value, [("headrace-cause", b"c")], TASK)


def record_of(written: Output, offset: int = 0, **changes: Any) -> LogRecord:
    record = LogRecord(
        written.topic, TASK, offset, NOW, written.key, written.value, tuple(written.headers)
    )
    return record._replace(**changes)


def signed(topic: Topic = ROWS, **more: Any) -> LogRecord:
    return record_of(signer(**more).sign([output(topic)])[0])


def reason(record: LogRecord, serials: Serials | None = None, **more: Any) -> str | None:
    (result,) = checks(**more).reasons([record], {} if serials is None else serials)
    return result


def test_serials_rise_over_the_outputs_that_have_macs() -> None:
    sign = signer(opening=3).sign
    written = sign([output(FACTS), output(INBOX), output(ROWS)]) + sign([output(CALLS)])
    headers = [[parse_header(v) for n, v in each.headers if n == HEADER] for each in written]
    serials = [[header.serial for header in each if header] for each in headers]
    start = 3 << 32
    assert serials == [[start + 1], [], [start + 2], [start + 3]]
    assert [each.headers[0] for each in written] == [("headrace-cause", b"c")] * 4


@pytest.mark.parametrize("topic", [FACTS, ROWS, CALLS])
@pytest.mark.parametrize("value", [b"v", None])
def test_what_a_task_has_written_counts_once(topic: Topic, value: bytes | None) -> None:
    record = record_of(signer().sign([output(topic, value=value)])[0])
    serials: Serials = {}
    assert reason(record, serials) is None
    assert serials == {TopicPartition(record.topic, TASK): {TASK: first_serial(1)}}
    assert reason(record, serials) == mac_checks.REPLAYED
    assert reason(signed(topic, opening=2), serials) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"topic": "acme.toy.facts"},
        {"key": b"other"},
        {"key": None},
        {"value": b"forged"},
        {"value": None},
        {"headers": ((HEADER, b"1;3;7;KtB-dIcPy9oc95knVoZcKg"),)},
        {"headers": ((HEADER, b"nonsense"),)},
    ],
)
def test_a_changed_record_is_refused(changes: dict[str, Any]) -> None:
    serials: Serials = {}
    assert reason(signed()._replace(**changes), serials) == mac_checks.INVALID
    assert not serials


def test_a_record_without_a_mac_is_refused() -> None:
    for topic in (FACTS, ROWS, CALLS):
        assert reason(record_of(output(topic))) == mac_checks.MISSING
    assert reason(record_of(output(INBOX))) is None


def test_keys_are_rotated() -> None:
    old, new = signed(key=OTHER_KEY), signed(key=KEY, opening=2)
    assert reason(old) == mac_checks.INVALID
    both = checks(KEY, OTHER_KEY)
    assert both.reasons([old, new, signed(key=b"x" * 32)], {}) == [None, None, mac_checks.INVALID]


def test_only_the_task_of_a_partition_writes_its_rows_and_facts() -> None:
    other = (TASK + 1) % PARTITIONS
    for topic in (FACTS, ROWS):
        assert reason(signed(topic, task=other)) == mac_checks.OTHER_TASK
        assert reason(signed(topic, task=REDRIVE_TASK)) == mac_checks.OTHER_TASK
    for task in (*range(PARTITIONS), REDRIVE_TASK):
        assert reason(signed(CALLS, task=task)) is None
    assert reason(signed(CALLS, task=PARTITIONS)) == mac_checks.OTHER_TASK


def test_a_message_between_processors_lies_on_the_partition_of_its_key() -> None:
    elsewhere = signed(CALLS)._replace(partition=(TASK + 1) % PARTITIONS)
    assert reason(elsewhere) == mac_checks.KEY_PARTITION


def test_a_log_that_is_older_than_its_macs_is_read_up_to_the_first_one() -> None:
    old = record_of(output(FACTS), timestamp=NOW - 1)
    late = record_of(output(FACTS))
    row = record_of(output(ROWS), timestamp=NOW - 1)
    assert reason(old) == mac_checks.MISSING
    reader = checks(since=NOW)
    assert reader.reasons([old, late, row, signed(FACTS), old], {}) == [
        None,
        mac_checks.MISSING,
        mac_checks.UNSIGNED_BEFORE,
        None,
        mac_checks.MISSING,
    ]
    assert reader.reasons([signed(ROWS), row], {}) == [None, mac_checks.MISSING]


def test_serials_are_stored_as_json() -> None:
    serials = {TopicPartition("a/b", 3): {3: 7, REDRIVE_TASK: 2**62}}
    assert load_serials(dump_serials(serials)) == serials


def test_keys_are_parted_by_commas() -> None:
    assert split_mac_keys(None) == split_mac_keys("") == ()
    assert split_mac_keys("new, old") == (b"new", b"old")


@given(st.lists(st.sampled_from(["sign", "copy", "forge"]), max_size=30))
def test_a_reader_counts_exactly_what_was_signed_in_its_order(steps: list[str]) -> None:
    sign, written, expected = signer().sign, [], []
    for step in steps:
        if step == "sign":
            written.append(record_of(sign([output()])[0]))
            expected.append(True)
        elif step == "copy" and any(expected):
            written.append(written[expected.index(True)])
            expected.append(False)
        elif step == "forge":
            written.append(record_of(output(value=b"forged")))
            expected.append(False)
    reasons = checks().reasons(written, {})
    assert [each is None for each in reasons] == expected
