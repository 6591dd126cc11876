"""Every rule code of calls and replies that the processor applies is decided by something."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from schemas import from_json
from schemas.rules import Where
from schemas.summit import rules
from schemas.summit.words import CALL_RECORD
from tests.unit.protocols.summit.processor.support import (
    CRITIC,
    METRICS,
    PROVENANCE,
    START_MS,
    Bench,
    Json,
    cancel,
    invoke,
    manifest,
    tool_call,
)
from topology.summit import SUMMIT_CALLS

Story = Callable[[Bench], Json]


def avro(bench: Bench, call: Json, change: Callable[[Json], None]) -> Json:
    """The fact of a call as no edge would let it pass.  change: of its Avro value."""
    value = from_json(CALL_RECORD, call)
    change(value)
    return bench.fact(bench.record(SUMMIT_CALLS, value, avro=True, key="R"))


def params(**more: Any) -> Callable[[Json], None]:
    return lambda value: value["params"][1].update(more)


def after(*stories: Story) -> Story:
    """What the last one gets, after the others."""

    def play(bench: Bench) -> Json:
        return [story(bench) for story in stories][-1]

    return play


def queued(**more: Any) -> Story:
    return lambda b: b.invoke(**more)


def replied(kind: str, *names: str, **more: Any) -> Story:
    return lambda b: b.reply(kind, *names, **more)


def fault(kind: str, **more: Any) -> Story:
    return after(queued(), replied(kind, **more))


def limited(kind: str, budget: Json, **more: Any) -> Story:
    return after(queued(context={"budget": budget}), replied(kind, **more))


def late(bench: Bench) -> Json:
    bench.advance_to(START_MS + 3_600_000)
    return bench.facts()[-1]


DELIVERY: Json = {
    "kind": "invoke",
    "agentVersion": "1.0.0",
    "manifestHash": "",
    "callPosition": "",
    "dueAt": 0,
    "reason": None,
}
NO_TEXT: Json = {"traceId": None, "parentRunId": None, "budget": None, "extra_json": "{"}
BIG: Json = {"default": "y" * 100_000}
WIDE: Json = {
    "inputSchema": {"type": "object", "properties": {"a": BIG, "b": BIG}},
    "outputSchema": {"type": "object"},
}
DONE = after(queued(), replied("result"))
PAID: Json = {"tokens": 7, "cost_usd": 2}

STORIES: Mapping[str, Story] = {
    "json.invalid": lambda b: avro(b, invoke(), params(context=NO_TEXT)),
    "rpc.version": lambda b: b.call(invoke(jsonrpc="1.0")),
    "rpc.id": lambda b: b.call(invoke(id="x" * 257)),
    "rpc.id_required": lambda b: avro(b, invoke(), lambda value: value.update(id=None)),
    "rpc.method": lambda b: avro(b, invoke(), lambda value: value.update(method="agent.list")),
    "params.shape": lambda b: avro(b, invoke(), lambda value: value.update(delivery=DELIVERY)),
    "params.agent_id": lambda b: b.call(invoke(agentId="A")),
    "params.run_id": lambda b: b.call(invoke("a b")),
    "params.tool_call": lambda b: b.call(tool_call(name="")),
    "params.size": lambda b: b.call(tool_call(arguments={"title": "x" * 262_144})),
    "params.reason": lambda b: b.call(cancel(reason="x" * 1_001)),
    "context.trace_id": lambda b: b.call(invoke(context={"traceId": ""})),
    "context.parent": lambda b: b.call(invoke(context={"parentRunId": "R"})),
    "context.size": lambda b: b.call(invoke(context={"note": "x" * 16_384})),
    "budget.value": lambda b: b.call(invoke(context={"budget": {"usd": -0.5}})),
    "caller.value": lambda b: b.call(invoke(caller="")),
    "key.mismatch": lambda b: b.call(invoke(), key="S"),
    "partition_mismatch": lambda b: b.call(invoke(), partition=1),
    "run.conflict": after(queued(), queued(inputs={"text": ""})),
    "agent.unknown": lambda b: b.call(invoke(agentId="nobody")),
    "agent.withdrawn": after(lambda b: b.withdraw(), queued()),
    "tool.unknown": lambda b: b.call(tool_call(name="other")),
    "inputs.schema": queued(inputs={}),
    "inputs.size": after(
        lambda b: b.register(manifest(version="2.0.0", interface=WIDE)),
        queued(inputs={"text": "x" * 90_000}),
    ),
    "run.unknown": replied("result"),
    "run.terminal": after(DONE, replied("result", "again")),
    "cancel.agent": after(queued(), lambda b: b.cancel(agentId=CRITIC)),
    "cancel.not_caller": after(queued(), lambda b: b.cancel(caller="desk-8")),
    "reply.shape": fault("progress", status="completed"),
    "reply.conflict": after(DONE, replied("result", output={"words": 7})),
    "reply.agent": fault("result", agentId=CRITIC),
    "metrics.missing": fault("result", metrics=None),
    "metrics.value": fault("result", metrics={**METRICS, "latency_ms": -1}),
    "provenance.missing": fault("error", provenance=None),
    "provenance.value": fault("error", provenance={**PROVENANCE, "note": "x" * 16_384}),
    "verification.value": fault("result", verification={"status": "passed", "score": -1}),
    "status.value": fault("result", status="failed"),
    "error.value": fault("error", error={"code": -32_768, "message": "m"}),
    "budget.none": fault("error", status="budget_exceeded"),
    "budget.usd": limited("progress", {"usd": 1}, metrics=PAID),
    "budget.tokens": limited("result", {"tokens": 6}, metrics=PAID),
    "budget.agent_stop": limited("error", {"tokens": 9}, metrics=PAID, status="budget_exceeded"),
    "budget.seconds": after(queued(context={"budget": {"seconds": 1}}), late),
    "run.timeout": after(queued(), late),
    "output.value": fault("result", output="x" * 393_216),
    "output.schema": fault("result", output={"words": 1, "top": "be"}),
    "judge.not_completed": fault("verification"),
    "judge.not_critic": after(DONE, replied("verification", agentId="nobody")),
    "judge.self": after(
        queued(agentId=CRITIC),
        replied("result", agentId=CRITIC),
        replied("verification", agentId=CRITIC),
    ),
    "judge.already": after(DONE, replied("verification"), replied("verification", "more")),
    "call.accepted": queued(),
    "cancel.accepted": after(queued(), lambda b: b.cancel()),
    "reply.progress": fault("progress"),
    "reply.result": fault("result"),
    "reply.error": fault("error"),
    "reply.verification": after(DONE, replied("verification")),
    "call.duplicate": after(queued(), queued()),
    "cancel.duplicate": after(queued(), lambda b: b.cancel(), lambda b: b.cancel()),
    "reply.duplicate": after(DONE, replied("result")),
}
BY_POLICY = {"budget.missing", "budget.cap"}
"""Rules that no default sets; `tests.unit.protocols.summit.test_caps` has them."""
ANSWERED_AT_THE_EDGE = {"budget.key"}
"""Rules of the processor too, which no Avro record can break (Summit guide, 3)."""
OF_TREES = {rule.code for rule in rules.ALL if rule.code.startswith(("tree.", "budget.tree"))}
"""Rules of records between runs; `test_trees` has them."""
AT_THE_END_OF_A_CRITICS_RUN = {"judge.recorded", "judge.flagged"}
"""Rules of no record; `tests.unit.protocols.summit.queries.test_judging` has them."""


def test_every_code_has_a_story() -> None:
    codes = {rule.code for rule in rules.ALL if rule.where is not Where.EDGE}
    codes_in_use = {code for code in codes if not code.startswith("manifest.")}
    elsewhere = ANSWERED_AT_THE_EDGE | AT_THE_END_OF_A_CRITICS_RUN | OF_TREES | BY_POLICY
    assert codes_in_use - elsewhere == set(STORIES)


@pytest.mark.parametrize("code", STORIES)
def test_a_code(code: str) -> None:
    bench = Bench(partitions=4 if code == "partition_mismatch" else 1)
    fact = STORIES[code](bench)
    assert fact["rule"] == code
    assert fact["message"].startswith(f"{code}: ")
    assert fact["fault"] == ("sender" if fact["verdict"] == "rejected" else None)
    if code in rules.ENDS:
        end = rules.ENDS[code]
        assert (bench.state(), bench.run()["error"]["code"]) == (end.state, end.code)
    elif code.endswith(".duplicate"):
        assert fact["verdict"] == "duplicate"
    elif rules.RPC.get(code) is not None:
        assert fact["verdict"] == "rejected"
