"""Invariants over the declarations: what must hold of every topic, table and processor."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from typing import Any

import pytest

from schemas import CATALOGUE
from topology import core, processors, tables, topics
from topology.core import CHANGELOG, ENGINE_TABLES, LINEAGE_EDGES, PUSH
from topology.declarations import ProcessorDeclaration, Table, Topic, TopicKind
from topology.protocols import DECLARED
from topology.retention import DAY_MS
from topology.sap import SAP_VERDICTS

FOR_VIEWS = [LINEAGE_EDGES]
"""Collectors that views read and no processor does; they owe no verdict."""

INPUTS = [topic for topic in topics.ALL if topic.is_input and topic not in FOR_VIEWS]
PUBLIC = [table for table in tables.ALL if table.topic]


def name(declared: Topic | Table | ProcessorDeclaration) -> str:
    return declared.name


def used_records() -> set[str]:
    of_topics = {topic.record for topic in topics.EVERY if topic.record}
    return of_topics | {table.record for table in tables.ALL}


def test_names_are_unique() -> None:
    for declared in (topics.ALL, tables.ALL, processors.ALL):
        counts = Counter(item.name for item in declared)
        assert [item for item, count in counts.items() if count > 1] == []


def test_names_are_legal_on_a_broker_with_room_for_a_prefix() -> None:
    legal = set("abcdefghijklmnopqrstuvwxyz0123456789.-")
    assert all(set(topic.name) <= legal and len(topic.name) <= 100 for topic in topics.ALL)


def test_no_two_names_collide_as_metrics() -> None:
    # Kafka's metric names do not tell `.` from `_`.
    assert len({topic.name.replace(".", "_") for topic in topics.ALL}) == len(topics.ALL)


@pytest.mark.parametrize(
    ("kind", "listed"),
    [(Topic, topics.EVERY), (Table, tables.ALL), (ProcessorDeclaration, processors.ALL)],
)
def test_every_constant_is_listed(kind: type, listed: tuple[Any, ...]) -> None:
    modules = (core, *(import_module(f"topology.{each.name}") for each in DECLARED))
    constants = {value for each in modules for value in vars(each).values() if type(value) is kind}
    copied_facts = {
        one for one in constants if isinstance(one, Table) and one.fact_key_of is not None
    }
    assert constants - copied_facts == set(listed)
    assert len(listed) == len(set(listed))


def test_everything_is_explained() -> None:
    meanings = [topic.meaning for topic in topics.ALL]
    meanings += [table.meaning for table in tables.ALL]
    meanings += [processor.meaning for processor in processors.ALL]
    assert all(text and text[0].islower() and not text.endswith(".") for text in meanings)


@pytest.mark.parametrize("topic", topics.ALL, ids=name)
def test_a_topic_has_one_writer_unless_it_collects(topic: Topic) -> None:
    writers = processors.writers_of(topic)
    if topic.kind in (TopicKind.COMMAND, TopicKind.AUDIT, TopicKind.DOOR):
        assert writers == ()
    elif topic.kind not in (TopicKind.COLLECTOR, TopicKind.CHANGELOG):
        assert len(writers) == 1 + (topic is SAP_VERDICTS)


@pytest.mark.parametrize("topic", INPUTS, ids=name)
def test_an_input_has_one_reader_that_owes_its_verdict(topic: Topic) -> None:
    assert len(processors.readers_of(topic)) == 1


@pytest.mark.parametrize("topic", INPUTS, ids=name)
def test_the_dead_letters_of_an_input_are_written_by_its_reader(topic: Topic) -> None:
    dead = topics.dead_letters_of(topic)
    assert dead in topics.ALL
    assert processors.writers_of(dead) == processors.readers_of(topic)


def test_every_dead_letter_topic_is_that_of_an_input() -> None:
    declared = {topic for topic in topics.ALL if topic.kind is TopicKind.DEAD_LETTER}
    assert declared == {topics.dead_letters_of(topic) for topic in INPUTS}


@pytest.mark.parametrize("record", sorted(used_records()))
def test_every_declared_record_has_a_schema(record: str) -> None:
    assert CATALOGUE.entry(CATALOGUE.id_of(record)).record == record


def test_every_schema_is_used() -> None:
    assert set(CATALOGUE.records()) == used_records()


@pytest.mark.parametrize("topic", topics.ALL, ids=name)
def test_values_are_bytes_only_in_dead_letters_and_the_changelog(topic: Topic) -> None:
    assert (topic.record is None) == (topic.kind in (TopicKind.DEAD_LETTER, TopicKind.CHANGELOG))


@pytest.mark.parametrize("topic", topics.ALL, ids=name)
def test_every_topic_has_keys(topic: Topic) -> None:
    assert topic.key


def test_compacted_topics_are_changelogs_of_tables_and_what_doors_keep() -> None:
    compacted = {topic for topic in topics.ALL if topic.compacted}
    assert compacted == {table.topic for table in PUBLIC} | {CHANGELOG, *PUSH}


@pytest.mark.parametrize("table", PUBLIC, ids=name)
def test_a_public_table_is_its_topic(table: Table) -> None:
    topic = table.topic
    assert topic is not None
    assert (topic.name, topic.record, topic.key) == (table.name, table.record, table.key)


@pytest.mark.parametrize("table", tables.ALL, ids=name)
def test_a_table_is_owned_by_one_processor_unless_the_engine_or_clients_write_it(
    table: Table,
) -> None:
    owners = [processor for processor in processors.ALL if table in processor.tables]
    assert len(owners) == (0 if table in (*ENGINE_TABLES, *tables.GIVEN) else 1)
    assert processors.owner_of(table) == (owners[0] if owners else None)


@pytest.mark.parametrize("processor", processors.ALL, ids=name)
def test_a_processor_reads_inputs_and_writes_what_is_declared(
    processor: ProcessorDeclaration,
) -> None:
    assert processor.inputs
    assert all(topic.is_input and topic in topics.ALL for topic in processor.inputs)
    assert all(topic in topics.ALL for topic in processor.outputs)
    assert len(set(processor.outputs)) == len(processor.outputs)
    assert all(table in tables.ALL for table in processor.tables)


@pytest.mark.parametrize("processor", processors.ALL, ids=name)
def test_a_processor_writes_the_topics_of_its_public_tables(
    processor: ProcessorDeclaration,
) -> None:
    written = {topic for topic in processor.outputs if topic.kind is TopicKind.TABLE}
    assert written == {table.topic for table in processor.tables if table.topic}


def test_what_processors_read_lies_where_its_key_says() -> None:
    assert not [topic for topic in processors.inputs() if topic.same_partition]


def test_what_processors_read_is_partitioned_alike() -> None:
    counts = {topics.partitions_of(topic, 7) for topic in processors.inputs()}
    assert counts == {7}
    assert set(processors.inputs()) == set(INPUTS)


@pytest.mark.parametrize("processor", processors.ALL, ids=name)
def test_a_copy_is_of_a_public_table_of_others_or_of_an_own_one_that_is_fresh(
    processor: ProcessorDeclaration,
) -> None:
    for table in processor.global_tables:
        assert table.topic is not None
        if table.fact_key_of is not None:
            assert table.topic.kind is TopicKind.FACT
            assert (table.record, table.topic.retention_ms) == (table.topic.record, None)
            continue
        owner = processors.owner_of(table)
        assert owner is not processor or table.caught_up
        assert (owner is None) == (table in tables.GIVEN)


@pytest.mark.parametrize("processor", processors.ALL, ids=name)
def test_rows_of_copies_under_a_limit_are_written_once(processor: ProcessorDeclaration) -> None:
    for table in processor.global_tables:
        if table.limited_by is not None:
            assert table.written_once is not None
            assert table.copied_parts == table.written_once
            assert not table.caught_up


@pytest.mark.parametrize("table", tables.GIVEN, ids=name)
def test_a_table_that_clients_write_is_a_command_topic_that_is_compacted(table: Table) -> None:
    assert table.topic is not None
    assert table.topic.kind is TopicKind.COMMAND
    assert table.topic.compacted


def test_command_topics_that_are_compacted_are_tables_and_kept_until_they_are_judged() -> None:
    compacted = [t for t in topics.ALL if t.kind is TopicKind.COMMAND and t.compacted]
    assert compacted == [table.topic for table in tables.GIVEN]
    for topic in compacted:
        assert int(topics.config_of(topic)["min.compaction.lag.ms"]) == 7 * DAY_MS


@pytest.mark.parametrize("topic", FOR_VIEWS, ids=name)
def test_a_collector_for_views_is_written_by_processors_only(topic: Topic) -> None:
    assert topic.kind is TopicKind.COLLECTOR
    assert topic.own_partition
    assert processors.writers_of(topic)
    assert not processors.readers_of(topic)


def test_the_shared_changelog_is_written_for_whoever_has_a_table_that_is_not_public() -> None:
    private = {processors.owner_of(table) for table in tables.ALL if table.topic is None}
    assert set(processors.writers_of(CHANGELOG)) == private - {None}
