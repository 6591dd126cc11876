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
from schemas.build import derived_files, updated_catalogue
from schemas.catalogue import FIRST_ID
from schemas.codec import fingerprint_of
from schemas.protocols import RECORDS, UNIONS
from schemas.sources import definitions, full_name, self_contained

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
    1_000_000_021: ("headrace.rtes.RtesSession", 2, "71f4dbf540549f0a"),
    1_000_000_022: ("headrace.saop.SaopTurn", 1, "f1f471286deb6008"),
    1_000_000_023: ("headrace.saop.SaopVerdict", 1, "2c999c653a21e5bb"),
    1_000_000_024: ("headrace.saop.SaopTurnLogged", 1, "fc1c061352a406f0"),
    1_000_000_025: ("headrace.saop.SaopEscalation", 1, "feb239e741115340"),
    1_000_000_026: ("headrace.saop.SaopRewind", 1, "b0136182373398d6"),
    1_000_000_027: ("headrace.saop.SaopRewindLogged", 1, "0407fa2c6131f89b"),
    1_000_000_028: ("headrace.saop.SaopTaskSignal", 1, "55bb55eb9ff9f7a3"),
    1_000_000_029: ("headrace.saop.SaopTurnHead", 1, "9dde8273c7ed3d5c"),
    1_000_000_030: ("headrace.saop.SaopTurnKnown", 1, "37dab349c0e11c48"),
    1_000_000_031: ("headrace.saop.SaopTurnHeld", 1, "3a54413c116d6a4b"),
    1_000_000_032: ("headrace.saop.SaopDetectors", 1, "b983a709f4e1b6fd"),
    1_000_000_033: ("headrace.saop.SaopRewindRow", 1, "f62008a32e4fe1a2"),
    1_000_000_034: ("headrace.rtes.RtesCall", 1, "25b50f1bac1326a8"),
    1_000_000_035: ("headrace.rtes.RtesThought", 1, "b04b2c544f2e58af"),
    1_000_000_036: ("headrace.rtes.RtesTasks", 1, "5b9ddf0b9a96c271"),
    1_000_000_037: ("headrace.sap.SapTask", 1, "064ca20abb6af99d"),
    1_000_000_038: ("headrace.sap.SapResult", 1, "1ab837eaba0de3d0"),
    1_000_000_039: ("headrace.sap.SapSignal", 1, "5204fad323c483e2"),
    1_000_000_040: ("headrace.sap.SapAck", 1, "8b7aa390f2fea5e7"),
    1_000_000_041: ("headrace.sap.SapLookup", 1, "3f9e5bc98db09af7"),
    1_000_000_042: ("headrace.sap.SapCacheVerdict", 1, "e6af0bc8af7742d6"),
    1_000_000_043: ("headrace.sap.SapTaskState", 1, "95833a75c87f3924"),
    1_000_000_044: ("headrace.sap.SapCacheRecord", 1, "17c6d6bf03f6dd1e"),
    1_000_000_045: ("headrace.sap.SapLearningSignal", 1, "86868d3fb5288c66"),
    1_000_000_046: ("headrace.sap.SapLearning", 1, "20f28b44c54b2377"),
    1_000_000_047: ("headrace.sap.SapHeuristics", 1, "ff8cee1de8a8fbda"),
    1_000_000_048: ("headrace.sap.SapPlaybook", 1, "07cc16402cd79b5b"),
    1_000_000_049: ("headrace.sap.SapKnown", 1, "15fde4944827e42e"),
    1_000_000_050: ("headrace.sap.SapRateLimit", 1, "4b21bd8846320276"),
    1_000_000_051: ("headrace.sap.SapCacheHead", 1, "cc09e051d3e12aa7"),
    1_000_000_052: ("headrace.sap.SapCacheWait", 1, "22c623f7069dc580"),
    1_000_000_053: ("headrace.sap.SapCacheStore", 1, "8134725db4644f70"),
    1_000_000_054: ("headrace.sap.SapLearningHead", 1, "e4a58377acf650d0"),
    1_000_000_055: ("headrace.sap.SapMemberGroup", 1, "a8dfb44f33afd0ff"),
    1_000_000_056: ("headrace.sap.SapMemberTotal", 1, "d1509e3a5e97b389"),
    1_000_000_057: ("headrace.sap.SapBins", 1, "16d54d3fff741ec2"),
    1_000_000_058: ("headrace.sap.SapCheckCounter", 1, "e92d94f5eb6cc1b2"),
    1_000_000_059: ("headrace.sap.SapLearningBest", 1, "f5ce9b2942583a38"),
    1_000_000_060: ("headrace.sap.SapCitationCount", 1, "c1cff1c004ed2c56"),
    1_000_000_061: ("dev.headrace.asap.AsapEnvelope", 1, "c34f068d8237497b"),
    1_000_000_062: ("dev.headrace.asap.AsapEvent", 1, "594d879dce903c93"),
    1_000_000_063: ("dev.headrace.asap.AsapTask", 1, "4b6da19ebc1232da"),
    1_000_000_064: ("dev.headrace.asap.AsapSnapshot", 1, "1a4a53f72ca00017"),
    1_000_000_065: ("dev.headrace.asap.AsapLink", 1, "89d3d4818b5f6286"),
    1_000_000_066: ("dev.headrace.asap.AsapManifest", 1, "c81ce4ffe3ee317e"),
    1_000_000_067: ("dev.headrace.asap.AsapSeen", 1, "ab43916a9bee1fdd"),
    1_000_000_068: ("dev.headrace.asap.AsapClaim", 1, "810c2f80e4ec395d"),
    1_000_000_069: ("dev.headrace.asap.AsapRedirect", 1, "b2f9659f3285f0d2"),
    1_000_000_070: ("dev.headrace.asap.AsapCall", 1, "f9fde5a1c6b5bdbe"),
    1_000_000_071: ("dev.headrace.asap.AsapAdmission", 1, "fedb9a4e19f7889a"),
    1_000_000_072: ("dev.headrace.asap.AsapHeld", 1, "2aef63ccbe2b4130"),
    1_000_000_073: ("dev.headrace.asap.AsapPatch", 1, "b323c9b32b93f574"),
    1_000_000_074: ("dev.headrace.asap.AsapVersions", 1, "c7231ed9c9d84d56"),
    1_000_000_075: ("dev.headrace.asap.AsapSnapshotId", 1, "1eca3c6d5de8c71f"),
    1_000_000_076: ("dev.headrace.asap.AsapAgent", 1, "3b7ce3691bdd9d55"),
    1_000_000_077: ("headrace.summit.SummitManifest", 1, "85c8b8998832a4bd"),
    1_000_000_078: ("headrace.summit.SummitCall", 1, "dfb29ba70a0ee2b4"),
    1_000_000_079: ("headrace.summit.SummitReply", 1, "3115d6af20a3a8ee"),
    1_000_000_080: ("headrace.summit.SummitEvent", 1, "c137290cddbfb6a2"),
    1_000_000_081: ("headrace.summit.SummitRun", 1, "c5a0471937cb2945"),
    1_000_000_082: ("headrace.summit.SummitAgent", 1, "07dd20f3c6f3c92f"),
    1_000_000_083: ("headrace.summit.SummitReplyKnown", 1, "2fc284721ad64f63"),
    1_000_000_084: ("headrace.core.AuditRedrive", 1, "f9b6de8f2cbfbdde"),
    1_000_000_085: ("headrace.saop.SaopTurnHeld", 2, "766655e04efa4b78"),
    1_000_000_086: ("dev.headrace.asap.AsapHeld", 2, "f387a0293ab5b25a"),
    1_000_000_087: ("headrace.saop.SaopRewindRow", 2, "8a76acae827a5252"),
    1_000_000_088: ("headrace.core.AuditCheckpoint", 1, "3470f56690b0197e"),
    1_000_000_089: ("headrace.sap.SapCacheVerdict", 2, "379ef869d905105f"),
    1_000_000_090: ("headrace.summit.SummitEvent", 2, "30e1bd00b63f4f6b"),
    1_000_000_091: ("headrace.summit.SummitRun", 2, "f16ebd705c0620fa"),
    1_000_000_092: ("headrace.sap.SapLearningSignal", 2, "9f6f04d4c6dd75cc"),
    1_000_000_093: ("headrace.sap.SapPlaybook", 2, "4ce9e73abb0c6abe"),
    1_000_000_094: ("headrace.sap.SapLearningBest", 2, "d2b9ae931f201143"),
    1_000_000_095: ("headrace.rtes.RtesEvent", 2, "3ad0410222570d72"),
    1_000_000_096: ("headrace.rtes.RtesRecord", 2, "9888feafbf2e087f"),
    1_000_000_097: ("headrace.saop.SaopTask", 2, "ea23fc325a42d314"),
    1_000_000_098: ("headrace.saop.SaopTaskSignal", 2, "e1940db65b120584"),
    1_000_000_099: ("headrace.saop.SaopTurnHead", 2, "ea804effa0371883"),
    1_000_000_100: ("headrace.summit.SummitEvent", 3, "feb7d921595103a9"),
    1_000_000_101: ("headrace.summit.SummitTree", 1, "adac59415bca38cd"),
    1_000_000_102: ("headrace.summit.SummitTreeTotals", 1, "90f49e08d44b5a93"),
    1_000_000_103: ("headrace.summit.SummitTreeOrigin", 1, "9080e72522307c2d"),
    1_000_000_104: ("headrace.core.AuditEntries", 1, "1abc1dacb9988151"),
    1_000_000_105: ("headrace.core.AuditTreeHead", 1, "88cd44a5f2e41b63"),
    1_000_000_106: ("headrace.rtes.RtesEvent", 3, "371611e768a6abed"),
    1_000_000_107: ("headrace.rtes.RtesRecord", 3, "a54883229533e73c"),
    1_000_000_108: ("headrace.saop.SaopTask", 3, "f49352fc75c1a169"),
    1_000_000_109: ("headrace.saop.SaopTurn", 2, "ec14eeaf93245ee0"),
    1_000_000_110: ("headrace.saop.SaopTurnLogged", 2, "4561c8796c9a0350"),
    1_000_000_111: ("headrace.saop.SaopEscalation", 2, "e982b89e2cef57ba"),
    1_000_000_112: ("headrace.saop.SaopTurnHeld", 3, "f5ef990a2654a4d1"),
    1_000_000_113: ("headrace.otel.OtelSpan", 1, "d5fa3232a3574803"),
    1_000_000_114: ("headrace.otel.OtelEvent", 1, "d7c777ed9337f3a2"),
    1_000_000_115: ("headrace.otel.OtelSpanKnown", 1, "9ddbe2e8c7e97046"),
    1_000_000_116: ("headrace.otel.OtelTrace", 1, "571339d8347b0b38"),
    1_000_000_117: ("headrace.summit.SummitEvent", 4, "4aa4747083f9c3f8"),
    1_000_000_118: ("headrace.push.PushSubscription", 1, "b3cde74ef2fefca5"),
    1_000_000_119: ("headrace.push.PushDelivery", 1, "4418d26a587591dd"),
    1_000_000_120: ("headrace.core.InputPosition", 2, "06095d33e2cda534"),
    1_000_000_121: ("headrace.core.TaskOpening", 1, "a2bfc50a68a9b8a9"),
    1_000_000_122: ("headrace.apc.ApcCoordination", 2, "3471f15d53f92e23"),
    1_000_000_123: ("headrace.rtes.RtesRecord", 4, "ee2d47736f10ab4c"),
    1_000_000_124: ("headrace.saop.SaopTask", 4, "43ea9e54e60ac32f"),
    1_000_000_125: ("headrace.saop.SaopEscalation", 3, "651ff34bcb3d927d"),
    1_000_000_126: ("headrace.saop.SaopTaskSignal", 3, "fe9e63e159d551c3"),
    1_000_000_127: ("headrace.saop.SaopTurnHead", 3, "2a8abbea367347f5"),
    1_000_000_128: ("headrace.saop.SaopControl", 1, "d893bf7669a54854"),
    1_000_000_129: ("headrace.saop.SaopControlLogged", 1, "e671ee466f74f41f"),
    1_000_000_130: ("headrace.saop.SaopControlRow", 1, "346bdfcd94d687f8"),
    1_000_000_131: ("headrace.core.AuditRepair", 1, "cc186e9ea4e28071"),
    1_000_000_132: ("headrace.apc.ApcEvent", 2, "15993265227b0a05"),
    1_000_000_133: ("headrace.apc.ApcPacketState", 2, "f06e340abd55343a"),
    1_000_000_134: ("headrace.apc.ApcTask", 2, "86bf9bcf721b9f9a"),
    1_000_000_135: ("headrace.apc.ApcOutcomeDelta", 1, "5ff077f0299ed69e"),
    1_000_000_136: ("headrace.apc.ApcPrior", 1, "aa6b091a03a39010"),
}
"""Every entry ever committed: id → record, version, fingerprint.  Lines are only added."""


