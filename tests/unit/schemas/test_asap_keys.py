"""Record keys of all twelve payloads, claims and snapshot ids (ASAP guide, 5.1, 5.3, 4.5)."""

from __future__ import annotations

import pytest

from schemas import asap
from schemas.asap import Envelope, MalformedEnvelopeError, task_key
from schemas.asap.keys import claim_key, restored_version, snapshot_id
from tests.unit.schemas.asap_tables import PAYLOADS
from tests.unit.schemas.asap_tables import example as payload_of
from tests.unit.schemas.test_asap_models import spellings

KEYS = {
    "TaskRequest": ("E", "E"),
    "TaskResponse": ("C", "T"),
    "TaskUpdate": ("C", "T"),
    "TaskCancel": ("T", "T"),
    "MessageSend": ("T", "T"),
    "StateQuery": ("T", "T"),
    "StateRestore": ("T", "T"),
    "ArtifactNotify": ("T", "T"),
    "McpToolCall": ("R", "R"),
    "McpToolResult": ("R", "R"),
    "McpResourceFetch": ("E", "E"),
    "McpResourceData": ("C", None),
}
"""With a correlation_id, and without one: the id of envelope, correlation, task or request."""


@pytest.mark.parametrize("name", PAYLOADS)
@pytest.mark.parametrize("correlation", ["C", None, ""])
def test_the_key_is_that_of_the_table(name: str, correlation: str | None) -> None:
    payload = payload_of(name)
    payload |= {id: text for id, text in (("task_id", "T"), ("request_id", "R")) if id in payload}
    expected = KEYS[name][0 if correlation else 1]
    for text in spellings(name):
        fields = {
            "id": "E",
            "payload_type": text,
            "payload": payload,
            "correlation_id": correlation,
        }
        if expected is None:
            continue
        assert task_key(fields) == expected
        whole = {**fields, "asap_version": "0.1"}
        whole |= {"sender": "urn:asap:agent:a", "recipient": "urn:asap:agent:b"}
        if correlation or name not in ("TaskResponse", "McpToolResult"):
            assert task_key(Envelope.model_validate(whole)) == expected


def test_where_there_is_no_key_it_is_said() -> None:
    for fields in (
        {"payload_type": "TaskPause", "payload": {}},
        {"payload_type": None},
        {},
        {"payload_type": "TaskCancel", "payload": {}},
        {"payload_type": "TaskCancel", "payload": []},
        {"payload_type": "TaskRequest", "payload": {}},
        {"payload_type": "McpToolCall", "payload": {"request_id": 1}},
    ):
        with pytest.raises(MalformedEnvelopeError):
            task_key(fields)


def test_the_claim_of_the_spec() -> None:
    expected = "claim:282791f614dbc4c3347ac8637c7c88a164431f5734b55f349f380ff8ea3ae47f"
    assert claim_key("urn:asap:agent:planner", "index.build", "nightly-3") == expected


@pytest.mark.parametrize(
    ("snapshot", "version"),
    [
        *(("t@1@7", 7), ("t@1@12", 12), ("t@7", None), ("t@1@", None), ("t@1@x", None)),
        *(("t@1@-1", None), ("t@1@07", None), ("t@1@0", None), ("t@1@٧", None), ("", None)),
    ],
)
def test_the_version_that_a_snapshot_id_names(snapshot: str, version: int | None) -> None:
    assert restored_version("t@1", snapshot) == version
    assert version is None or snapshot_id("t@1", version) == snapshot


def test_the_hash_of_the_payload_alone() -> None:
    cancel = asap.TaskCancel(task_id="t")
    one, two = (
        asap.canonical_form(
            asap.make_envelope(cancel, sender="urn:asap:agent:a", recipient="urn:asap:agent:b")
        )
        for _ in range(2)
    )
    assert asap.payload_hash(one) == asap.payload_hash(two)
    assert asap.hash_of(one) != asap.hash_of(two)
