"""Any graph, cyclic or not, written in any order, against a model that knows nothing of rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.errors import NotFound
from streams.processing.graph import LineageEdge
from tests.unit.views.graph.facts import Drawn, Graph, distances, drawn

NODES = [f"n{number}" for number in range(7)]
RELATIONS = ["child_of", "derived_from", "replaces", "retracts"]
EDGES = st.builds(LineageEdge, *(st.sampled_from(names) for names in (NODES, RELATIONS, NODES)))
DEPTH_OF_ALL = len(NODES) + 1
Reached = tuple[set[LineageEdge], dict[str, int]]


@st.composite
def written(draw: st.DrawFn) -> list[Drawn]:
    """Edges, some more than once, each at a place of its own."""
    edges = draw(st.lists(EDGES, min_size=1, max_size=24))
    places = st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 500))
    unique_places = draw(
        st.lists(places, min_size=len(edges), max_size=len(edges), unique_by=lambda p: p[1:])
    )
    return [Drawn(edge, *place) for edge, place in zip(edges, unique_places, strict=True)]


def cone(
    edges: Collection[LineageEdge],
    start: Collection[str],
    depth: int,
    near: Callable[[LineageEdge], str],
    far: Callable[[LineageEdge], str],
    stops: Collection[str] = (),
) -> Reached:
    """Edges and distances, by looking at every edge as often as there are steps."""
    inside, cone_edges, distance = set(start), set[LineageEdge](), dict.fromkeys(start, 0)
    here = set(start)
    for step in range(1, depth + 1):
        step_edges = {edge for edge in edges if near(edge) in here}
        cone_edges |= step_edges
        for edge in step_edges:
            distance.setdefault(far(edge), step)
        here = {far(edge) for edge in step_edges if edge.relation not in stops} - inside
        inside |= here
    return cone_edges, distance


def up(edges: Collection[LineageEdge], start: Collection[str], depth: int) -> Reached:
    return cone(edges, start, depth, lambda e: e.source, lambda e: e.target)


def down(
    edges: Collection[LineageEdge], start: Collection[str], depth: int, stops: Collection[str] = ()
) -> Reached:
    return cone(edges, start, depth, lambda e: e.target, lambda e: e.source, stops)


def both(edges: Collection[LineageEdge], start: Collection[str], depth: int) -> Reached:
    (before, earlier), (behind, later) = up(edges, start, depth), down(edges, start, depth)
    names = earlier.keys() | later.keys()
    max_distance = DEPTH_OF_ALL + 1
    return before | behind, {
        n: min(earlier.get(n, max_distance), later.get(n, max_distance)) for n in names
    }


def blast(edges: Collection[LineageEdge], start: Collection[str], depth: int) -> Reached:
    (node,) = start
    taken = {edge.target for edge in edges if edge.source == node and edge.relation == "retracts"}
    return down(edges, taken or start, depth, ("replaces", "retracts"))


MODELS: Mapping[str, Callable[[Collection[LineageEdge], Collection[str], int], Reached]] = {
    "ancestors": up,
    "descendants": down,
    "both": both,
    "blast_radius": blast,
}


@settings(deadline=None)
@given(
    edges=written(),
    node=st.sampled_from(NODES),
    direction=st.sampled_from(sorted(MODELS)),
    depth=st.integers(1, DEPTH_OF_ALL),
    limit=st.integers(1, 9),
    rnd=st.randoms(use_true_random=False),
)
def test_what_is_found_is_what_the_model_finds(
    edges: list[Drawn], node: str, direction: str, depth: int, limit: int, rnd: Random
) -> None:
    shuffled = rnd.sample(edges, len(edges))
    at = len(edges) // 2
    graph, other = Graph(edges), Graph(shuffled[:at], shuffled[at:])
    model = MODELS[direction]
    links = {each.edge for each in edges}
    if not any(node in (link.source, link.target) for link in links):
        with pytest.raises(NotFound):
            graph.ask(node, direction=direction)
        return
    page = graph.ask(node, direction=direction, depth=depth)
    expected, distance = model(links, [node], depth)
    page_edges = [LineageEdge(e["from_node"], e["relation"], e["to_node"]) for e in page["items"]]
    assert sorted(page_edges) == sorted(expected)
    assert distances(page) == distance
    assert other.ask(node, direction=direction, depth=depth) == page
    pages = list(graph.pages(node, direction=direction, depth=depth, limit=limit))
    assert [item for each in pages for item in each["items"]] == page["items"]
    assert pages[-1]["cut"] == page["cut"]
    if direction != "both":
        whole, _ = model(links, [node], DEPTH_OF_ALL)
        assert (page["cut"] is not None) == (expected != whole)
    first = {each.edge: each for each in sorted(edges, key=lambda e: e[1:], reverse=True)}
    for link, item in zip(page_edges, page["items"], strict=True):
        assert item["cause"] == first[link].cause


MANY = 100_000


@pytest.fixture(scope="module")
def large() -> Graph:
    """A hub with half of the edges, and a chain with the other half."""
    star = [f"leaf{n:06d} part_of hub" for n in range(MANY // 2)]
    chain = [f"link{n:06d} child_of link{n + 1:06d}" for n in range(MANY // 2)]
    return Graph(drawn(*star, *chain, "link000000 part_of hub"))


@pytest.mark.parametrize(("depth", "count"), [(1, MANY // 2 + 1), (MANY, MANY // 2 + 1)])
def test_a_hub_of_many_is_read_page_by_page(large: Graph, depth: int, count: int) -> None:
    pages = list(large.pages("hub", depth=depth, limit=10_000))
    seen = [item["from_node"] for page in pages for item in page["items"]]
    assert len(seen) == len(set(seen)) == count
    assert pages[-1]["cut"] is None


def test_a_chain_of_many_is_walked_to_its_end(large: Graph) -> None:
    pages = list(large.pages("link000000", direction="ancestors", depth=MANY, limit=10_000))
    far = pages[-1]["nodes"][-1]
    assert (far["node"], far["distance"]) == (f"link{MANY // 2:06d}", MANY // 2)
    assert sum(len(page["items"]) for page in pages) == MANY // 2 + 1


def test_many_edges_are_cut_at_the_size(large: Graph) -> None:
    page = large.ask("hub", size=5000, limit=10_000)
    assert (len(page["items"]), page["next"]) == (5000, None)
    assert page["cut"] == {"by": "size", "bound": 5000}
