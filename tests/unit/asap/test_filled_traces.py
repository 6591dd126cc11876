"""The trace of an envelope that has none (ASAP guide, 6.2), in process."""

from __future__ import annotations

from streams import create_app
from tests.unit.asap.support import call, envelope_json, manifest, post


def test_a_missing_trace_is_the_task_s_on_every_attempt() -> None:
    app, of = create_app(manifest()), envelope_json(trace_id=None)
    for _ in range(2):
        result = post(app, call(of))["result"]
        assert result["filled"] == ["trace_id"]
        assert (result["envelope"]["trace_id"], result["envelope"]["correlation_id"]) == (
            of["id"],
            of["id"],
        )
