"""The JSON-RPC routes of a gateway with tokens: who may what, and what facts show of it."""

from __future__ import annotations

import pytest

from streams.access import Role
from streams.gateway.limits import MAX_STRANGER_BODY
from tests.unit.asap.support import call, envelope_json
from tests.unit.asap.support import error as rpc_error
from tests.unit.gateway.guarded import (
    OPERATOR,
    PLANNER,
    PRODUCER,
    READER,
    Guarded,
    Json,
)
from tests.unit.protocols.summit.queries.stage import AGENT, cancel, invoke, manifest, query
from tests.unit.protocols.summit.routes.summit_bench import MANIFESTS


class TestJsonRpcOfSummit:
    @pytest.fixture(autouse=True)
    def agent(self, guarded: Guarded) -> None:
        guarded.ask(
            *("POST", MANIFESTS, guarded.token(AGENT, PRODUCER)),
            json=[manifest()],
            headers={"prefer": "wait=20"},
        )
        guarded.bench.agent()

    def test_without_a_token_it_is_401(self, guarded: Guarded) -> None:
        answer = guarded.ask("POST", "/summit", json=invoke("rpc-0"))
        assert answer.status_code == 401
        assert answer.headers["content-type"] == "application/problem+json"

    def test_the_caller_is_filled_in(self, guarded: Guarded) -> None:
        desk = guarded.token("desk-1", PRODUCER)
        answer = guarded.ask("POST", "/summit", desk, json=invoke("rpc-1"))
        assert "result" in answer.json(), answer.text
        run = guarded.ask("GET", "/v1/summit/runs/rpc-1", guarded.token("kim", READER)).json()
        assert run["caller"] == "desk-1"
        position = answer.headers["headrace-position"]
        assert guarded.principal("summit.events", position) == "desk-1"

    def test_nobody_calls_in_anothers_name(self, guarded: Guarded) -> None:
        foreign = {**invoke("rpc-2"), "caller": "desk-1"}
        batch = [invoke("rpc-3"), foreign]
        answer = guarded.ask("POST", "/summit", guarded.token("desk-2", PRODUCER), json=batch)
        assert (answer.status_code, answer.json()["rule"]) == (403, "auth.sender")
        reader = guarded.token("kim", READER)
        assert guarded.ask("GET", "/v1/summit/runs/rpc-3", reader).status_code == 404

    @pytest.mark.parametrize(
        ("role", "request_", "status"),
        [
            (READER, query("agent.list"), 200),
            (PRODUCER, query("agent.list"), 403),
            (READER, cancel("rpc-1"), 403),
        ],
    )
    def test_methods_have_roles(
        self, guarded: Guarded, role: Role, request_: Json, status: int
    ) -> None:
        answer = guarded.ask("POST", "/summit", guarded.token("desk-1", role), json=request_)
        assert answer.status_code == status
        if status == 403:
            assert answer.json()["rule"] == "role_missing"

    def test_an_operator_cancels_any_run(self, guarded: Guarded) -> None:
        kim = guarded.token("kim", OPERATOR)
        request = {**cancel("rpc-nothing"), "caller": "operator"}
        answer = guarded.ask("POST", "/summit", kim, json=request)
        assert answer.status_code == 200
        assert answer.json()["error"]["data"]["rule"] == "run.unknown"


class TestJsonRpcOfAsap:
    def test_its_manifest_says_that_it_needs_tokens(self, guarded: Guarded) -> None:
        manifest = guarded.ask("GET", "/.well-known/asap/manifest.json").json()
        assert manifest["auth"]["schemes"] == ["bearer"]

    @pytest.mark.parametrize(
        ("token", "code"),
        [(None, "asap:security/auth_required"), ("hr_x_y", "asap:security/auth_invalid")],
    )
    def test_without_a_token_it_is_an_answer(
        self, guarded: Guarded, token: str | None, code: str
    ) -> None:
        answer = guarded.ask("POST", "/asap", token, json=call(envelope_json()))
        assert answer.status_code == 200
        error, data = rpc_error(answer.json())
        assert (error, data["status_code"], data["asap_error"]) == (-32600, 401, code)

    @pytest.mark.parametrize(
        ("principal", "role"), [("urn:asap:agent:other", PRODUCER), (PLANNER, READER)]
    )
    def test_nobody_sends_in_anothers_name_or_without_the_role(
        self, guarded: Guarded, principal: str, role: Role
    ) -> None:
        token = guarded.token(principal, role)
        answer = guarded.ask("POST", "/asap", token, json=call(envelope_json(sender=PLANNER)))
        assert answer.status_code == 200
        error, data = rpc_error(answer.json())
        assert (error, data["status_code"]) == (-32602, 403)
        assert data["asap_error"] == "asap:security/permission_denied"

    def test_large_bodies_are_for_those_with_a_token(self, guarded: Guarded) -> None:
        body = b" " * (MAX_STRANGER_BODY + 1)
        for token in (None, "hr_x_y"):
            assert guarded.ask("POST", "/asap", token, content=body).status_code == 413
        known = guarded.token(PLANNER, PRODUCER)
        answer = guarded.ask("POST", "/asap", known, content=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (200, -32700)

    def test_what_is_sent_is_signed(self, guarded: Guarded) -> None:
        token = guarded.token(PLANNER, PRODUCER)
        answer = guarded.ask("POST", "/asap", token, json=call(envelope_json(sender=PLANNER)))
        assert "result" in answer.json(), answer.text
        assert guarded.principal("asap.events", answer.json()["result"]["position"]) == PLANNER
