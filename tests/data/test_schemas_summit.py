"""The committed examples of Summit are the seed's documents and the guide's, and go together."""

from __future__ import annotations

from importlib.resources import files

import pytest

from schemas import summit
from schemas.summit import rules, words
from tests.unit.schemas import examples

FOLDER = files("schemas").joinpath("examples/summit/manifests")
MANIFESTS = examples.valid("summit/manifests")
CALLS = examples.valid("summit/calls")


@pytest.mark.parametrize("name", ["seed", "word-stats"])
def test_the_yaml_and_the_json_of_a_manifest_are_the_same(name: str) -> None:
    assert (
        summit.load_manifest(FOLDER.joinpath(f"{name}.yaml").read_bytes()).to_json()
        == (MANIFESTS[name])
    )


@pytest.mark.parametrize(
    ("call", "manifest", "filled"),
    [
        ("seed", "seed", {"query": "status of quantum computing in 2026", "depth": 2}),
        ("invoke", "word-stats", {"text": "to be or not to be", "top": 3}),
    ],
)
def test_calls_keep_the_schema_of_their_agent(
    call: str, manifest: str, filled: dict[str, object]
) -> None:
    params, spec = CALLS[call]["params"], MANIFESTS[manifest]["spec"]
    assert params["agentId"] == MANIFESTS[manifest]["metadata"]["name"]
    text = summit.SummitManifest.from_json(MANIFESTS[manifest]).to_avro()["spec"]["interface"]
    schema = summit.schema_of(text["inputSchema_json"])
    assert schema.filled(params["inputs"]) == filled
    assert schema.errors(filled, "/params/inputs") == []
    reply = examples.valid("summit/replies")["seed" if call == "seed" else "result"]
    outputs = summit.schema_of(text["outputSchema_json"])
    assert spec["interface"]["outputSchema"]["type"] == "object"
    assert outputs.errors(reply["output"], "/output") == []


def test_every_rule_that_answers_a_request_has_a_code_of_json_rpc() -> None:
    codes = {rule.code for rule in rules.ALL}
    assert rules.RPC.keys() | rules.ENDS.keys() <= codes
    assert set(rules.RPC.values()) == {
        *(-32700, -32600, -32601, -32602, -32603),
        *range(-32007, -32000),
    }
    assert {end.code for end in rules.ENDS.values()} == set(range(-32013, -32009))
    assert {end.state for end in rules.ENDS.values()} == {words.FAILED, words.BUDGET_EXCEEDED}
