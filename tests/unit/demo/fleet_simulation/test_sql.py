"""Test that SQL over an export of the run gives the effectiveness that the route gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.demo.fleet_simulation import Run
from streams.routes.handle import Routes
from tests.unit.demo.fleet_simulation.test_run import get

pytestmark = pytest.mark.slow


def test_effectiveness_from_facts_is_that_of_the_route(
    done: Run, routes: Routes, tmp_path: Path
) -> None:
    pytest.importorskip("pyarrow", reason="needs pip install 'headrace[analytics]'")
    from streams.analytics import connect
    from streams.analytics.export import Options, export

    options = Options(["apc.events", "apc.lineage"])
    for _ in export(done.log, done.settings.prefix, tmp_path / "lake", options):
        pass
    items = get(routes, "/v1/lineage/summary", "limit=100")["protocol_effectiveness"]
    with connect(tmp_path / "lake") as connection:
        result = connection.execute("SELECT * FROM effectiveness()")
        names = [column[0] for column in result.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in result.fetchall()]
        totals = connection.execute("SELECT protocol_id, effectiveness_score FROM protocols")
        scores = dict(totals.fetchall())
    assert rows == [{name: item[name] for name in names} for item in items]
    assert scores == {item["protocol_id"]: item["effectiveness_score"] for item in items}
