"""The pages on topics, tables and processors."""

from __future__ import annotations

from streams.api.asyncapi.operations import CLIENTS, OPERATORS
from streams.docs.markdown import code, codes, fenced, grid
from topology import processors, tables, topics
from topology.core import CHANGELOG
from topology.declarations import ProcessorDeclaration, Table, Topic, TopicKind
from topology.diagrams import mermaid_processors
from topology.retention import HOUR_MS, KIB, MIB

_GATEWAYS = "gateways"


def _duration(ms: int | None) -> str:
    if ms is None:
        return "for ever"
    hours = ms // HOUR_MS
    return f"{hours // 24} days" if hours % 24 == 0 and hours > 24 else f"{hours} h"


def _size(number: int) -> str:
    whole, remainder = divmod(number, MIB)
    return f"{whole} MiB" if not remainder else f"{whole} MiB + {remainder // KIB} KiB"


def _writers(topic: Topic) -> str:
    names = [CLIENTS] if processors.written_by_clients(topic) else []
    names += [OPERATORS] if topic.kind is TopicKind.AUDIT else []
    names += [_GATEWAYS] if topic.kind is TopicKind.DOOR else []
    return ", ".join(names + [processor.name for processor in processors.writers_of(topic)])


def _readers(topic: Topic) -> str:
    if topic.kind is TopicKind.DOOR:
        return _GATEWAYS
    return ", ".join(processor.name for processor in processors.readers_of(topic))


def _retention(topic: Topic) -> str:
    return "latest row per key" if topic.compacted else _duration(topic.retention_ms)


def topics_page() -> str:
    rows = [
        (
            code(topic.name),
            topic.kind,
            topic.meaning,
            topic.key,
            code(topic.record) if topic.record else "bytes",
            _writers(topic),
            _readers(topic),
            _retention(topic),
            _size(topic.max_bytes),
        )
        for topic in topics.ALL
    ]
    header = ("topic", "kind", "holds", "key", "value", "written by", "read by", "kept", "largest")
    kinds = grid(("topic", "settings"), ((code(t.name), _config(t)) for t in topics.ALL))
    return (
        "# Topics\n\n"
        "`HEADRACE_PREFIX`, if set, is put before every name. Facts, inboxes and tables are for\n"
        "anyone to read; `read by` names only processors and gateways. Every topic has\n"
        "`HEADRACE_PARTITIONS` partitions; dead-letter topics have one.\n\n"
        "The key of an input or an inbox record decides its partition: murmur2 of the key, as\n"
        "Kafka's Java clients compute it. Facts and rows have the partition number of the input\n"
        "that caused them. In a key of several parts, joined by `/`, a `/` inside a part is\n"
        "written `%2F` and a `%` is written `%25`.\n\n"
        f"{grid(header, rows)}\n## Broker settings\n\n{kinds}"
    )


def _config(topic: Topic) -> str:
    return ", ".join(code(f"{name}={value}") for name, value in topics.config_of(topic).items())


def _owner(table: Table) -> str:
    owner = processors.owner_of(table)
    if owner:
        return owner.name
    return CLIENTS if table in tables.GIVEN else "the engine"


def tables_page() -> str:
    rows = [
        (
            code(table.name),
            table.meaning,
            table.key,
            code(table.record),
            _owner(table),
            code((table.topic or CHANGELOG).name),
            _duration(table.lifetime_ms),
        )
        for table in tables.ALL
    ]
    header = ("table", "holds", "key", "row", "written by", "changelog", "row kept after its end")
    return (
        "# Tables\n\n"
        "Each table is stored in RocksDB and can be rebuilt from its changelog at any time.\n"
        "The changelog of a public table is its topic; the other tables share one.\n\n"
        f"{grid(header, rows)}"
    )


def _processor(processor: ProcessorDeclaration) -> str:
    rows = [
        ("reads", codes(topic.name for topic in processor.inputs)),
        ("writes", codes(topic.name for topic in processor.outputs)),
        ("owns the tables", codes(table.name for table in processor.tables)),
    ]
    if processor.global_tables:
        rows.append(("copies the tables", codes(table.name for table in processor.global_tables)))
    if processor.linger_ms:
        rows.append(("lets records wait for others", f"{processor.linger_ms} ms at most"))
    return f"\n## {processor.name}\n\nIt {processor.meaning}.\n\n{grid(('', ''), rows)}"


def processors_page() -> str:
    sections = "".join(map(_processor, processors.ALL))
    graph = fenced("mermaid", mermaid_processors(processors.ALL))
    return f"# Processors\n\n{graph}{sections}"
