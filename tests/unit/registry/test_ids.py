"""Ids of a registry: what is written with them, what is read by them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, cast

import pytest

from schemas import CATALOGUE, Undecodable, decode, decode_many, encode, use_ids, written_id
from streams.engine.headers import constant_headers, output_headers
from streams.errors import RegistryUnavailable, SchemasMismatch
from streams.registry import ids as module
from streams.registry.client import Registry
from streams.registry.ids import RegistryIds
from streams.registry.register import register
from tests.unit.envelopes import idea
from tests.unit.registry.fake import FakeRegistry
from topology.apc import APC_EVENTS

PACKET = "headrace.apc.ApcPacket"
TIMER = "headrace.core.TimerRow"
SESSION = "headrace.rtes.RtesSession"
ROW = {"data": {"a": "b"}}


@pytest.fixture
def fake() -> FakeRegistry:
    """With everything registered."""
    made = FakeRegistry(next_id=500)
    register(cast(Registry, made), "acme.", lambda line: None)
    return made


@pytest.fixture
def ids(fake: FakeRegistry) -> Iterator[RegistryIds]:
    """In use."""
    registry_ids = RegistryIds(cast(Registry, fake), "acme.")
    use_ids(registry_ids)
    yield registry_ids
    use_ids(None)


def id_in(value: bytes) -> int:
    return int.from_bytes(value[1:5], "big")


def refused(value: bytes, record: str) -> str:
    with pytest.raises(Undecodable) as failure:
        decode(value, record)
    return failure.value.code


def test_values_are_written_with_the_registrys_ids_and_read_by_them(
    ids: RegistryIds, fake: FakeRegistry
) -> None:
    framed = encode(TIMER, ROW)
    assert fake.schema(id_in(framed)) == CATALOGUE.latest(TIMER).schema
    assert id_in(framed) == written_id(TIMER) < 1000
    read = decode(framed, TIMER)
    assert (read.value, read.current) == (ROW, True)
    assert read.schema_id == CATALOGUE.id_of(TIMER)
    assert decode_many([framed], TIMER) == [read]


def test_ids_of_the_catalogue_are_read_whatever_the_registry_says(
    fake: FakeRegistry,
) -> None:
    old = encode(TIMER, ROW)
    assert id_in(old) == CATALOGUE.id_of(TIMER)
    use_ids(RegistryIds(cast(Registry, fake), "acme."))
    try:
        fake.away = True
        assert decode(old, TIMER).value == ROW
        assert decode_many([old], TIMER)[0] == decode(old, TIMER)
    finally:
        use_ids(None)


def test_without_a_registry_its_ids_are_unknown(fake: FakeRegistry) -> None:
    framed = b"\0" + (500).to_bytes(4, "big") + encode(TIMER, ROW)[5:]
    assert refused(framed, TIMER) == "schema_unknown"


def headers_of_event() -> dict[str, bytes]:
    constant = constant_headers(APC_EVENTS, "apc")
    return dict(output_headers(constant, b"k", "id", 0, "cause", None))


def test_headers_name_the_schema_that_was_written(ids: RegistryIds) -> None:
    headers = headers_of_event()
    written = written_id(APC_EVENTS.record or "")
    assert headers["ce_dataschema"] == f"/schemas/ids/{written}".encode()
    use_ids(None)
    headers = headers_of_event()
    shipped = written_id(APC_EVENTS.record or "")
    assert shipped != written
    assert headers["ce_dataschema"] == f"/schemas/ids/{shipped}".encode()


def test_a_schema_that_others_registered_is_read_if_bytes_are_alike(
    ids: RegistryIds, fake: FakeRegistry
) -> None:
    """E.g. with documentation, by a client that registers what it writes."""
    schema: Any = copy.deepcopy(CATALOGUE.latest(PACKET).schema)
    schema["doc"] = "A packet."
    id = fake.add("acme.apc.packets-value", schema)
    from schemas import from_json

    framed = encode(PACKET, from_json(PACKET, idea()))
    other = b"\0" + id.to_bytes(4, "big") + framed[5:]
    assert id_in(framed) != id
    assert decode(other, PACKET).value == decode(framed, PACKET).value
    assert decode(other, PACKET).current


def test_a_schema_that_the_catalogue_lacks_is_unknown(ids: RegistryIds, fake: FakeRegistry) -> None:
    other: Any = copy.deepcopy(CATALOGUE.latest(TIMER).schema)
    other["fields"].append({"name": "more", "type": "string", "default": ""})
    others: list[Any] = [other, {"type": "nonsense"}, "string", None, [], {"name": 7}]
    for schema in others:
        id = fake.add("x-value", schema)
        framed = b"\0" + id.to_bytes(4, "big") + encode(TIMER, ROW)[5:]
        assert refused(framed, TIMER) == "schema_unknown"


def test_the_schema_of_another_record_is_told(ids: RegistryIds) -> None:
    assert refused(encode(TIMER, ROW), PACKET) == "record_mismatch"


def test_an_earlier_version_is_resolved(ids: RegistryIds, fake: FakeRegistry) -> None:
    (first, _) = CATALOGUE.versions(SESSION)
    (id,) = [
        version.id
        for version in fake.versions(f"acme.headrace.changelog-{SESSION}")
        if version.version == 1
    ]
    body = _empty(first.schema)
    read = decode(b"\0" + id.to_bytes(4, "big") + body, SESSION)
    assert not read.current
    assert read.value == decode(b"\0" + first.id.to_bytes(4, "big") + body, SESSION).value


def _empty(schema: Any) -> bytes:
    """A value with nothing in it: each type used there is zero bytes or one zero byte."""
    return b"\0" * len(schema["fields"])


def test_each_id_is_asked_for_once(ids: RegistryIds, fake: FakeRegistry) -> None:
    ids.load()
    fake.away = True
    framed = [encode(record, ROW) for record in [TIMER] * 3]
    assert all(decode(value, TIMER).value == ROW for value in framed)
    assert fake.asked == []


def test_an_unknown_id_is_asked_for_again_after_a_while(
    ids: RegistryIds, fake: FakeRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    framed = b"\0" + (9999).to_bytes(4, "big") + b"x"
    for _ in range(3):
        assert refused(framed, TIMER) == "schema_unknown"
    assert fake.asked == [9999]
    now += module.UNKNOWN_S
    assert refused(framed, TIMER) == "schema_unknown"
    assert fake.asked == [9999, 9999]


def test_ids_that_no_registry_gives_are_not_asked_for(ids: RegistryIds, fake: FakeRegistry) -> None:
    framed = b"\0" + (2**31).to_bytes(4, "big") + b"x"
    assert refused(framed, TIMER) == "schema_unknown"
    assert ids.missing([framed]) == set()
    assert fake.asked == []


def test_what_is_missing_is_known_without_asking(ids: RegistryIds, fake: FakeRegistry) -> None:
    ids.load()
    id = fake.add("y-value", {"type": "record", "name": "Y", "fields": []})
    other = b"\0" + id.to_bytes(4, "big")
    values = [encode(TIMER, ROW), other, other, None, b"", b"\0ab", b"\xc3\x01" + b"0" * 9]
    assert ids.missing(values) == {id}
    fake.away = True
    with pytest.raises(RegistryUnavailable):
        ids.resolve({id})
    assert ids.missing(values) == {id}
    fake.away = False
    ids.resolve({id})
    assert ids.missing(values) == set()


def test_a_registry_without_the_latest_version_is_refused(fake: FakeRegistry) -> None:
    name = f"acme.headrace.changelog-{SESSION}"
    del fake.subjects[name][1]
    ids = RegistryIds(cast(Registry, fake), "acme.")
    with pytest.raises(SchemasMismatch, match="lacks version 2") as refusal:
        ids.load()
    assert "topics create" in str(refusal.value)


def test_an_id_that_the_catalogue_has_given_is_refused() -> None:
    fake = FakeRegistry(next_id=1_000_000_001)
    register(cast(Registry, fake), "", lambda line: None)
    with pytest.raises(SchemasMismatch, match="means another schema"):
        RegistryIds(cast(Registry, fake), "").load()


def test_registering_again_changes_nothing(fake: FakeRegistry) -> None:
    before = copy.deepcopy(fake.subjects)
    messages: list[str] = []
    register(cast(Registry, fake), "acme.", messages.append)
    assert (fake.subjects, messages) == (before, [])


def test_what_is_registered_is_told_and_kept_compatible() -> None:
    fake, messages = FakeRegistry(), list[str]()
    register(cast(Registry, fake), "", messages.append)
    assert "headrace.changelog-headrace.rtes.RtesSession version 2 has schema id" in "\n".join(
        messages
    )
    assert fake.kept == list(fake.subjects)
    assert len(messages) == sum(len(versions) for versions in fake.subjects.values())
