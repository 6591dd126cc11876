"""The record key that `headrace send` takes for values that do not say it."""

from __future__ import annotations

import json

import pytest

from streams.cli.send import encode_values
from streams.errors import InvalidInput, UsageError
from streams.settings import Settings
from tests.unit.schemas import examples

REPLY = examples.valid("summit/replies")["seed"]
RESPONSE = {
    "jsonrpc": "2.0",
    "id": 1,
    "agentId": REPLY["agentId"],
    "result": {name: REPLY[name] for name in ("output", "metrics", "provenance")},
}


def test_it_names_the_run_of_a_response() -> None:
    text = json.dumps(RESPONSE).encode()
    (output,) = encode_values("summit.replies", text, Settings(), "run-12345")
    assert output.key == b"run-12345"
    with pytest.raises(InvalidInput, match="runId"):
        encode_values("summit.replies", text, Settings())


def test_other_values_say_theirs_themselves() -> None:
    with pytest.raises(UsageError, match="say their key themselves"):
        encode_values("sap.tasks", b"{}", Settings(), "k")