NAMESPACES = {"asap": "dev.headrace.asap"}
"""Of the protocols whose spec names another than `headrace.<protocol>`."""


def compatible(reader: Any, writer: Any) -> bool:
    """By the rules of the reference implementation."""
    checker: Any = ReaderWriterCompatibilityChecker
    result = checker().get_compatibility(parse(json.dumps(reader)), parse(json.dumps(writer)))
    return bool(result.compatibility is SchemaCompatibilityType.compatible)


def test_what_is_derived_is_what_is_committed() -> None:
    stale = [str(path) for path, text in derived_files().items() if path.read_text("utf-8") != text]
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
    assert latest.schema == self_contained(record, UNIONS)
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
    used = "".join(json.dumps(self_contained(record, UNIONS)) for record in RECORDS)
    for name, (definition, _) in definitions().items():
        assert f'"name": "{name.rpartition(".")[2]}"' in used, f"{name} is used by no record"
        assert definition["type"] in ("record", "enum")


def test_every_file_is_named_after_its_type_and_documents_it() -> None:
    for folder in files("schemas").joinpath("avro").iterdir():
        for file in folder.iterdir():
            schema = json.loads(file.read_text("utf-8"))
            assert file.name == f"{schema['name']}.avsc"
            assert schema["namespace"] == NAMESPACES.get(folder.name, f"headrace.{folder.name}")
            assert schema["doc"].endswith(".")


