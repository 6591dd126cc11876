"""Hashes, and the worked example of the guide with those that it prints (Summit guide, 1, 2.7)."""

from __future__ import annotations

import copy
import json
from importlib.resources import files
from typing import Any

import pytest

from schemas import decode, encode, from_json, sha256_hex, summit
from schemas.summit.words import CALL_RECORD, MANIFEST_RECORD, REPLY_RECORD
from tests.unit.schemas import examples

MANIFEST = examples.valid("summit/manifests")["word-stats"]
CALL = examples.valid("summit/calls")["invoke"]
TOOL_CALL = examples.valid("summit/calls")["tool_call"]
REPLY = examples.valid("summit/replies")["result"]
MANIFEST_HASH = "6b669a549e94716e8aa5293e548855cdd6cb4d55a6fee90ca2a6d5262c19a6aa"
CALL_HASH = "9e00fa75e8e2388d85f4dee0f6368b1726a536a228a7e0effe1f22a24670eba7"
INPUT_HASH = "6be91a01069830a5b6973015f9bdf0ca05a38e243c4eb826dd395277df62ac26"
REPLY_HASH = "d7a387cd495ab0299f85e158390fff645a2076691757d8593580fc98f79f474a"
OUTPUT_HASH = "2fdf6267708dc3394e9a2346251605fc37b4f3d582b82ba2ff6b80b1a91ee46d"


def avro(record: str, value: dict[str, Any]) -> dict[str, Any]:
    """As a record of the log is read."""
    return decode(encode(record, from_json(record, value)), record).value


def test_the_manifest() -> None:
    text = files("schemas").joinpath("examples/summit/manifests/word-stats.yaml").read_text("utf-8")
    assert summit.read_manifest(text) == MANIFEST
    validation = summit.judge_manifest(avro(MANIFEST_RECORD, MANIFEST))
    assert validation.problem is None
    assert validation.hash == summit.manifest_hash(MANIFEST) == MANIFEST_HASH


def test_the_call_and_its_inputs() -> None:
    validation = summit.judge_call(avro(CALL_RECORD, CALL))
    assert tuple(validation) == (CALL, None, CALL_HASH)
    schema = summit.schema_of(
        avro(MANIFEST_RECORD, MANIFEST)["spec"]["interface"]["inputSchema_json"]
    )
    inputs = schema.filled(validation.json["params"]["inputs"])
    assert inputs == {"text": "to be or not to be", "top": 3}
    assert schema.errors(inputs, "/params/inputs") == []
    assert summit.json_hash(inputs) == INPUT_HASH
    assert summit.timeout_ms(CALL["params"]["context"]["budget"], 600) == 20_000


def test_the_reply_and_its_output() -> None:
    validation = summit.judge_reply(avro(REPLY_RECORD, REPLY))
    assert tuple(validation) == (REPLY, None, REPLY_HASH)
    content = summit.reply_content(validation.json, "invoke")
    assert (content.problem, content.late, content.output_hash) == (None, None, OUTPUT_HASH)


def test_another_id_makes_no_other_call_and_another_caller_does() -> None:
    assert summit.call_hash({**CALL, "id": 1, "jsonrpc": "?"}) == CALL_HASH
    assert summit.call_hash({**CALL, "caller": "desk-8"}) != CALL_HASH
    assert summit.call_hash({n: m for n, m in CALL.items() if n != "caller"}) != CALL_HASH
    assert summit.call_hash({**CALL, "method": "tool.call"}) != CALL_HASH


def test_an_empty_context_is_not_an_absent_one() -> None:
    bare = copy.deepcopy(CALL)
    del bare["params"]["context"]
    empty = copy.deepcopy(CALL)
    empty["params"]["context"] = {}
    hashes = {summit.judge_call(avro(CALL_RECORD, call)).hash for call in (bare, empty, CALL)}
    assert len(hashes) == 3


@pytest.mark.parametrize(("member", "empty"), [("tools", []), ("resources", {})])
def test_empty_tools_and_resources_are_none(member: str, empty: Any) -> None:
    manifest = examples.valid("summit/manifests")["minimal"]
    with_it = {**manifest, "spec": {**manifest["spec"], member: empty}}
    assert summit.manifest_hash(with_it) == summit.manifest_hash(manifest)
    assert summit.judge_manifest(avro(MANIFEST_RECORD, manifest)).hash == summit.manifest_hash(
        manifest
    )


def test_an_empty_list_of_checks_is_none() -> None:
    reply = copy.deepcopy(examples.valid("summit/replies")["verification"])
    del reply["verification"]["checks"]
    with_empty_list = {**reply, "verification": {**reply["verification"], "checks": []}}
    assert summit.reply_hash(reply) == summit.reply_hash(with_empty_list)
    assert summit.judge_reply(avro(REPLY_RECORD, reply)).hash == summit.reply_hash(reply)


def test_a_tool_with_input_schema_has_the_hash_of_one_with_arguments() -> None:
    manifest = examples.valid("summit/manifests")["mcp_tool"]
    form = summit.manifest_form(manifest)
    assert "inputSchema" not in form["spec"]["tools"][0]
    assert form["spec"]["tools"] == MANIFEST["spec"]["tools"]
    again = {**form, "metadata": {**form["metadata"], "version": "1.2.0"}}
    assert summit.manifest_hash(again) == MANIFEST_HASH


def test_the_spelling_of_open_json_does_not_matter() -> None:
    value = avro(CALL_RECORD, CALL)
    record, params = value["params"]
    spelled = '{ "text" : "to be or not\\u0020to be" }'
    validation = summit.judge_call(
        {**value, "params": (record, {**params, "inputs_json": spelled})}
    )
    assert validation == (CALL, None, CALL_HASH)


def test_null_stays_where_it_is_a_value() -> None:
    tool = {**examples.valid("summit/replies")["tool_output"], "output": None}
    validation = summit.judge_reply(avro(REPLY_RECORD, tool))
    assert validation.json == tool
    content = summit.reply_content(validation.json, "tool")
    assert (content.output, content.late) == (None, None)
    assert content.output_hash == sha256_hex(b"null")
    without = {name: member for name, member in tool.items() if name != "output"}
    assert summit.reply_hash(without) != validation.hash
    assert summit.reply_content(without, "tool").output is summit.ABSENT


@pytest.mark.parametrize("text", ['{"a":1,"a":2}', "{", "", "NaN", "1e400", '"\\ud800"'])
def test_what_cannot_be_parsed_is_hashed_as_a_string(text: str) -> None:
    value = avro(REPLY_RECORD, REPLY)
    validation = summit.judge_reply({**value, "output_json": text})
    assert validation.hash == summit.reply_hash({**REPLY, "output": text})
    assert isinstance(validation.json["output"], summit.UnparsableJson)
    assert summit.reply_content(validation.json, "tool").output_hash is None
    assert json.dumps(validation.json["output"]) == json.dumps(text)


def test_what_is_not_finite_has_a_hash_too() -> None:
    value = avro(REPLY_RECORD, REPLY)
    value["metrics"]["cost_usd"] = float("nan")
    assert len(summit.judge_reply(value).hash) == 64
    call = avro(CALL_RECORD, CALL)
    call["params"][1]["context"]["budget"]["usd"] = float("inf")
    validation = summit.judge_call(call)
    assert validation.problem is not None
    assert (validation.problem.rule, len(validation.hash)) == ("budget.value", 64)
