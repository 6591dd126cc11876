"""The log, records and proofs over HTTP, on a real Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from schemas import encode
from streams.engine.records import Output
from streams.ops.audit import new_pair
from tests.integration.system import Live, live
from tests.integration.test_audit import audit, send
from tests.processes import wait_for
from tests.unit.envelopes import idea
from topology.core import AUDIT_CHECKPOINTS

Json = dict[str, Any]
API_HEADERS = {
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "private, no-cache",
}


def get(client: httpx.Client, path: str, **query: str) -> Json:
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    assert dict(answer.headers).items() >= API_HEADERS.items()
    body: Json = answer.json()
    return body


def fact_about(client: httpx.Client, position: str) -> str:
    """Return the position of the fact with the verdict on a packet."""
    topic, partition, _ = position.split("/")
    events = topic.replace("apc.packets", "apc.events")
    page: Json = {"items": [], "next": 0}
    while page["next"] is not None:
        page = get(client, f"/v1/records/{events}/{partition}", **{"from": str(page["next"])})
        for item in page["items"]:
            if item["headers"]["headrace-cause"] == position:
                return str(item["position"])
    raise AssertionError(f"no fact about {position}")


def lags(client: httpx.Client) -> dict[str, int]:
    processors = get(client, "/v1/log")["processors"]
    return {each["name"]: sum(part["lag"] for part in each["partitions"]) for each in processors}


def test_a_record_its_fact_and_the_log_are_shown(system: Live) -> None:
    (position,) = send(system, idea(1))
    with system.client as client:
        record = get(client, f"/v1/records/{position}", bytes="true")
        assert record["value"]["packet_id"] == idea(1)["packet_id"]
        assert record["value_base64"]
        proof = get(client, f"/v1/records/{fact_about(client, position)}/proof")
        assert proof["rederived"]["outcome"] == "holds", proof
        wait_for(lambda: not any(lags(client).values()), "no processor lags")
        first = client.get(f"/v1/records/{position}")
        tag = {"if-none-match": first.headers["etag"]}
        again = client.get(f"/v1/records/{position}", headers=tag)
        assert (again.status_code, again.content) == (304, b"")
        service = get(client, "/v1/service")
        assert service["cluster_id"] == system.log.cluster_id()
        beyond = position.rsplit("/", 1)[0] + "/999999"
        assert client.get(f"/v1/records/{beyond}").json()["rule"] == "record_unknown"
        hidden = client.get(f"/v1/records/{system.prefix}rtes.raw/0/0")
        assert (hidden.status_code, hidden.json()["rule"]) == (403, "topic_internal")


@pytest.fixture(scope="module")
def audited(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder: Path = tmp_path_factory.mktemp("proofs")
    key = folder / "auditor.pem"
    new_pair(key)
    names = {"AUDIT_KEY": str(key), "AUDIT_PUBLIC_KEY": f"{key}.pub"}
    with live(broker, folder, **names) as running:
        yield running


@pytest.mark.slow
def test_a_checkpoint_seals_a_fact_and_a_changed_one_does_not(audited: Live) -> None:
    (position,) = send(audited, idea(1))
    audit(audited, "write", "--once")
    with audited.client as client:
        fact = fact_about(client, position)

        def sealed(of: str) -> Any:
            return get(client, f"/v1/records/{of}/proof", fresh="true")["sealed"]

        assert (sealed(fact)["signature"], sealed(fact)["records"]) == ("valid", "match")
        wait_for(
            lambda: not sum(row["unsealed"] for row in get(client, "/v1/audit")["partitions"]),
            "everything is sealed",
        )
        (later,) = send(audited, idea(2))
        later_fact = fact_about(client, later)
        assert sealed(later_fact) is None
        topic, partition, offset = later_fact.split("/")
        good = get(client, "/v1/audit")["partitions"]
        (row,) = [r for r in good if (r["topic"], r["partition"]) == (topic, int(partition))]
        changed = {
            "topic": topic,
            "partition": int(partition),
            "sequence": 2,
            "start": 0,
            "offset": int(offset) + 1,
            "records": 2,
            "running_sha256": "0" * 64,
            "previous_sha256": "0" * 64,
            "at": 0,
            "key_id": row["key_id"],
            "signature": "AAAA",
        }
        value = encode(AUDIT_CHECKPOINTS.record or "", changed)
        name = audited.prefix + AUDIT_CHECKPOINTS.name
        audited.log.append([Output(name, f"{topic}/{partition}".encode(), value)])
        assert sealed(later_fact)["signature"] == "invalid"
        audit(audited, "write", "--once")
        assert sealed(later_fact)["signature"] == "valid"
