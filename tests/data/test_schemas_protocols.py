"""The lists of schemas are made of what the protocols declare, and what they share names none."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import schemas
from schemas import CATALOGUE, KINDS
from schemas.build import derived_files
from schemas.json_mapping.lookup import PLAIN, mapping_of
from schemas.protocols import CORE_RECORDS, RECORDS, SPECS
from schemas.sources import definitions
from schemas.spec import Spec
from streams.docs import policy_files
from topology.protocols import DECLARED
from topology.tables import ALL as TABLES
from topology.topics import ALL as TOPICS

HERE = Path(schemas.__file__).parent
ENGINES = sorted((HERE / "json_mapping").glob("*.py"))
DERIVED = [HERE / name for name in ("build.py", "kinds.py", "sources.py", "spec.py")]
NAMESPACES = [namespace for spec in SPECS for namespace in spec.mapping.namespaces]
NAMES = {namespace.rpartition(".")[2] for namespace in NAMESPACES} | {spec.name for spec in SPECS}


def namespace_of(record: str) -> str:
    return record.rpartition(".")[0]


def test_the_specs_are_of_the_protocols_of_the_topology_in_their_order() -> None:
    assert [spec.name for spec in SPECS] == [declared.name for declared in DECLARED]


def test_kinds_are_those_of_the_specs() -> None:
    assert Counter(KINDS.keys()) == Counter(kind for spec in SPECS for kind in spec.kinds)
    assert all(KINDS[kind] is check for spec in SPECS for kind, check in spec.kinds.items())


def test_each_record_of_the_catalogue_has_one_owner() -> None:
    owned = Counter([*CORE_RECORDS, *(record for spec in SPECS for record in spec.records)])
    assert owned == Counter(CATALOGUE.records()) == Counter(RECORDS)


def test_each_record_of_the_topology_is_owned() -> None:
    records = {topic.record for topic in TOPICS} | {table.record for table in TABLES}
    assert records - {None} <= set(RECORDS)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_the_records_of_a_spec_are_in_its_namespaces_in_the_order_of_their_ids(
    spec: Spec,
) -> None:
    assert {namespace_of(record) for record in spec.records} == set(spec.mapping.namespaces)
    first = [CATALOGUE.versions(record)[0].id for record in spec.records]
    assert first == sorted(first)


def test_the_committed_files_are_those_of_the_specs_and_of_policies_and_no_others() -> None:
    exported = Counter(HERE / "json" / name for spec in SPECS for name in spec.export())
    assert Counter(derived_files().keys()) == exported + Counter([HERE / "catalogue.json"])
    committed = {path for path in (HERE / "json").rglob("*") if path.is_file()}
    assert committed == {*exported, policy_files.SCHEMA}


def test_each_namespace_has_one_mapping_and_those_of_no_protocol_the_plain_one() -> None:
    assert max(Counter(NAMESPACES).values()) == 1
    for name in definitions():
        owners = [spec for spec in SPECS if namespace_of(name) in spec.mapping.namespaces]
        assert mapping_of(name) is (owners[0].mapping if owners else PLAIN)
        assert owners or name.startswith(("headrace.core.", "headrace.push."))


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_a_mapping_names_records_of_its_own_and_members_that_are_there(
    spec: Spec,
) -> None:
    mapping = spec.mapping
    discriminators = mapping.discriminators
    named = {
        *mapping.tags,
        *mapping.sparse,
        *discriminators,
        *mapping.codes_of,
        *mapping.repetitions,
    }
    named |= {record for each in discriminators.values() for record in each.records.values()}
    named |= {each.record for each in mapping.repetitions.values()}
    codes = (mapping.codes, *mapping.codes_of.values())
    named |= {enum for each in codes for enum in each.enums}
    assert named <= definitions().keys()
    assert {namespace_of(record) for record in named} <= set(mapping.namespaces)
    for record, discriminator in discriminators.items():
        assert discriminator.union in fields_of(record)
    for record, repetition in mapping.repetitions.items():
        assert {repetition.list, *repetition.members.values()} <= fields_of(record)
        assert repetition.members.keys() <= fields_of(repetition.record)


def fields_of(record: str) -> set[str]:
    definition, _ = definitions()[record]
    return {field["name"] for field in definition["fields"]}


@pytest.mark.parametrize("path", [*ENGINES, *DERIVED], ids=lambda path: path.name)
def test_what_protocols_share_names_none_of_them(path: Path) -> None:
    text = path.read_text("utf-8").lower()
    assert [name for name in NAMES if name in text] == []
