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
_AT_MS = 1_795_255_200_000
"""A fixed time of the request, so that it is the same in every call."""


def planner(stage: DemoContext) -> str:
    return f"urn:asap:agent:planner:{stage.session}"


def indexer(stage: DemoContext) -> str:
    return f"urn:asap:agent:indexer:{stage.session}"


def asked_for(stage: DemoContext) -> Envelope:
    """Return this run's TaskRequest."""
    payload = TaskRequest(
        conversation_id=stage.session,
        skill_id=SKILL,
        input={"pages": PAGES},
        config={"state_mode": "event-sourced"},
    )
    return make_envelope(
        payload,
        sender=planner(stage),
        recipient=indexer(stage),
        trace_id=_trace(stage),
        id=derived_id(stage.session, 0, _AT_MS),
        timestamp=datetime.fromtimestamp(_AT_MS / 1000, UTC),
    )


def _trace(stage: DemoContext) -> str:
    return f"tr-{stage.session}"


def _call(stage: DemoContext, envelope: Envelope) -> Json:
    """Send an envelope, print its reply and return the result of the JSON-RPC call."""
    answer = stage.door.call(envelope.model_dump(mode="json"))
    if "result" not in answer:
        raise DemoFailed(f"{envelope.payload_type} is refused: {answer['error']}")
    result: Json = answer["result"]
    reply = result["envelope"]
    text = f"{envelope.payload_type} → {result['verdict']}, {reply['payload'].get('status')}"
    stage.show("envelope", text)
    return result


def send_request(stage: DemoContext) -> None:
    """A planner asks an indexer for four pages: the task is on the log, and open."""
    result = _call(stage, asked_for(stage))
    stage.expect("the task", result["task_id"], asked_for(stage).id)
    stage.expect("the status", result["envelope"]["payload"]["status"], "submitted")


def begun(stage: DemoContext) -> None:
    """The indexer does two of them; where it is goes out with each report."""
    for envelope in islice(work(asked_for(stage), State()), DONE_FIRST):
        result = _call(stage, envelope)
        stage.expect("the status", result["envelope"]["payload"]["status"], "working")


def taken_up(stage: DemoContext) -> None:
    """The indexer is gone.  Another one in its place asks where it was, and goes on from there."""
    request, service = asked_for(stage), stage.settings.asap_service_urn
    query = make_envelope(StateQuery(task_id=request.id), sender=indexer(stage), recipient=service)
    snapshot = _call(stage, query)["envelope"]["extensions"][EXT_SNAPSHOT]
    stage.show("snapshot", f"version {snapshot['version']}: {_page(snapshot['data'])}")
    stage.expect("the page", snapshot["data"]["page"], DONE_FIRST)
    for envelope in work(request, resumed(snapshot["data"])):
        position = _call(stage, envelope)["position"]
    task = stage.get(f"/v1/asap/tasks/{request.id}", f"after={position}")
    stage.expect("the status", task["task"]["status"], "completed")
    stage.expect("the digest", task["response"]["payload"]["result"]["digest"], _unbroken().digest)


def _page(data: Json) -> str:
    return f"page {data['page']}, digest {data['digest']}"


def _unbroken() -> State:
    state = State()
    for _ in range(PAGES):
        state = state.next()
    return state


def asked_again(stage: DemoContext) -> None:
    """The planner has lost the answer and asks again: it gets the same response, no new task."""
    result = _call(stage, asked_for(stage))
    stage.expect("the verdict", result["verdict"], "duplicate")
    stage.expect("the reply", result["envelope"]["payload_type"], "TaskResponse")


def too_late(stage: DemoContext) -> None:
    """A cancel now is too late, and is told so."""
    cancel = make_envelope(
        TaskCancel(task_id=asked_for(stage).id), sender=planner(stage), recipient=indexer(stage)
    )
    error = stage.door.call(cancel.model_dump(mode="json"))["error"]["data"]
    stage.expect("the error", error["asap_error"], _TOO_LATE)
    stage.show("refused", f"{error['rule']}: {error['error']}")


def looked_back(stage: DemoContext) -> None:
    """Every event is there, in one trace; and the state after each of them."""
    path = f"/v1/asap/tasks/{asked_for(stage).id}/events"
    events = stage.get(path)["events"]
    for event in events:
        stage.say(f"    {event['sequence']:>2}  {event['payload_type']:<14}{event['status']}")
    traces = {event["trace_id"] for event in events if event["payload_type"] != "StateQuery"}
    stage.expect("the trace", traces, {_trace(stage)})
    then: Any = stage.get(path, f"at={1 + DONE_FIRST}")["state"]
    stage.expect("the page then", then["data"]["page"], DONE_FIRST)
    stage.expect("the status then", then["task"]["status"], "working")
    stage.show("at event", f"{1 + DONE_FIRST}: {_page(then['data'])}")


STEPS: tuple[Callable[[DemoContext], None], ...] = (
    send_request,
    begun,
    taken_up,
    asked_again,
    too_late,
    looked_back,
)


def tell(stage: DemoContext) -> None:
    """Run act four.  Raises DemoFailed at the first failed check."""
    stage.say("\nAct four: two agents, and a task that is left and taken up again.")
    if needs_manifests(stage):
        stage.say("    left out: agents need a manifest here")
        return
    act(stage, "four", STEPS)


def needs_manifests(stage: DemoContext) -> bool:
    """Return whether an agent of ASAP without a manifest is refused."""
    match stage.settings.asap_recipient_check:
        case "never":
            return False
        case "always":
            return True
    return bool(stage.get("/v1/asap/agents", "limit=1")["agents"])
