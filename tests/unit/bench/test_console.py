"""The figures of the console are of the right requests, files and runs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from bench.console import built_kb, routes, thing_path
from bench.console_large import make_graph, name_node
from bench.console_pages import Loads
from bench.console_rows import STEPS, count_packets, count_rows, moves, task_nodes
from bench.targets import largest
from streams.routes.table import ROUTES
from tests.unit.views.bench import Bench

MOST_SIBLINGS = 12


def test_answers_of_the_api_are_told_from_files_of_the_page() -> None:
    loads = Loads()
    for number, path in enumerate(("/console/", "/console/assets/main.js", "/v1/overview?q=1")):
        loads.sent({"requestId": str(number), "request": {"url": f"http://127.0.0.1:1{path}"}})
        loads.finished({"requestId": str(number), "encodedDataLength": 10.0 + number})
    assert loads.of(api=False) == [10.0, 11.0]
    assert loads.of(api=True) == [12.0]


def test_the_files_are_counted_as_gzip_makes_them(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    for name, size in (("index.html.gz", 500), ("index.html", 9000), ("assets/main.js.gz", 1500)):
        (tmp_path / name).write_bytes(bytes(size))
    assert built_kb(tmp_path) == 2.0


def test_each_measured_route_of_the_host_exists() -> None:
    shared = [path for paths in routes(10).values() for path in paths if "/apc/" not in path]
    known = {route.template.partition("{")[0] for route in ROUTES}
    assert [path for path in shared if not any(map(path.startswith, known))] == []


def test_the_graph_has_all_its_nodes_once_and_no_siblings_that_fold() -> None:
    graph = make_graph(300)
    nodes = [each["node"] for each in graph["nodes"]]
    assert nodes == [name_node(number) for number in range(300)]
    ends = [(each["from_node"], each["to_node"]) for each in graph["items"]]
    assert {later for later, _ in ends} == {*nodes[1:]}
    assert all(later > earlier for later, earlier in ends)
    for end in zip(*ends, strict=True):
        assert max(Counter(end).values()) <= MOST_SIBLINGS


@pytest.mark.parametrize(
    ("runs", "expected"),
    [([{"broken": 0}, {"broken": 2}, {}], 2), ([{}], None)],
)
def test_the_worst_run_counts(runs: list[dict[str, float]], expected: float | None) -> None:
    assert largest("broken")(runs) == expected


def test_the_tasks_of_a_large_view_have_so_many_steps(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.log.append(list(moves("")))
    bench.host.run()
    steps = [len(bench.look(thing_path(node))["steps"]) for node in task_nodes()]
    bench.close()
    assert steps == [STEPS] * len(steps)
    assert count_rows(tmp_path / "view") > sum(steps)


def test_a_view_that_is_not_there_has_no_count(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        count_rows(tmp_path / "view")


@pytest.mark.slow
def test_twice_as_many_rows_take_twice_as_many_packets() -> None:
    few, many = (count_packets(rows) for rows in (100_000, 200_000))
    assert few > 0
    assert abs(many - 2 * few) <= 1
