"""Who may send what to whom (ASAP guide, 5.4): every payload, sender and recipient."""

from __future__ import annotations

from itertools import product

import pytest

from tests.unit.protocols.asap.processor.support import (
    INDEXER,
    PLANNER,
    SERVICE,
    SNAPSHOT,
    STRANGER,
    Bench,
)

URNS = {"requester": PLANNER, "worker": INDEXER, "service": SERVICE, "stranger": STRANGER}
SPEC = {
    "TaskUpdate": "worker>requester worker>service",
    "TaskResponse": "worker>requester",
    "TaskCancel": "requester>worker",
    "MessageSend": "requester>worker worker>requester",
    "ArtifactNotify": "worker>requester",
    "StateQuery": "requester>worker requester>service worker>requester worker>service",
    "StateRestore": "requester>worker requester>service worker>requester worker>service",
}
SENDERS = ("requester", "worker", "stranger")


@pytest.mark.parametrize(("kind", "sender", "recipient"), list(product(SPEC, SENDERS, URNS)))
def test_a_role(kind: str, sender: str, recipient: str) -> None:
    bench = Bench()
    bench.request()
    bench.save({"data": {}, "id": "s"})
    urn = URNS[sender]
    payload = {"MessageSend": {"sender": urn}, "StateRestore": {"snapshot_id": "s"}}.get(kind, {})
    saves = kind == "TaskUpdate" and recipient == "service"
    fact = bench.worker(
        kind,
        payload,
        sender=urn,
        recipient=URNS[recipient],
        correlation_id="T" if kind == "TaskResponse" else None,
        extensions={SNAPSHOT: {"data": {}}} if saves else None,
    )
    allowed = [pair.split(">") for pair in SPEC[kind].split()]
    if [sender, recipient] in allowed:
        assert fact["verdict"] == "accepted"
    else:
        is_allowed = any(sender == allowed_sender for allowed_sender, _ in allowed)
        assert fact["rule"] == ("wrong_recipient" if is_allowed else "not_participant")
        assert fact["asap_error"] == "asap:security/permission_denied"
        assert (fact["task_id"], fact["status"]) == ("T", "submitted")


def test_an_agent_may_ask_itself() -> None:
    bench = Bench()
    bench.request(sender=INDEXER, recipient=INDEXER)
    assert bench.update(recipient=INDEXER)["rule"] == "status_changed"
    assert bench.requester("TaskCancel", sender=INDEXER)["rule"] == "task_cancelled"
