"""Names of nodes and relations."""

from __future__ import annotations

import pytest

from topology.lineage import NODE_KINDS, RELATIONS, kind_of, node_names


def test_every_kind_is_known_by_its_names() -> None:
    assert [kind_of(kind.form) for kind in NODE_KINDS] == [kind.name for kind in NODE_KINDS]


def test_kinds_and_relations_are_declared_once() -> None:
    for names in ([kind.name for kind in NODE_KINDS], [each.name for each in RELATIONS]):
        assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("node", "kind"),
    [
        ("trace:a:b", "trace"),
        ("apc:protocol:trace:x", "apc:protocol"),
        ("asap:artifact:t/a", "asap:artifact"),
        ("sap", "sap:"),
    ],
)
def test_kinds_of_odd_names(node: str, kind: str) -> None:
    assert kind_of(node) == kind


DASHED, PLAIN = (
    "trace:9e8d7c6b-5a49-4837-9625-14f3e2d1c0bf",
    "trace:9e8d7c6b5a494837962514f3e2d1c0bf",
)


def test_a_trace_of_128_bits_has_two_names() -> None:
    assert node_names(DASHED) == (DASHED, PLAIN)
    assert node_names(PLAIN) == (PLAIN, DASHED)


@pytest.mark.parametrize(
    "node",
    [
        "trace:s1",
        PLAIN.upper(),
        PLAIN + "0",
        DASHED.replace("-", "", 1),
        PLAIN.replace("trace", "apc:packet"),
    ],
)
def test_every_other_node_has_one(node: str) -> None:
    assert node_names(node) == (node,)
