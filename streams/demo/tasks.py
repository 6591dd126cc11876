"""The fourth act: a task between two agents of ASAP, left in the middle and taken up again.

Both agents speak to `POST /asap`; what they say is the example agents' (`streams.agents.asap`).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from schemas.asap import (
    EXT_SNAPSHOT,
    Envelope,
    StateQuery,
    TaskCancel,
    TaskRequest,
    derived_id,
    make_envelope,
)
from streams.agents.asap.indexer import SKILL, State, resumed, work
from streams.demo.context import DemoContext, DemoFailed, Json, act

PAGES, DONE_FIRST = 4, 2
_TOO_LATE = "asap:task/already_completed"
_UNKNOWN = "asap:task/not_found"
_AT_MS = 1_795_255_200_000
"""A fixed time of the request, so that it is the same in every call."""


def planner(ctx: DemoContext) -> str:
    return f"urn:asap:agent:planner:{ctx.session}"


def indexer(ctx: DemoContext) -> str:
    return f"urn:asap:agent:indexer:{ctx.session}"


def asked_for(ctx: DemoContext) -> Envelope:
    """Return this run's TaskRequest."""
    payload = TaskRequest(
        conversation_id=ctx.session,
        skill_id=SKILL,
        input={"pages": PAGES},
        config={"state_mode": "event-sourced"},
    )
    return make_envelope(
        payload,
        sender=planner(ctx),
        recipient=indexer(ctx),
        trace_id=_trace(ctx),
        id=derived_id(ctx.session, 0, _AT_MS),
        timestamp=datetime.fromtimestamp(_AT_MS / 1000, UTC),
    )


def _trace(ctx: DemoContext) -> str:
    return f"tr-{ctx.session}"


def _call(ctx: DemoContext, envelope: Envelope) -> Json:
    """Send an envelope, print its reply and return the result of the JSON-RPC call."""
    answer = ctx.door.call(envelope.model_dump(mode="json"))
    if "result" not in answer:
        raise DemoFailed(f"{envelope.payload_type} is refused: {answer['error']}")
    result: Json = answer["result"]
    reply = result["envelope"]
    text = f"{envelope.payload_type} → {result['verdict']}, {reply['payload'].get('status')}"
    ctx.show("envelope", text)
    return result


def send_request(ctx: DemoContext) -> None:
    """A planner asks an indexer for four pages: the task is on the log, and open."""
    result = _call(ctx, asked_for(ctx))
    ctx.expect("the task", result["task_id"], asked_for(ctx).id)
    ctx.expect("the status", result["envelope"]["payload"]["status"], "submitted")


def begun(ctx: DemoContext) -> None:
    """The indexer does two of them; where it is goes out with each report."""
    for envelope in islice(work(asked_for(ctx), State()), DONE_FIRST):
        result = _call(ctx, envelope)
        ctx.expect("the status", result["envelope"]["payload"]["status"], "working")


def taken_up(ctx: DemoContext) -> None:
    """The indexer is gone.  Another one in its place asks where it was, and goes on from there."""
    request, service = asked_for(ctx), ctx.settings.asap_service_urn
    query = make_envelope(StateQuery(task_id=request.id), sender=indexer(ctx), recipient=service)
    snapshot = _call(ctx, query)["envelope"]["extensions"][EXT_SNAPSHOT]
    ctx.show("snapshot", f"version {snapshot['version']}: {_page(snapshot['data'])}")
    ctx.expect("the page", snapshot["data"]["page"], DONE_FIRST)
    for envelope in work(request, resumed(snapshot["data"])):
        position = _call(ctx, envelope)["position"]
    task = ctx.get(f"/v1/asap/tasks/{request.id}", f"after={position}")
    ctx.expect("the status", task["task"]["status"], "completed")
    ctx.expect("the digest", task["response"]["payload"]["result"]["digest"], _unbroken().digest)


def _page(data: Json) -> str:
    return f"page {data['page']}, digest {data['digest']}"


def _unbroken() -> State:
    state = State()
    for _ in range(PAGES):
        state = state.next()
    return state


def asked_again(ctx: DemoContext) -> None:
    """The planner has lost the answer and asks again: it gets the same response, no new task."""
    result = _call(ctx, asked_for(ctx))
    ctx.expect("the verdict", result["verdict"], "duplicate")
    ctx.expect("the reply", result["envelope"]["payload_type"], "TaskResponse")


def too_late(ctx: DemoContext) -> None:
    """A cancel now is too late, and is told so."""
    cancel = make_envelope(
        TaskCancel(task_id=asked_for(ctx).id), sender=planner(ctx), recipient=indexer(ctx)
    )
    error = ctx.door.call(cancel.model_dump(mode="json"))["error"]["data"]
    ctx.expect("the error", error["asap_error"], _TOO_LATE)
    ctx.show("refused", f"{error['rule']}: {error['error']}")


def unknown(ctx: DemoContext) -> None:
    """A cancel of a task that nobody knows, without a trace: its refusal can be traced."""
    task_id = f"task-{ctx.session}"
    cancel = make_envelope(
        TaskCancel(task_id=task_id), sender=planner(ctx), recipient=indexer(ctx), trace_id=None
    )
    error = ctx.door.call(cancel.model_dump(mode="json"))["error"]["data"]
    ctx.expect("the error", error["asap_error"], _UNKNOWN)
    ctx.show("refused", f"{error['rule']}: {error['error']}")
    ctx.expect("the trace", error["trace_id"], task_id)
    ctx.expect("the envelope", error["correlation_id"], cancel.id)
    ctx.show("trace", f"{error['trace_id']}, filled in from the task's id")


def looked_back(ctx: DemoContext) -> None:
    """Every event is there, in one trace; and the state after each of them."""
    path = f"/v1/asap/tasks/{asked_for(ctx).id}/events"
    events = ctx.get(path)["events"]
    for event in events:
        ctx.say(f"    {event['sequence']:>2}  {event['payload_type']:<14}{event['status']}")
    traces = {event["trace_id"] for event in events if event["payload_type"] != "StateQuery"}
    ctx.expect("the trace", traces, {_trace(ctx)})
    then: Any = ctx.get(path, f"at={1 + DONE_FIRST}")["state"]
    ctx.expect("the page then", then["data"]["page"], DONE_FIRST)
    ctx.expect("the status then", then["task"]["status"], "working")
    ctx.show("at event", f"{1 + DONE_FIRST}: {_page(then['data'])}")


STEPS: tuple[Callable[[DemoContext], None], ...] = (
    send_request,
    begun,
    taken_up,
    asked_again,
    too_late,
    unknown,
    looked_back,
)


def tell(ctx: DemoContext) -> None:
    """Run act four.  Raises DemoFailed at the first failed check."""
    ctx.say("\nAct four: two agents, and a task that is left and taken up again.")
    if needs_manifests(ctx):
        ctx.say("    left out: agents need a manifest here")
        return
    act(ctx, "four", STEPS)


def needs_manifests(ctx: DemoContext) -> bool:
    """Return whether an agent of ASAP without a manifest is refused."""
    match ctx.settings.asap_recipient_check:
        case "never":
            return False
        case "always":
            return True
    return bool(ctx.get("/v1/asap/agents", "limit=1")["agents"])
