"""A gateway with tokens: who may what, and what facts show of it."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from streams.access import Role
from streams.access.tokens import new_token
from streams.gateway.access import ANY_TOKEN, index_routes, list_access_rules
from streams.gateway.live_tail.route import PATH as STREAM
from streams.gateway.openapi import document
from tests.unit.gateway.guarded import (
    OPERATOR,
    PLANNER,
    PRODUCER,
    READER,
    Guarded,
)
from tests.unit.protocols.summit.queries.stage import manifest
from tests.unit.protocols.summit.routes.summit_bench import CALLS, MANIFESTS, summit_bench


def example(name: str) -> Any:
    return json.loads(files("schemas").joinpath("examples", f"{name}.json").read_text())


async def _never(request: Request) -> Response:
    raise AssertionError


def rule_of(answer: Any) -> str:
    """Return the rule of a refusal: of a problem, or of an error as A2A has it."""
    body = answer.json()
    problem = body["error"]["details"][0]["metadata"] if "error" in body else body
    rule: str = problem["rule"]
    return rule


def filled(path: str) -> str:
    return path.replace("{", "").replace("}", "")


class TestEveryRoute:
    def test_those_of_the_document_are_declared(self, guarded: Guarded) -> None:
        described = guarded.ask("GET", "/openapi.json").json()["paths"]
        routes = {(m.upper(), path) for path, methods in described.items() for m in methods}
        routes.add(("GET", STREAM))  # of the live tail, which this gateway has not
        assert routes == {(method, path) for method, path, _ in list_access_rules()}

    def test_an_endpoint_without_a_rule_is_refused_at_the_start(self) -> None:
        with pytest.raises(AssertionError, match="access rule"):
            index_routes({("GET", "/v1/nothing"): _never})

    def test_all_that_is_declared_is_served(self, guarded: Guarded) -> None:
        for method, path, _ in list_access_rules():
            allowed = guarded.ask("OPTIONS", filled(path)).headers.get("allow", "")
            assert (method in allowed.split(", ")) == (path != STREAM), path

    @pytest.mark.parametrize(
        ("method", "path"), [(m, p) for m, p, n in list_access_rules() if n.is_open]
    )
    def test_what_shows_nothing_that_was_sent_is_open(
        self, guarded: Guarded, method: str, path: str
    ) -> None:
        assert (
            path.startswith(("/v1/machines", "/v1/rules"))
            or path.split("/")[1]
            in (
                *("healthz", "readyz", "metrics", "openapi.json", "asyncapi.json", ".well-known"),
                *("asap", "subjects", "schemas", "config", "mode", "console", ""),
            )
            or path in ("/v1/session", "/v1/metrics", "/v1/logs")
        )
        assert guarded.ask(method, filled(path)).status_code not in (401, 403)

    def test_all_others_need_a_token_and_a_role(self, guarded: Guarded) -> None:
        closed = [
            (m, p, n)
            for m, p, n in list_access_rules()
            if not n.is_open and not n.checked_by_endpoint and not n.optional
        ]
        assert len(closed) > 50
        for method, path, need in closed:
            answer = guarded.ask(method, filled(path))
            assert answer.status_code == 401, (method, path)
            assert rule_of(answer) == "token_missing"
            assert answer.headers["www-authenticate"] == 'Bearer realm="headrace"'
            answer = guarded.ask(method, filled(path), "hr_x_y")
            assert (answer.status_code, rule_of(answer)) == (401, "token_unknown")
            assert 'error="invalid_token"' in answer.headers["www-authenticate"]
            others = set(Role) - {*need.roles, OPERATOR}
            for role in others:
                answer = guarded.ask(method, filled(path), guarded.token("nobody", role))
                assert (answer.status_code, rule_of(answer)) == (403, need.rule), path

    @pytest.mark.parametrize(("method", "path"), [("GET", "/v1/nothing"), ("PATCH", "/summit")])
    def test_what_is_not_there_is_not_told_to_everybody(
        self, guarded: Guarded, method: str, path: str
    ) -> None:
        assert index_routes({}).match(method, path).entry is None
        assert guarded.ask(method, path).status_code == 401
        for role in ANY_TOKEN.roles:
            answer = guarded.ask(method, path, guarded.token("nobody", role))
            assert answer.status_code in (404, 405)

    def test_the_document_names_the_roles(self, guarded: Guarded) -> None:
        openapi = document(guarded.bench.settings)
        assert openapi["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
        packets = openapi["paths"]["/v1/apc/packets"]
        assert packets["post"]["security"] == [{"bearer": ["producer"]}]
        assert packets["get"]["security"] == [{"bearer": ["reader"]}]
        assert {"401", "403"} <= set(packets["get"]["responses"])
        assert openapi["paths"]["/v1/sap/signals"]["post"]["security"] == [{"bearer": ["operator"]}]
        assert "security" not in openapi["paths"]["/subjects"]["get"]


@pytest.mark.parametrize("header", ["", "Basic eDp5", "Bearer", "Bearer  ", "hr_x_y"])
def test_what_is_no_bearer_token(guarded: Guarded, header: str) -> None:
    answer = guarded.ask("GET", "/v1/apc/packets", headers={"authorization": header})
    assert (answer.status_code, answer.json()["rule"]) == (401, "token_missing")


def test_two_tokens_are_none(guarded: Guarded) -> None:
    value = f"Bearer {guarded.token('kim', READER)}"
    twice = [("authorization", value), ("authorization", value)]
    answer = guarded.bench.ask("GET", "/v1/apc/packets", headers=twice)
    assert answer.status_code == 401


@pytest.mark.parametrize("spelling", ["Bearer ", "bearer ", "BEARER   "])
def test_the_scheme_is_spelled_as_one_likes(guarded: Guarded, spelling: str) -> None:
    value = spelling + guarded.token("kim", READER)
    answer = guarded.ask("GET", "/v1/apc/packets", headers={"authorization": value})
    assert answer.status_code == 200


SENT = [
    ("/v1/apc/packets", "apc/idea", "builder-1", PRODUCER, "auth_sender", "apc.events"),
    (
        "/v1/asap/envelopes",
        "asap/task_request",
        PLANNER,
        PRODUCER,
        "sender_mismatch",
        "asap.events",
    ),
    ("/v1/sap/tasks", "sap/tasks/task", "ledger-desk", PRODUCER, "forbidden", "sap.acks"),
    ("/v1/sap/results", "sap/results/running", "A-ml-001", PRODUCER, "forbidden", "sap.acks"),
    ("/v1/sap/signals", "sap/signals/note", "kim", OPERATOR, "forbidden", "sap.acks"),
    (
        "/v1/saop/turns",
        "saop/turn",
        "saop:developer",
        PRODUCER,
        "principal_mismatch",
        "saop.verdicts",
    ),
    (
        *("/v1/rtes/events", "rtes/thought_stream", "saop:researcher"),
        *(PRODUCER, "principal_mismatch", "rtes.events"),
    ),
    (
        "/v1/rtes/events",
        "rtes/sandbox_pulse",
        "saop:any",
        PRODUCER,
        "principal_mismatch",
        "rtes.events",
    ),
    (MANIFESTS, "summit/manifests/minimal", "a", PRODUCER, "auth.sender", "summit.events"),
    (CALLS, "summit/calls/invoke", "desk-7", PRODUCER, "auth.sender", "summit.events"),
    (
        "/v1/summit/replies",
        "summit/replies/error",
        "word-stats",
        PRODUCER,
        "auth.sender",
        "summit.events",
    ),
]


@pytest.mark.parametrize(("path", "name", "principal", "role", "rule", "facts"), SENT)
def test_everybody_sends_as_themselves(
    guarded: Guarded, path: str, name: str, principal: str, role: Role, rule: str, facts: str
) -> None:
    value = example(name)
    refused = guarded.ask("POST", path, guarded.token("mallory", role), json=[value])
    assert (refused.status_code, refused.json()["rule"]) == (403, rule)
    taken = guarded.ask("POST", path, guarded.token(principal, role), json=[value])
    assert taken.status_code == 202, taken.text
    (item,) = taken.json()["positions"]
    position = item["position"] if isinstance(item, dict) else item
    assert guarded.principal(facts, position) == principal


class TestJsonRpcReplies:
    """The draft's response names neither run nor agent (Summit guide, 2.8)."""

    AGENT = "deep-researcher"

    def response(self, **members: str) -> dict[str, Any]:
        reply = example("summit/replies/seed")
        names = ("status", "output", "metrics", "provenance")
        return {
            "jsonrpc": "2.0",
            "id": 1,
            **members,
            "result": {name: reply[name] for name in names},
        }

    def test_the_agent_is_the_principal_and_the_run_that_of_the_query(
        self, guarded: Guarded
    ) -> None:
        token = guarded.token(self.AGENT, PRODUCER)
        path = "/v1/summit/replies?runId=run-12345"
        taken = guarded.ask("POST", path, token, json=self.response())
        assert taken.status_code == 202, taken.text
        (position,) = taken.json()["positions"]
        assert guarded.principal("summit.events", position) == self.AGENT
        keys = {record.key for record in guarded.bench.bench.records("summit.replies")}
        assert b"run-12345" in keys

    def test_another_agent_is_refused(self, guarded: Guarded) -> None:
        token = guarded.token("mallory", PRODUCER)
        body = self.response(runId="run-12345", agentId=self.AGENT)
        refused = guarded.ask("POST", "/v1/summit/replies", token, json=body)
        assert (refused.status_code, refused.json()["rule"]) == (403, "auth.sender")

    def test_without_a_run_nothing_is_sent(self, guarded: Guarded) -> None:
        token = guarded.token(self.AGENT, PRODUCER)
        refused = guarded.ask("POST", "/v1/summit/replies", token, json=self.response())
        assert (refused.status_code, refused.json()["rule"]) == (422, "reply.shape")
        assert refused.json()["path"] == "/runId"


