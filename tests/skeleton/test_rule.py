"""A rule of any protocol is a row of its table and a check; both edits are all that it takes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
from jsonschema import Draft202012Validator

from tests.skeleton.with_rules import (
    POLICY_RULES,
    RESERVED,
    SHAPE_RULES,
    SUSPENDED,
    InventedRule,
    WithRules,
)
from tests.unit.schemas import examples

Json = dict[str, Any]


class Command(NamedTuple):
    """A command of one kind.

    topic, facts: where it goes, and where its verdict is.  route: the HTTP route that takes it.
    member: the path to the member that the invented rules check.  urn: what the member begins with.
    """

    topic: str
    facts: str
    route: str
    value: Json
    member: str
    urn: str = ""

    def named(self, name: str) -> Json:
        """Return the command with another name in the member."""
        return examples.changed(self.value, **{self.member: f"{self.urn}{name}"})

    @property
    def path(self) -> str:
        return f"/{self.member.replace('__', '/')}"


COMMANDS: Mapping[str, Command] = {
    "apc.packet": Command(
        "apc.packets",
        "apc.events",
        "/v1/apc/packets",
        examples.valid("apc")["idea"],
        "trace__session_id",
    ),
    "rtes.event": Command(
        "rtes.raw",
        "rtes.rejections",
        "/v1/rtes/events",
        examples.valid("rtes")["task_transition"],
        "session_id",
    ),
    "saop.turn": Command(
        "saop.turns",
        "saop.verdicts",
        "/v1/saop/turns",
        examples.valid("saop")["turn"],
        "metadata__task_id",
    ),
    "sap.task": Command(
        "sap.tasks",
        "sap.acks",
        "/v1/sap/tasks",
        examples.valid("sap/tasks")["task"],
        "issuer__agentId",
    ),
    "asap.envelope": Command(
        "asap.envelopes",
        "asap.events",
        "/v1/asap/envelopes",
        examples.valid("asap")["task_request"],
        "sender",
        "urn:asap:agent:",
    ),
    "summit.call": Command(
        "summit.calls",
        "summit.events",
        "/v1/summit/calls",
        examples.valid("summit/calls")["invoke"],
        "caller",
    ),
    "summit.reply": Command(
        "summit.replies",
        "summit.events",
        "/v1/summit/replies",
        examples.valid("summit/replies")["progress"],
        "runId",
    ),
}


def lines_of_shape(rule: InventedRule) -> dict[str, Json]:
    """Return the lines of a command that breaks a rule of shape.

    as_service: sent as if ingress had let it pass.
    """
    command = COMMANDS[rule.kind]
    value = command.named("nobody")
    line = {"topic": command.topic, "value": value}
    return {
        "validate": {"validate": rule.kind, "value": value},
        "ingress": line,
        "as_service": {**line, "as": "service"},
        **lines_of_http(rule.kind, value),
    }


def lines_of_policy(rule: InventedRule) -> dict[str, Json]:
    """Return the lines of a command that breaks a rule of the processor."""
    value = COMMANDS[rule.kind].named("suspended")
    return {
        "validate": {"validate": rule.kind, "value": value},
        **lines_of_http(rule.kind, value),
    }


def lines_of_http(kind: str, value: Json) -> dict[str, Json]:
    """Return the requests of a command: to its route, and to its protocol's JSON-RPC server."""
    headers = {"Prefer": "wait=1"}
    lines = {"post": {"query": f"POST {COMMANDS[kind].route}", "body": value, "headers": headers}}
    if kind == "asap.envelope":
        request = {"jsonrpc": "2.0", "id": 1, "method": "asap.send", "params": {"envelope": value}}
        lines["rpc"] = {"query": "POST /asap", "body": request}
    if kind == "summit.call":
        lines["rpc"] = {"query": "POST /summit", "body": value}
    return lines


SHAPE_LINES = {rule.kind: lines_of_shape(rule) for rule in SHAPE_RULES}
POLICY_LINES = {rule.kind: lines_of_policy(rule) for rule in POLICY_RULES}


class Results(NamedTuple):
    """The outputs of the lines of each kind of command, by the names of the lines."""

    shape: Mapping[str, Mapping[str, Any]]
    policy: Mapping[str, Mapping[str, Any]]
    openapi: Json
    verify: Json

    def check_response(self, response: Json) -> None:
        """Check that the OpenAPI document describes a response as it is."""
        path, status = response["query"].removeprefix("POST "), str(response["status"])
        responses = self.openapi["paths"][path]["post"]["responses"]
        content = responses.get(status, responses["default"])["content"]
        schemas = [media["schema"] for media in content.values()]
        components = self.openapi["components"]
        Draft202012Validator({"anyOf": schemas, "components": components}).validate(
            response["body"]
        )


@pytest.fixture(scope="module")
def version(tmp_path_factory: pytest.TempPathFactory) -> WithRules:
    return WithRules(tmp_path_factory.mktemp("rules"), *SHAPE_RULES, *POLICY_RULES)


