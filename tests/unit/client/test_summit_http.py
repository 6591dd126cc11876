"""Calls of Summit over a gateway that is made up: what is asked, and what its answers come to."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from streams.client.answers import GatewayResponse
from streams.client.summit_http import Ask, HttpSummitTransport
from streams.errors import GatewayUnavailable, HeadraceError, InvalidInput, ProduceUnknown
from streams.summit.errors import CallRejected, RunPending, VerdictPending

Json = dict[str, Any]
POSITION = "summit.calls/0/7"
PATHS = {"summit.calls": "/v1/summit/calls", "summit.manifests": "/v1/summit/manifests"}
CALL: Json = {"jsonrpc": "2.0", "id": 1, "method": "agent.invoke", "params": {"runId": "r"}}
RESULT = {"status": "completed", "output": {}}


class Gateway:
    """Gives these answers, one after the other."""

    def __init__(self, *answers: GatewayResponse) -> None:
        self._answers, self.asked = list(answers), list[Ask]()

    async def __call__(self, ask: Ask) -> GatewayResponse:
        self.asked.append(ask)
        return self._answers.pop(0)

    def bodies(self) -> list[Any]:
        return [orjson.loads(ask.body or b"null") for ask in self.asked]


def transport_over(*answers: GatewayResponse) -> tuple[HttpSummitTransport, Gateway]:
    gateway = Gateway(*answers)
    return HttpSummitTransport(gateway, PATHS), gateway


def rpc(result: Any) -> GatewayResponse:
    return GatewayResponse(200, {"jsonrpc": "2.0", "id": 1, "result": result})


def failed(code: int, rule: str, **data: Any) -> GatewayResponse:
    error = {"code": code, "message": f"why: {rule}", "data": {"rule": rule, **data}}
    return GatewayResponse(200, {"jsonrpc": "2.0", "id": 1, "error": error})


def pending(status: str | None) -> GatewayResponse:
    return failed(-32001, "run.pending", runId="r", status=status, position=POSITION)


def verdict_response(**event: Any) -> GatewayResponse:
    whole = {"verdict": "accepted", "rule": "call.accepted", "cause": POSITION, **event}
    return GatewayResponse(200, {"positions": [POSITION], "verdicts": [whole]})


SENT = GatewayResponse(202, {"positions": [POSITION]})


@pytest.mark.parametrize("call", [CALL, {**CALL, "caller": "desk-7"}])
def test_a_call_is_awaited_in_one_request(call: Json) -> None:
    made, gateway = transport_over(rpc(RESULT))
    assert asyncio.run(made.ended(call, 5, "00-a-b-01")) == RESULT
    (ask,) = gateway.asked
    assert ask.trace == "00-a-b-01"
    assert (ask.method, ask.path, ask.wait_s) == ("POST", "/summit", 5)
    assert gateway.bodies() == [call]


def test_who_waits_for_long_asks_again() -> None:
    """The same request: the service takes it for one."""
    made, gateway = transport_over(pending(None), pending("running"), rpc(RESULT))
    assert asyncio.run(made.ended(CALL, math.inf, None)) == RESULT
    assert [ask.wait_s for ask in gateway.asked] == [30, 30, 30]
    assert gateway.bodies() == [CALL] * 3


def test_a_wait_that_is_over_says_how_far_the_run_is() -> None:
    made, _ = transport_over(pending("queued"))
    with pytest.raises(RunPending) as caught:
        asyncio.run(made.ended(CALL, 0, None))
    assert (caught.value.run_id, caught.value.status, caught.value.position) == (
        "r",
        "queued",
        POSITION,
    )


ERRORS: Sequence[tuple[GatewayResponse, type[HeadraceError]]] = [
    (failed(-32004, "agent.unknown", runId="r"), CallRejected),
    (failed(-32603, "service.unavailable"), GatewayUnavailable),
    (GatewayResponse(503, {"rule": "service_unavailable", "detail": "away"}), ProduceUnknown),
    (GatewayResponse(502, None), ProduceUnknown),
]


@pytest.mark.parametrize(("answer", "kind"), ERRORS)
def test_errors(answer: GatewayResponse, kind: type[HeadraceError]) -> None:
    made, _ = transport_over(answer)
    with pytest.raises(kind):
        asyncio.run(made.ended(CALL, 5, None))


def test_a_rejection_keeps_rule_code_and_data() -> None:
    errors = [{"path": "/params/inputs/text", "keyword": "type"}]
    made, _ = transport_over(failed(-32602, "inputs.schema", errors=errors))
    with pytest.raises(CallRejected) as caught:
        asyncio.run(made.ended(CALL, 5, None))
    assert (caught.value.rule, caught.value.rpc_code) == ("inputs.schema", -32602)
    assert caught.value.data["errors"] == errors


def test_a_verdict_is_awaited() -> None:
    made, gateway = transport_over(SENT, verdict_response(rule="manifest.accepted"))
    event = asyncio.run(made.send_command("summit.manifests", "a", {"kind": "Agent"}, math.inf))
    assert event["rule"] == "manifest.accepted"
    assert [ask.path for ask in gateway.asked] == [PATHS["summit.manifests"]] * 2


def test_a_verdict_that_is_late() -> None:
    made, _ = transport_over(SENT)
    with pytest.raises(VerdictPending) as caught:
        asyncio.run(made.send_command("summit.manifests", "a", {"kind": "Agent"}, 0))
    assert caught.value.position == POSITION


def test_a_withdrawal_is_a_deletion() -> None:
    made, gateway = transport_over(verdict_response(rule="manifest.withdrawn"))
    asyncio.run(made.send_command("summit.manifests", "a/b", None, 5))
    (ask,) = gateway.asked
    assert (ask.method, ask.path, ask.body) == ("DELETE", "/v1/summit/manifests/a%2Fb", None)


def test_a_withdrawal_is_sent_once_however_late_its_verdict_is() -> None:
    made, gateway = transport_over(
        SENT, verdict_response(verdict="rejected", rule="manifest.not_registered")
    )
    with pytest.raises(VerdictPending):
        asyncio.run(made.send_command("summit.manifests", "a", None, 500))
    assert len(gateway.asked) == 1


def test_what_the_edge_refuses() -> None:
    errors = [{"index": 0, "rule": "manifest.role", "path": "/spec/role", "message": "no role"}]
    made, _ = transport_over(GatewayResponse(422, {"detail": "no role", "errors": errors}))
    with pytest.raises(InvalidInput) as caught:
        asyncio.run(made.send_command("summit.manifests", "a", {"kind": "Agent"}, 5))
    assert [problem.rule for problem in caught.value.problems] == ["manifest.role"]
