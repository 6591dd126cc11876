"""What is stored is written once, in a chain that shows every change."""

from __future__ import annotations

from hashlib import sha256

from schemas import canonical_json, decode, encode, to_json, uuid5_url
from tests.unit.protocols.sap.cache.support import KEY, NINE, Cache, summarize_verdicts, task_id
from topology.core import LINEAGE_EDGES
from topology.sap import SAP_CACHE_HEADS, SAP_CACHE_TABLE, SAP_VERDICTS

RECORD = "headrace.sap.SapCacheRecord"


def _stored() -> Cache:
    cache = Cache()
    for n, name in enumerate("ABC"):
        cache.store(name, n * 1000, output={"n": n, "none": None})
    return cache


def test_versions_are_a_chain() -> None:
    previous = "0" * 64
    for number, row in enumerate(_stored().versions(), 1):
        json = {name: item for name, item in to_json(RECORD, row).items() if item is not None}
        assert (json["version"], json["previousSha256"]) == (number, previous)
        previous = json.pop("recordSha256")
        assert sha256(canonical_json(json)).hexdigest() == previous
        assert json["output"] == {"n": number - 1, "none": None}


def test_keys_of_rows() -> None:
    assert sorted(_stored().rows(SAP_CACHE_TABLE)) == [f"{KEY}/0000000{n}" for n in (1, 2, 3)]


def test_edges_of_a_version() -> None:
    edges = [edge.value for edge in _stored().of(LINEAGE_EDGES)]
    node = f"sap:cache:{KEY}"
    triples = [(edge["from_node"], edge["relation"], edge["to_node"]) for edge in edges]
    assert triples[:3] == [
        (f"{node}/1", "derived_from", f"sap:outcome:{task_id('A')}/1"),
        (f"{node}/2", "derived_from", f"sap:outcome:{task_id('B')}/1"),
        (f"{node}/2", "replaces", f"{node}/1"),
    ]
    for edge, triple in zip(edges, triples, strict=True):
        assert edge["edge_id"] == sha256("|".join(triple).encode()).hexdigest()


def test_ids_of_verdicts_count_within_a_decision() -> None:
    cache = Cache(SAP_FLIGHT_LEASE_S=10)
    cache.read("A", 0)
    cache.read("B", 1000)
    cache.until(10_000)
    cause = f"timer/0/sap.cache-heads/{KEY}@{NINE + 10_000}"
    sent = cache.of(SAP_VERDICTS)
    assert [one.cause for one in sent] == ["sap.lookups/0/0", "sap.lookups/0/1", cause, cause]
    numbers = (0, 0, 0, 1)
    ids = [uuid5_url(f"headrace:sap:{o.cause}:{n}") for o, n in zip(sent, numbers, strict=True)]
    assert [one.value["verdictId"] for one in sent] == ids
    assert [one.value["at"] - NINE for one in sent] == [0, 1000, 10_000, 10_000]
    assert all(one.key == one.value["taskId"] for one in sent)


def test_a_row_that_is_there_is_never_written_over() -> None:
    """The head has lost its last version; the row of it stays as it is."""
    cache = _stored()
    sha256 = cache.versions()[1]["recordSha256"]
    head = cache.head | {"version": 2, "recordSha256": sha256}
    cache.tables[SAP_CACHE_HEADS.name][KEY] = encode(SAP_CACHE_HEADS.record, head)
    before = dict(cache.tables[SAP_CACHE_TABLE.name])
    cache.read("D", 4000, maxAgeSec=0)
    cache.read("E", 4000, maxAgeSec=0)
    verdicts = cache.store("D", 5000)
    assert summarize_verdicts(verdicts) == [
        ("D", "cache_version_exists", False),
        ("E", "stale", True),
    ]
    assert verdicts[0]["version"] == 3
    assert cache.tables[SAP_CACHE_TABLE.name] == before
    assert cache.head["version"] == 2


def test_rows_are_what_readers_get() -> None:
    cache = _stored()
    raw = cache.tables[SAP_CACHE_TABLE.name][f"{KEY}/00000002"]
    assert decode(raw, RECORD).value["taskId"] == task_id("B")
    (verdict,) = cache.read("D", 5000)
    assert verdict["record"] == cache.versions()[2]