def test_one_foreign_envelope_keeps_all_back(guarded: Guarded) -> None:
    own_turn = example("saop/turn")
    other = {**own_turn, "agent_id": "researcher"}
    before = len(guarded.bench.bench.records("saop.turns"))
    token = guarded.token("saop:developer", PRODUCER)
    answer = guarded.ask("POST", "/v1/saop/turns", token, json=[own_turn, other])
    assert (answer.status_code, answer.json()["path"]) == (403, "/agent_id")
    assert len(guarded.bench.bench.records("saop.turns")) == before


def test_a_claim_in_the_request_proves_nothing(guarded: Guarded) -> None:
    """The header of the log is no header of HTTP."""
    answer = guarded.ask(
        *("POST", "/v1/saop/turns", guarded.token("saop:*", PRODUCER)),
        json={**example("saop/turn"), "agent_id": "researcher", "turn_index": 99},
        headers={"headrace-principal": "root", "headrace-signature": "1;;x"},
    )
    (position,) = answer.json()["positions"]
    assert guarded.principal("saop.verdicts", position) == "saop:*"


def test_what_lies_on_the_log_without_a_signature_is_nobodys(guarded: Guarded) -> None:
    (position,) = guarded.bench.bench.append("apc.packets", example("apc/signal"))
    assert guarded.principal("apc.events", position) == "unauthenticated"


