"""Canonical form and hash of envelopes, and their way through Avro (ASAP guide, 2.4)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import asap, canonical_json, decode, encode, from_json, to_json
from schemas.asap import Envelope, MalformedEnvelopeError, canonical_form, envelope_hash, judge
from schemas.asap.constants import ENVELOPE_RECORD, MANIFEST_RECORD
from schemas.asap.forms import iso_of_ms, iso_utc, micros
from schemas.formats import iso_us
from tests.unit.schemas import examples
from tests.unit.schemas.asap_tables import PAYLOADS
from tests.unit.schemas.test_asap_models import spellings

REQUEST = examples.valid("asap")["task_request"]
HASH = "6bdf1de1c400722410fb9f7890c5ac97f7e8911cad87040d44c245bc83f2bfb6"


def through_avro(record: str, value: dict[str, Any]) -> dict[str, Any]:
    return decode(encode(record, from_json(record, value)), record).value


def test_the_example_of_the_spec() -> None:
    assert canonical_form(REQUEST) == REQUEST
    assert len(canonical_json(REQUEST)) == 400
    assert envelope_hash(Envelope.model_validate(REQUEST)) == envelope_hash(REQUEST) == HASH


@pytest.mark.parametrize("name", examples.valid("asap"))
def test_envelopes_come_back_from_the_log_in_canonical_form(name: str) -> None:
    canonical = canonical_form(examples.valid("asap")[name])
    validation = judge(through_avro(ENVELOPE_RECORD, canonical))
    assert validation.envelope == canonical
    assert validation.problems == []
    assert validation.sha256 == asap.hash_of(canonical)
    assert validation.payload_type == canonical["payload_type"] in PAYLOADS
    assert canonical_form(canonical) == canonical


@pytest.mark.parametrize("name", examples.valid("asap/manifests"))
def test_manifests_come_back_with_all_their_members(name: str) -> None:
    whole = asap.manifest_form(examples.valid("asap/manifests")[name])
    validation = asap.judge_manifest(through_avro(MANIFEST_RECORD, whole))
    assert validation.manifest == whole
    assert validation.problems == []
    assert validation.sha256 == asap.hash_of(whole)


def test_a_manifest_whose_schema_is_no_object_is_bad() -> None:
    value = through_avro(MANIFEST_RECORD, examples.valid("asap/manifests")["manifest"])
    (skill,) = value["capabilities"]["skills"]
    skill["input_schema_json"] = "["
    (problem,) = asap.judge_manifest(value).problems
    assert problem.path == "/capabilities/skills/0/input_schema"


@pytest.mark.parametrize("text", spellings("TaskRequest"))
def test_spelling_zone_and_order_do_not_change_the_hash(text: str) -> None:
    other = {name: REQUEST[name] for name in sorted(REQUEST, reverse=True)}
    other |= {"payload_type": text, "timestamp": "2026-11-21T11:59:58.5+02:00"}
    payload = {name: value for name, value in REQUEST["payload"].items() if value is not None}
    other["payload"] = {**payload, "payload_type": text, "input": {"pages": 42.0}}
    assert envelope_hash(other) == HASH
    assert envelope_hash({**other, "timestamp": "2026-11-21T09:59:58.500000"}) == HASH


@pytest.mark.parametrize(
    "members",
    [
        {"id": "x"},
        {"trace_id": None},
        {"correlation_id": ""},
        {"timestamp": "2026-11-21T09:59:58.500001Z"},
        {"extensions": {}},
        {"payload": {**REQUEST["payload"], "input": {"pages": "42"}}},
    ],
)
def test_content_changes_the_hash(members: dict[str, Any]) -> None:
    assert envelope_hash({**REQUEST, **members}) != HASH


@pytest.mark.parametrize(
    "members",
    [
        {"payload_type": "TaskPause"},
        {"payload": {}},
        {"payload": {**REQUEST["payload"], "input": {"pages": float("nan")}}},
        {"sender": "me"},
        {"timestamp": "0001-01-01T00:00:00+01:00"},
    ],
)
def test_what_has_no_canonical_form_is_malformed(members: dict[str, Any]) -> None:
    with pytest.raises(MalformedEnvelopeError):
        envelope_hash({**REQUEST, **members})


def test_parts_keep_their_nulls_and_their_ids() -> None:
    message = examples.valid("asap")["message_send"]
    assert canonical_form(message)["payload"]["parts"][2] == {
        "type": "data",
        "data": {"language": "fr"},
        "schema_uri": None,
    }
    assert canonical_form(message)["payload"]["parts"][0] == "greeting"


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_are_one_form_everywhere(moment: datetime) -> None:
    assert iso_us(micros(moment)) == iso_utc(moment)
    assert micros(moment.replace(tzinfo=None)) == micros(moment)
    assert canonical_form({**REQUEST, "timestamp": moment.isoformat()})["timestamp"] == iso_utc(
        moment
    )


def test_times_of_milliseconds_and_of_other_zones() -> None:
    assert iso_of_ms(1_795_255_200_000) == "2026-11-21T10:00:00Z"
    assert iso_of_ms(1_795_255_202_250) == "2026-11-21T10:00:02.250000Z"
    zone = timezone(timedelta(hours=-8))
    assert iso_utc(datetime(2026, 11, 21, 2, tzinfo=zone)) == "2026-11-21T10:00:00Z"


def test_what_the_service_makes_is_in_canonical_form() -> None:
    made = asap.service_update(
        id="01M7YRRT80FSPB6S13JQ2N5AF1",
        sender=asap.SERVICE_URN,
        recipient="urn:asap:agent:planner",
        task_id="t",
        status="failed",
        at_ms=1_795_255_290_000,
        correlation_id="t",
        trace_id=None,
        extensions={asap.EXT_ERROR: {"code": "asap:execution/task_timeout", "message": "late"}},
    )
    assert canonical_form(made) == made
    assert to_json(ENVELOPE_RECORD, from_json(ENVELOPE_RECORD, made)) == made
