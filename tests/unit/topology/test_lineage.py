"""Names of nodes and relations."""

from __future__ import annotations

import pytest

from topology.lineage import NODE_KINDS, RELATIONS, kind_of


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
