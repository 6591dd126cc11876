"""What `headrace send` says of members that were filled in."""

from __future__ import annotations

import json

import pytest

from streams.cli.send import encode_values, say_filled
from streams.settings import Settings
from tests.unit.protocols.asap.queries.stage import request

UNTRACED = {name: value for name, value in request("t1").items() if name != "trace_id"}


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ([request("t1")], ""),
        ([UNTRACED], "filled in: trace_id of 1 of 1\n"),
        ([request("t1"), UNTRACED, UNTRACED], "filled in: trace_id of 2 of 3\n"),
    ],
)
def test_a_trace_that_was_filled_in_is_said_on_standard_error(
    values: list[object], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    say_filled(encode_values("asap.envelopes", json.dumps(values).encode(), Settings()))
    assert tuple(capsys.readouterr()) == ("", line)