class TestOperators:
    def test_a_rewind_is_theirs(self, guarded: Guarded) -> None:
        path, body = "/v1/saop/sessions/s-1/rewind", {"task_id": "t", "reason": "wrong"}
        for role in (PRODUCER, READER):
            answer = guarded.ask("POST", path, guarded.token("kim", role), json=body)
            assert (answer.status_code, answer.json()["rule"]) == (403, "principal_mismatch")
        answer = guarded.ask("POST", path, guarded.token("kim", OPERATOR), json=body)
        assert answer.json()["fact"]["requested_by"] == "kim"

    def test_they_register_and_withdraw_any_agent(self, guarded: Guarded) -> None:
        kim, path = guarded.token("kim", OPERATOR), f"{MANIFESTS}/other"
        wait = {"prefer": "wait=20"}
        made = guarded.ask("POST", MANIFESTS, kim, json=[manifest("other")], headers=wait)
        assert made.status_code == 200, made.text
        foreign = guarded.token("mallory", PRODUCER)
        refused = guarded.ask("DELETE", path, foreign)
        assert (refused.status_code, refused.json()["rule"]) == (403, "auth.sender")
        gone = guarded.ask("DELETE", path, kim, headers=wait)
        assert [v["rule"] for v in gone.json()["verdicts"]] == ["manifest.withdrawn"]
        (position,) = gone.json()["positions"]
        assert guarded.principal("summit.events", position) == "kim"

    def test_agents_of_asap_are_put_by_themselves_or_by_them(self, guarded: Guarded) -> None:
        value = example("asap/manifests/minimal")
        path = f"/v1/asap/agents/{value['id']}"
        for token, status in (
            (guarded.token("mallory", PRODUCER), 403),
            (guarded.token(value["id"], PRODUCER), 202),
            (guarded.token("kim", OPERATOR), 202),
        ):
            assert guarded.ask("PUT", path, token, json=value).status_code == status
        assert guarded.ask("DELETE", path, guarded.token("mallory", PRODUCER)).status_code == 403
        assert guarded.ask("DELETE", path, guarded.token("kim", OPERATOR)).status_code == 202


def test_a_token_that_is_taken_back_is_refused(guarded: Guarded) -> None:
    token, entry = new_token("leaver", frozenset({READER}))
    before = guarded.tokens.read_text()
    guarded.tokens.write_text(f"{before}{entry.line()}\n")
    assert guarded.ask("GET", "/v1/apc/packets", token).status_code == 200
    guarded.tokens.write_text(before)
    assert guarded.ask("GET", "/v1/apc/packets", token).status_code == 401


def test_a_principal_has_so_many_requests_at_once(tmp_path: Path) -> None:
    token, entry = new_token("kim", frozenset({READER}))
    tokens = tmp_path / "tokens.jsonl"
    tokens.write_text(f"{entry.line()}\n")
    with summit_bench(
        tmp_path, tokens=tokens, gateway_principal_requests=2, gateway_wait_s=2
    ) as bench:
        headers = {"authorization": f"Bearer {token}"}
        waiting = "/v1/apc/packets?after=apc.packets/0/9"  # nothing comes there
        answers = bench.ask_all([("GET", waiting, {"headers": headers})] * 3)
        codes = sorted(answer.status_code for answer in answers)
        assert codes == [429, 504, 504]
        (refused,) = [answer for answer in answers if answer.status_code == 429]
        assert refused.json()["rule"] == "too_many_requests"
        assert refused.headers["retry-after"] == "1"
        assert bench.ask("GET", "/v1/apc/packets", headers=headers).status_code == 200