def test_nullable_members_come_null_first_and_default_to_null() -> None:
    for name, (definition, _) in definitions().items():
        for field in definition.get("fields", ()):
            if isinstance(field["type"], list) and "null" in field["type"]:
                assert field["type"][0] == "null", f"{name}.{field['name']}"
                assert field["default"] is None, f"{name}.{field['name']}"


def test_a_union_is_null_and_plain_types_or_a_string_and_records_or_several_records() -> None:
    for name, (definition, _) in definitions().items():
        for field in definition.get("fields", ()):
            kind = field["type"]
            union = kind.get("items") if isinstance(kind, dict) else kind
            if isinstance(union, list) and "null" in union:
                plain = union == ["null", "long", "string"]
                assert len(union) == 2 or plain, f"{name}.{field['name']}"
            elif isinstance(union, list):
                records = union[1:] if union[0] == "string" else union
                for branch in records:
                    short = branch if isinstance(branch, str) else branch["name"]
                    full = full_name(short, name.rpartition(".")[0])
                    assert definitions()[full][0]["type"] == "record"


def test_a_named_union_has_records_and_a_name_that_no_type_has() -> None:
    assert not UNIONS.keys() & definitions().keys()
    for records in UNIONS.values():
        assert {definitions()[record][0]["type"] for record in records} == {"record"}