@pytest.fixture(scope="module")
def results(version: WithRules) -> Results:
    tables = [*SHAPE_LINES.values(), *POLICY_LINES.values()]
    path = version.home / "scenario.jsonl"
    path.write_text("\n".join(json.dumps(line) for lines in tables for line in lines.values()))
    process = version.run("tests.skeleton.rule_bench", str(path))
    assert process.returncode == 0, process.stderr
    output: Json = json.loads(process.stdout)
    assert output["home"] == str(version.home)
    outputs = iter(output["lines"])
    shape, policy = (
        {kind: {name: next(outputs) for name in lines} for kind, lines in table.items()}
        for table in (SHAPE_LINES, POLICY_LINES)
    )
    return Results(shape, policy, output["openapi"], output["verify"])


def by_kind(rule: InventedRule) -> str:
    return rule.kind


def test_two_edits_are_made_for_each_rule(version: WithRules) -> None:
    rules = (*SHAPE_RULES, *POLICY_RULES)
    assert version.changed_files() == {
        edit.path for rule in rules for edit in (rule.row, rule.check)
    }
    protocols = {"apc", "asap", "rtes", "saop", "sap", "summit"}
    for table in (SHAPE_RULES, POLICY_RULES):
        assert {rule.row.path for rule in table} == {f"schemas/{p}/rules.py" for p in protocols}


@pytest.mark.parametrize("rule", SHAPE_RULES, ids=by_kind)
def test_validate_and_ingress_apply_a_rule_of_shape(rule: InventedRule, results: Results) -> None:
    command, outputs = COMMANDS[rule.kind], results.shape[rule.kind]
    validation = outputs["validate"]
    assert (validation["exit_code"], validation["valid"]) == (1, False)
    (problem,) = validation["errors"]
    assert (problem["rule"], problem["path"]) == (rule.code, command.path)
    assert RESERVED in problem["message"]
    assert outputs["ingress"] == [{"topic": None, "rejected": problem}]
    (response,) = outputs["post"]
    body = response["body"]
    assert (response["status"], body["status"]) == (422, 422)
    assert (body["rule"], body["path"]) == (rule.code, command.path)
    assert body["detail"] == problem["message"]
    results.check_response(response)


@pytest.mark.parametrize("rule", SHAPE_RULES, ids=by_kind)
def test_the_processor_applies_it_too(rule: InventedRule, results: Results) -> None:
    outputs = results.shape[rule.kind]
    fact = fact_in(outputs["as_service"], rule)
    assert outputs["validate"]["errors"][0]["message"] in json.dumps(fact)


@pytest.mark.parametrize("rule", POLICY_RULES, ids=by_kind)
def test_the_processor_answers_by_a_rule_of_its_own(rule: InventedRule, results: Results) -> None:
    outputs = results.policy[rule.kind]
    assert (outputs["validate"]["exit_code"], outputs["validate"]["valid"]) == (0, True)
    response, *records = outputs["post"]
    assert SUSPENDED in json.dumps(fact_in(records, rule))
    results.check_response(response)


def fact_in(records: list[Json], rule: InventedRule) -> Json:
    """Return the one fact of a rejected command."""
    topic = COMMANDS[rule.kind].facts
    (fact,) = [dict(line["value"]) for line in records if line["topic"] == topic]
    assert (fact["verdict"], fact["rule"], fact["fault"]) == ("rejected", rule.code, "sender")
    return fact


def test_a_row_has_the_code_and_the_status_of_a_nack(results: Results) -> None:
    response, *_ = results.policy["sap.task"]["post"]
    assert (response["status"], response["body"]["code"]) == (410, "FORBIDDEN")
    assert response["body"]["reason"] == SUSPENDED


@pytest.mark.parametrize(
    ("table", "kind", "code", "member", "expected"),
    [
        ("shape", "asap.envelope", -32602, "asap_error", "asap:security/permission_denied"),
        ("policy", "asap.envelope", -32602, "asap_error", "asap:security/permission_denied"),
        ("shape", "summit.call", -32602, "rule", "name.reserved"),
        ("policy", "summit.call", -32007, "rule", "name.suspended"),
    ],
)
def test_a_row_has_the_codes_of_a_json_rpc_error(
    table: str, kind: str, code: int, member: str, expected: str, results: Results
) -> None:
    outputs = results.shape if table == "shape" else results.policy
    response, *_ = outputs[kind]["rpc"]
    error = response["body"]["error"]
    assert (error["code"], error["data"][member]) == (code, expected)
    assert (RESERVED if table == "shape" else SUSPENDED) in json.dumps(error)
    results.check_response(response)


def test_verify_accepts_the_log(results: Results) -> None:
    report = results.verify
    assert report["findings"] == []
    assert report["clean"] is True
    assert report["unchecked"] == 0
    assert set(report["commands"]) == {command.topic for command in COMMANDS.values()}
    assert sum(report["commands"].values()) == sum(report["facts"].values())


def test_the_page_lists_each_rule_in_its_table(version: WithRules, results: Results) -> None:
    page = (version.home / "docs/reference/rules.md").read_text("utf-8")
    tables = {part.split("\n", 1)[0].lower(): part for part in page.split("\n## ")}
    for rule in (*SHAPE_RULES, *POLICY_RULES):
        table = tables[rule.row.path.split("/")[1]]
        (line,) = [line for line in table.splitlines() if line.startswith(f"| `{rule.code}` ")]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        shape = ["shape", "E P", RESERVED]
        expected = shape if rule in SHAPE_RULES else ["policy", "P", SUSPENDED]
        assert [*cells[1:3], cells[-1]] == expected
    assert "| -32007 |" in re.sub(" +", " ", tables["summit"].split("`name.suspended`")[1])
