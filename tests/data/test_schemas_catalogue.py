"""The catalogue is only appended to, agrees with the sources, and stays readable backwards."""

from __future__ import annotations

import copy
import json
from importlib.resources import files
from typing import Any

import pytest
from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType
from avro.schema import parse

from schemas import CATALOGUE
from schemas.build import derived, updated_catalogue
from schemas.catalogue import FIRST_ID
from schemas.codec import fingerprint_of
from schemas.sources import RECORDS, definitions, self_contained

PINNED = {
    1_000_000_000: ("headrace.apc.ApcPacket", 1, "b84241492cbcba4f"),
    1_000_000_001: ("headrace.apc.ApcEvent", 1, "a1e04a8c32c2860d"),
    1_000_000_002: ("headrace.apc.ApcDelivery", 1, "ee007e15460a44cf"),
    1_000_000_003: ("headrace.apc.ApcPacketState", 1, "573d8448f3804038"),
    1_000_000_004: ("headrace.apc.ApcCoordination", 1, "478f4b6f0cc40711"),
    1_000_000_005: ("headrace.apc.ApcThrottle", 1, "d037afba69e54bdd"),
    1_000_000_006: ("headrace.apc.ApcTransferDelta", 1, "bd5e9c42cc9d15fb"),
    1_000_000_007: ("headrace.apc.ApcLineage", 1, "981d2a9d5db4de13"),
    1_000_000_008: ("headrace.apc.ApcDecision", 1, "88dbc97647981cf8"),
    1_000_000_009: ("headrace.apc.ApcTask", 1, "aa67957d7bce7586"),
    1_000_000_010: ("headrace.rtes.RtesEvent", 1, "1cbbfd1e72d12a5b"),
    1_000_000_011: ("headrace.rtes.RtesRecord", 1, "6596f6fdd7eaf5b4"),
    1_000_000_012: ("headrace.rtes.RtesRejection", 1, "fe11e1494fc3784c"),
    1_000_000_013: ("headrace.rtes.RtesSession", 1, "ae2e2348e3e5524f"),
    1_000_000_014: ("headrace.rtes.RtesId", 1, "41a5e6dd9df3dece"),
    1_000_000_015: ("headrace.saop.SaopTask", 1, "0397be678c87d29a"),
    1_000_000_016: ("headrace.core.TimerRow", 1, "72baf3a946d1c23f"),
    1_000_000_017: ("headrace.core.LineageEdge", 1, "e4db10cd2c14d435"),
    1_000_000_018: ("headrace.core.InputPosition", 1, "91e0808f996f1222"),
    1_000_000_019: ("headrace.core.KnownInputs", 1, "992b3013db3f9402"),
    1_000_000_020: ("headrace.core.AcceptedGap", 1, "80f2ac32affc865b"),
}
"""Every entry ever committed: id → record, version, fingerprint.  Lines are only added."""


def compatible(reader: Any, writer: Any) -> bool:
    """By the rules of the reference implementation."""
    checker: Any = ReaderWriterCompatibilityChecker
    result = checker().get_compatibility(parse(json.dumps(reader)), parse(json.dumps(writer)))
    return bool(result.compatibility is SchemaCompatibilityType.compatible)


def test_what_is_derived_is_what_is_committed() -> None:
    stale = [str(path) for path, text in derived().items() if path.read_text("utf-8") != text]
    assert stale == [], "run: python -m schemas.build"


def test_the_catalogue_keeps_every_entry_it_ever_had() -> None:
    present = {e.id: (e.record, e.version, fingerprint_of(e.schema).hex()) for e in CATALOGUE}
    assert present == PINNED, "pin a new entry; never change one"


def test_ids_and_versions_count_up() -> None:
    assert [entry.id for entry in CATALOGUE] == [FIRST_ID + i for i in range(len(PINNED))]
    for record in RECORDS:
        versions = [entry.version for entry in CATALOGUE.versions(record)]
        assert versions == list(range(1, len(versions) + 1))


@pytest.mark.parametrize("record", RECORDS)
def test_the_latest_version_reads_all_versions(record: str) -> None:
    latest = CATALOGUE.latest(record)
    assert latest.schema == self_contained(record)
    for entry in CATALOGUE.versions(record):
        assert compatible(latest.schema, entry.schema), f"cannot read version {entry.version}"


def test_a_field_without_default_would_be_noticed() -> None:
    schema = CATALOGUE.latest("headrace.core.TimerRow").schema
    changed = copy.deepcopy(schema)
    changed["fields"].append({"name": "kind", "type": "string"})
    assert not compatible(changed, schema)
    changed["fields"][-1]["default"] = ""
    assert compatible(changed, schema)


def test_a_changed_source_is_appended_as_a_new_version() -> None:
    entries = json.loads(files("schemas").joinpath("catalogue.json").read_text("utf-8"))
    first = copy.deepcopy(entries)
    first[0]["schema"]["fields"].pop()
    grown = updated_catalogue(first)
    assert grown[:-1] == first
    assert (grown[-1]["record"], grown[-1]["version"]) == (first[0]["record"], 2)
    assert grown[-1]["id"] == FIRST_ID + len(first)


def test_every_type_is_used_by_a_record_and_says_what_it_is() -> None:
    used = "".join(json.dumps(self_contained(record)) for record in RECORDS)
    for name, (definition, _) in definitions().items():
        assert f'"name": "{name.rpartition(".")[2]}"' in used, f"{name} is used by no record"
        assert definition["type"] in ("record", "enum")


def test_every_file_is_named_after_its_type_and_documents_it() -> None:
    for folder in files("schemas").joinpath("avro").iterdir():
        for file in folder.iterdir():
            schema = json.loads(file.read_text("utf-8"))
            assert file.name == f"{schema['name']}.avsc"
            assert schema["namespace"] == f"headrace.{folder.name}"
            assert schema["doc"].endswith(".")


def test_nullable_members_come_null_first_and_default_to_null() -> None:
    for name, (definition, _) in definitions().items():
        for field in definition.get("fields", ()):
            if isinstance(field["type"], list) and "null" in field["type"]:
                assert field["type"][0] == "null", f"{name}.{field['name']}"
                assert field["default"] is None, f"{name}.{field['name']}"


def test_a_union_is_null_and_one_type_or_several_records() -> None:
    for name, (definition, _) in definitions().items():
        for field in definition.get("fields", ()):
            kind = field["type"]
            union = kind.get("items") if isinstance(kind, dict) else kind
            if isinstance(union, list) and "null" in union:
                assert len(union) == 2, f"{name}.{field['name']}"
            elif isinstance(union, list):
                for branch in union:
                    assert isinstance(branch, str) or branch["type"] == "record"
