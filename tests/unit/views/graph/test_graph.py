"""`lineage_graph` over graphs made by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from streams.errors import NotFound
from streams.processing.graph import LineageEdge
from streams.view_store.graph import walk
from streams.view_store.graph.index import Step, steps
from streams.views.parse import QueryError
from streams.views.reads import RowReader
from tests.unit.views.graph.facts import Drawn, Graph, distances, drawn, names
from topology.lineage import node_names

FAMILY = drawn(
    "child child_of parent",
    "parent child_of grandparent",
    "sibling child_of parent",
    "grandchild child_of child",
)
RETRACTED = drawn(
    "bad part_of root",
    "copy derived_from bad",
    "copy2 derived_from copy",
    "retraction retracts bad",
    "ack acknowledges retraction",
    "good replaces bad",
    "fine derived_from good",
)


@pytest.mark.parametrize(
    ("direction", "expected"),
    [
        ("ancestors", ["child child_of parent", "parent child_of grandparent"]),
        ("descendants", ["grandchild child_of child"]),
        (
            "both",
            ["child child_of parent", "grandchild child_of child", "parent child_of grandparent"],
        ),
    ],
)
def test_directions(direction: str, expected: list[str]) -> None:
    page = Graph(FAMILY).ask("child", direction=direction)
    assert names(page) == expected
    assert (page["node"], page["direction"]) == ("child", direction)
    assert (page["next"], page["cut"]) == (None, None)


def test_both_is_the_default_and_leaves_siblings_out() -> None:
    page = Graph(FAMILY).ask("child")
    assert page["direction"] == "both"
    assert distances(page) == {"child": 0, "grandchild": 1, "parent": 1, "grandparent": 2}


@pytest.mark.parametrize("direction", ["ancestors", "blast_radius"])
def test_a_node_without_edges_on_that_side_stands_alone(direction: str) -> None:
    node = "grandparent" if direction == "ancestors" else "sibling"
    page = Graph(FAMILY).ask(node, direction=direction)
    assert (page["items"], page["next"], page["cut"]) == ([], None, None)
    assert distances(page) == {node: 0}


@pytest.mark.parametrize("node", ["chil", "child ", "child_of", "child\0", "CHILD"])
def test_an_unknown_node_has_a_code(node: str) -> None:
    with pytest.raises(NotFound) as refusal:
        Graph(FAMILY).ask(node)
    assert refusal.value.rule == "node_unknown"


def test_an_edge_written_again_is_shown_once_with_its_first_cause() -> None:
    edge = LineageEdge("a", "derived_from", "b")
    times = [Drawn(edge, 7, 1, 4), Drawn(edge, 5, 2, 9), Drawn(edge, 5, 1, 8), Drawn(edge, 9, 0, 0)]
    for batches in ([times], [[one] for one in times], [[one] for one in reversed(times)]):
        (item,) = Graph(*batches).ask("a")["items"]
        assert (item["cause"], item["at"]) == ("apc.packets/1/8", "1970-01-01T00:00:00.005Z")


def test_offsets_are_compared_as_numbers() -> None:
    edge = LineageEdge("a", "derived_from", "b")
    (item,) = Graph([Drawn(edge, 5, 0, 300), Drawn(edge, 5, 0, 20)]).ask("a")["items"]
    assert item["cause"] == "apc.packets/0/20"


def test_two_relations_between_the_same_nodes_are_two_edges() -> None:
    page = Graph(drawn("a part_of b", "a derived_from b")).ask("a")
    assert names(page) == ["a derived_from b", "a part_of b"]


def test_a_cycle_is_walked_once_around() -> None:
    ring = drawn("a derived_from b", "b derived_from c", "c derived_from a", "c part_of c")
    for direction in ("ancestors", "descendants", "both"):
        page = Graph(ring).ask("a", direction=direction, depth=1000)
        assert sorted(names(page)) == sorted(f"{d.edge[0]} {d.edge[1]} {d.edge[2]}" for d in ring)
        assert page["cut"] is None


@pytest.mark.parametrize(
    ("depth", "reached", "cut"),
    [
        (1, 1, {"by": "depth", "bound": 1}),
        (3, 3, {"by": "depth", "bound": 3}),
        (4, 4, None),
        (9, 4, None),
    ],
)
def test_a_walk_that_the_depth_ends_says_so(
    depth: int, reached: int, cut: dict[str, object] | None
) -> None:
    chain = drawn(*(f"n{n} child_of n{n + 1}" for n in range(4)))
    page = Graph(chain).ask("n0", depth=depth)
    assert (len(page["items"]), page["cut"]) == (reached, cut)


def test_a_walk_that_the_size_ends_says_so() -> None:
    star = drawn(*(f"n{n} part_of hub" for n in range(7)))
    whole, part = (Graph(star).ask("hub", size=size) for size in (7, 6))
    assert (len(whole["items"]), whole["cut"]) == (7, None)
    assert (len(part["items"]), part["cut"]) == (6, {"by": "size", "bound": 6})


@pytest.mark.parametrize("node", ["bad", "retraction"])
def test_a_blast_radius_shows_what_came_of_the_retracted_and_not_of_its_cure(node: str) -> None:
    page = Graph(RETRACTED).ask(node, direction="blast_radius")
    assert names(page) == [
        "copy derived_from bad",
        "good replaces bad",
        "retraction retracts bad",
        "copy2 derived_from copy",
    ]
    assert distances(page) == {"bad": 0, "copy": 1, "good": 1, "retraction": 1, "copy2": 2}
    retracted = {n["node"]: n["retracted_by"] for n in page["nodes"] if n["retracted_by"]}
    assert retracted == {"bad": ["retraction"]}


def test_descendants_go_on_behind_a_retraction() -> None:
    page = Graph(RETRACTED).ask("bad", direction="descendants")
    assert {"ack acknowledges retraction", "fine derived_from good"} <= set(names(page))


def test_a_blast_radius_of_many_retracted_nodes() -> None:
    rewind = drawn(
        "r retracts t1", "r retracts t2", "r restores t0", "x part_of t1", "y part_of t2", "z p t0"
    )
    page = Graph(rewind).ask("r", direction="blast_radius")
    assert distances(page) == {"t1": 0, "t2": 0, "r": 1, "x": 1, "y": 1}


def test_what_was_retracted_is_told_of_ancestors_too() -> None:
    page = Graph(RETRACTED).ask("copy2", direction="ancestors")
    assert [n["retracted_by"] for n in page["nodes"]] == [[], [], ["retraction"], []]


def test_a_node_behind_a_retraction_is_walked_when_it_is_reached_otherwise() -> None:
    edges = drawn("r retracts bad", "r derived_from copy", "copy derived_from bad", "x answers r")
    page = Graph(edges).ask("bad", direction="blast_radius")
    assert "x answers r" in names(page)


def test_nodes_say_what_they_are() -> None:
    edges = drawn("apc:packet:p same_trace trace:s", "asap:call:trace:x same_trace trace:s")
    page = Graph(edges).ask("trace:s")
    assert {n["node"]: n["kind"] for n in page["nodes"]} == {
        "apc:packet:p": "apc:packet",
        "asap:call:trace:x": "asap:call",
        "trace:s": "trace",
    }


def test_names_may_hold_any_text() -> None:
    odd = ["a\0b", "a", "a\0", "ü/%2F|\U0001f642", "\0\1", "a\0\1b"]
    edges = [
        Drawn(LineageEdge(name, "part_of", "the root\0"), 0, 0, n) for n, name in enumerate(odd)
    ]
    page = Graph(edges).ask("the root\0")
    assert [item["from_node"] for item in page["items"]] == sorted(odd)
    for name in odd:
        (item,) = Graph(edges).ask(name)["items"]
        assert (item["from_node"], item["to_node"]) == (name, "the root\0")


def test_pages_are_the_whole_in_the_same_order() -> None:
    graph = Graph(RETRACTED)
    whole = graph.ask("bad", direction="both")
    pages = list(graph.pages("bad", direction="both", limit=2))
    assert [item for page in pages for item in page["items"]] == whole["items"]
    assert [len(page["items"]) for page in pages] == [2, 2, 2, 1]
    together = {node["node"]: node for page in pages for node in page["nodes"]}
    assert together == {node["node"]: node for node in whole["nodes"]}
    for page in pages[1:]:
        ends = {end for item in page["items"] for end in (item["from_node"], item["to_node"])}
        assert ends == set(distances(page))


def test_pages_go_on_where_they_ended_while_edges_come() -> None:
    graph = Graph(drawn("b part_of hub", "d part_of hub", "f part_of hub"))
    first = graph.ask("hub", limit=2)
    graph.read([Drawn(LineageEdge(name, "part_of", "hub"), 9, 0, 9) for name in "acg"])
    second = graph.ask("hub", limit=9, cursor=first["next"])
    assert names(first) == ["b part_of hub", "d part_of hub"]
    assert names(second) == ["f part_of hub", "g part_of hub"]


def test_a_page_goes_on_with_the_walk_of_the_page_before() -> None:
    graph = Graph(drawn(*(f"n{number:03d} part_of hub{number % 7}" for number in range(70))))
    graph.read([Drawn(LineageEdge(f"hub{n}", "part_of", "top"), n, 1, n) for n in range(7)])
    whole = graph.ask("top", direction="descendants")
    pages = graph.pages("top", direction="descendants", limit=40)
    first = next(pages)
    nodes: list[str] = []

    def noted_steps(view: RowReader, node: str, *args: Any, **kwargs: Any) -> Iterator[Step]:
        nodes.append(node)
        return steps(view, node, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk, "steps", noted_steps)
        (second,) = pages
    assert first["items"] + second["items"] == whole["items"]
    assert second["cut"] is None
    assert "top" not in nodes
    assert "hub0" not in nodes


def test_a_page_whose_walk_was_dropped_is_the_same() -> None:
    graph = Graph(RETRACTED)
    first = graph.ask("bad", limit=2)
    second = graph.ask("bad", limit=2, cursor=first["next"])
    assert graph.suspended.take(first["next"]) is None
    assert graph.ask("bad", limit=2, cursor=first["next"]) == second


@pytest.mark.parametrize("other", [{"node": "d"}, {"direction": "both"}, {"depth": 11}])
def test_a_cursor_is_of_one_question(other: dict[str, Any]) -> None:
    graph = Graph(drawn("b part_of hub", "d part_of hub"))
    query: dict[str, Any] = {"node": "hub", "direction": "descendants", "depth": 10}
    cursor = graph.ask(**query, limit=1)["next"]
    with pytest.raises(QueryError, match="not a cursor of this query"):
        graph.ask(**{**query, **other}, limit=1, cursor=cursor)


@pytest.mark.parametrize(
    "query", [{"depth": 0}, {"depth": "x"}, {"direction": "up"}, {"limit": 10_001}, {"limit": 0}]
)
def test_a_wrong_question_is_refused(query: dict[str, Any]) -> None:
    (name,) = query
    with pytest.raises(QueryError) as refusal:
        Graph(FAMILY).ask("child", **query)
    assert refusal.value.problems[0].path == name


def test_a_node_must_be_named() -> None:
    with pytest.raises(QueryError):
        Graph(FAMILY).ask("")


@pytest.mark.parametrize("way", ["descendants", "both", "blast_radius"])
@pytest.mark.parametrize("number", [0, 1])
def test_a_trace_is_found_however_it_is_written(number: int, way: str) -> None:
    names_of = node_names("trace:9e8d7c6b-5a49-4837-9625-14f3e2d1c0bf")
    graph = Graph(drawn(f"task same_trace {names_of[0]}", f"turn same_trace {names_of[1]}"))
    page = graph.ask(names_of[number], direction=way)
    assert distances(page) == dict.fromkeys(names_of, 0) | {"task": 1, "turn": 1}
    assert page["node"] == names_of[number]


def test_a_trace_that_is_written_in_one_way_only_is_found_by_the_other() -> None:
    written, other_name = node_names("trace:9e8d7c6b5a494837962514f3e2d1c0bf")
    graph = Graph(drawn(f"turn same_trace {written}"))
    page = graph.ask(other_name)
    assert distances(page) == {written: 0, "turn": 1}
