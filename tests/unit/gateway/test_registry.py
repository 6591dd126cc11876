"""The registry's read API, as clients of Confluent's registry know it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from schemas import CATALOGUE
from streams.gateway.registry import READS, WRITES
from streams.registry.client import Registry
from streams.registry.ids import RegistryIds
from streams.registry.register import register
from streams.registry.subjects import subjects
from tests.unit.gateway.bench import GatewayBench
from tests.unit.registry.fake import FakeRegistry

MEDIA = "application/vnd.schemaregistry.v1+json"
PACKETS = "apc.packets-value"
SESSIONS = "headrace.changelog-headrace.rtes.RtesSession"


def read_json(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == MEDIA
    return answer.json()


def code(answer: httpx.Response) -> int:
    assert answer.headers["content-type"] == MEDIA
    body = answer.json()
    assert body.keys() == {"error_code", "message"}
    assert str(body["error_code"]).startswith(str(answer.status_code))
    return int(body["error_code"])


def test_subjects_are_those_of_the_topics(gateway: GatewayBench) -> None:
    assert read_json(gateway.ask("GET", "/subjects")) == list(subjects())


def test_subjects_carry_the_prefix(tmp_path: Path) -> None:
    with GatewayBench(tmp_path) as bench:
        prefix = bench.settings.prefix
        assert read_json(bench.ask("GET", "/subjects")) == list(subjects(prefix))


def test_a_page_of_subjects(gateway: GatewayBench) -> None:
    sap = [name for name in subjects() if name.startswith("sap.")]
    for query, expected in {
        "subjectPrefix=sap.": sap,
        "subjectPrefix=sap.&offset=2&limit=3": sap[2:5],
        "subjectPrefix=sap.&limit=-1&deleted=false": sap,
        "subjectPrefix=sap.&limit=0": [],
        "offset=100000": [],
        "subjectPrefix=nothing": [],
    }.items():
        assert read_json(gateway.ask("GET", f"/subjects?{query}")) == expected


def test_versions_of_a_subject(gateway: GatewayBench) -> None:
    assert read_json(gateway.ask("GET", f"/subjects/{SESSIONS}/versions")) == [1, 2]
    first, latest = CATALOGUE.versions("headrace.rtes.RtesSession")
    for version, entry in {"1": first, "2": latest, "latest": latest, "-1": latest}.items():
        version_json = read_json(gateway.ask("GET", f"/subjects/{SESSIONS}/versions/{version}"))
        assert json.loads(version_json.pop("schema")) == entry.schema
        assert version_json == {"subject": SESSIONS, "version": entry.version, "id": entry.id}
        plain = read_json(gateway.ask("GET", f"/subjects/{SESSIONS}/versions/{version}/schema"))
        assert plain == entry.schema


def test_every_id_of_the_catalogue(gateway: GatewayBench) -> None:
    kinds = ("", "/schema", "/subjects", "/versions")
    requests: list[tuple[str, str, Any]] = [
        ("GET", f"/schemas/ids/{e.id}{kind}", {}) for e in CATALOGUE for kind in kinds
    ]
    answers = iter(map(read_json, gateway.ask_all(requests)))
    for entry, text, schema, names, versions in zip(
        CATALOGUE, answers, answers, answers, answers, strict=True
    ):
        assert json.loads(text.pop("schema")) == schema == entry.schema
        assert text == {}
        assert names == [pair["subject"] for pair in versions]
        assert names
        for pair in versions:
            assert subjects()[pair["subject"]].entries[pair["version"] - 1] == entry


def test_types_compatibility_and_mode(gateway: GatewayBench) -> None:
    assert read_json(gateway.ask("GET", "/schemas/types")) == ["AVRO"]
    for path in ("/config", f"/config/{PACKETS}"):
        level = read_json(gateway.ask("GET", path))
        assert level == {"compatibilityLevel": "BACKWARD_TRANSITIVE"}
    for path in ("/mode", f"/mode/{PACKETS}"):
        assert read_json(gateway.ask("GET", path)) == {"mode": "READONLY"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/subjects/nothing/versions", 40401),
        ("/subjects/nothing/versions/1", 40401),
        ("/subjects/nothing/versions/x", 40401),
        ("/config/nothing", 40401),
        ("/mode/nothing", 40401),
        (f"/subjects/{PACKETS}/versions/99", 40402),
        (f"/subjects/{PACKETS}/versions/99/schema", 40402),
        (f"/subjects/{PACKETS}/versions/2147483647", 40402),
        (f"/subjects/{PACKETS}/versions/0", 42202),
        (f"/subjects/{PACKETS}/versions/-2", 42202),
        (f"/subjects/{PACKETS}/versions/newest", 42202),
        (f"/subjects/{PACKETS}/versions/2147483648", 42202),
        ("/schemas/ids/999999999", 40403),
        ("/schemas/ids/999999999/schema", 40403),
        ("/schemas/ids/999999999/subjects", 40403),
        ("/schemas/ids/999999999/versions", 40403),
        ("/schemas/ids/99999999999999999999", 40403),
        ("/schemas/ids/first", 40403),
        ("/subjects?limit=many", 422),
        ("/subjects?offset=", 422),
        ("/subjects?offset=-1", 422),
        ("/subjects?limit=-2", 422),
        ("/subjects?limit=2147483648", 422),
        ("/schemas/nothing", 404),
        ("/subjects/", 404),
        (f"/subjects/{PACKETS}/versions/1/nothing", 404),
        ("/subjects/%ff/versions", 404),
    ],
)
def test_faults_have_the_registrys_codes(gateway: GatewayBench, path: str, expected: int) -> None:
    assert code(gateway.ask("GET", path)) == expected


@pytest.mark.parametrize("path", WRITES)
def test_schemas_are_not_taken(gateway: GatewayBench, path: str) -> None:
    schema = {"schema": '"string"'}
    answer = gateway.ask("POST", path.format(subject=PACKETS), json=schema)
    assert code(answer) == 42205
    assert "read-only" in answer.json()["message"]
    assert read_json(gateway.ask("GET", f"/subjects/{PACKETS}/versions")) == [1]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/config"),
        ("PUT", f"/mode/{PACKETS}"),
        ("DELETE", f"/subjects/{PACKETS}"),
        ("DELETE", f"/subjects/{PACKETS}/versions/1"),
        ("POST", "/subjects"),
    ],
)
def test_nothing_else_is_changed_either(gateway: GatewayBench, method: str, path: str) -> None:
    answer = gateway.ask(method, path)
    assert code(answer) == 405
    assert method not in answer.headers["allow"]


def test_other_paths_keep_their_own_problems(gateway: GatewayBench) -> None:
    answer = gateway.ask("GET", "/v1/subjects")
    assert answer.headers["content-type"] == "application/problem+json"


def test_every_path_is_in_the_document(gateway: GatewayBench) -> None:
    paths = gateway.ask("GET", "/openapi.json").json()["paths"]
    for path in READS:
        answers = paths[path]["get"]["responses"]
        assert list(answers["200"]["content"]) == [MEDIA]
    for path in WRITES:
        assert "200" not in paths[path]["post"]["responses"]


def test_ids_of_a_registry_in_use_are_served_beside_those_of_the_catalogue(
    gateway: GatewayBench,
) -> None:
    fake = FakeRegistry(next_id=7)
    register(cast(Registry, fake), "", lambda line: None)
    ids = RegistryIds(cast(Registry, fake), "")
    ids.load()
    fake.away = True
    view: Any = gateway.view
    from streams.gateway.app import create_app

    gateway.app = create_app(gateway.settings, gateway.bench.log, view, ids=ids)
    latest = read_json(gateway.ask("GET", f"/subjects/{PACKETS}/versions/latest"))
    assert latest["id"] < 1000
    by_id = read_json(gateway.ask("GET", f"/schemas/ids/{latest['id']}"))
    assert by_id["schema"] == latest["schema"]
    committed = CATALOGUE.id_of("headrace.apc.ApcPacket")
    assert read_json(gateway.ask("GET", f"/schemas/ids/{committed}")) == by_id
    assert code(gateway.ask("GET", "/schemas/ids/999")) == 40403
