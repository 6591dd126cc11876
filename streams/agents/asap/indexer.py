"""The work of the example worker: pages, one after the other, each folded into a digest.

The digest of a page depends on all pages before it, so it shows whether one was left out or done
twice.  After each page the state is sent with the progress, in one envelope, so that both are
written or neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from schemas.asap import (
    EXT_SNAPSHOT,
    Envelope,
    TaskRequest,
    TaskResponse,
    TaskStatus,
    TaskUpdate,
    UpdateType,
    make_envelope,
    reply_to,
)

SKILL = "index.build"
_CHECKPOINT_EVERY = 10


class State(NamedTuple):
    """The state of a task: the number of pages done, and their digest."""

    page: int = 0
    digest: str = ""

    def next(self) -> State:
        digest = sha256(f"{self.digest}/{self.page + 1}".encode()).hexdigest()
        return State(self.page + 1, digest[:16])


def resumed(data: Mapping[str, Any] | None) -> State:
    """Return the state in the data of the latest snapshot; the initial state without one."""
    return State() if data is None else State(int(data["page"]), str(data["digest"]))


def request(sender: str, recipient: str, conversation: str, pages: int, trace: str) -> Envelope:
    """Return the requester's TaskRequest."""
    payload = TaskRequest(conversation_id=conversation, skill_id=SKILL, input={"pages": pages})
    return make_envelope(payload, sender=sender, recipient=recipient, trace_id=trace)


def work(task_request: Envelope, state: State) -> Iterator[Envelope]:
    """Yield the remaining envelopes of a task: progress after each page, then the response."""
    pages = _pages(task_request)
    if pages is None:
        yield reply_to(task_request, _refusal(task_request))
        return
    while state.page < pages:
        state = state.next()
        yield _progress(task_request, state, pages)
    done = TaskResponse(
        task_id=task_request.id,
        status=TaskStatus.COMPLETED,
        result={"pages": pages, "digest": state.digest},
        final_state=state._asdict(),
    )
    yield reply_to(task_request, done)


def _pages(task_request: Envelope) -> int | None:
    pages = task_request.payload["input"].get("pages")
    fits = isinstance(pages, int) and not isinstance(pages, bool) and pages >= 0
    return pages if fits and task_request.payload["skill_id"] == SKILL else None


def _progress(task_request: Envelope, state: State, pages: int) -> Envelope:
    update = TaskUpdate(
        task_id=task_request.id,
        update_type=UpdateType.PROGRESS,
        status=TaskStatus.WORKING,
        progress={"percent": 100 * state.page // pages, "page": state.page},
    )
    saved = {"data": state._asdict(), "checkpoint": state.page % _CHECKPOINT_EVERY == 0}
    return reply_to(task_request, update, extensions={EXT_SNAPSHOT: saved})


def _refusal(task_request: Envelope) -> TaskResponse:
    message = f"this agent takes {SKILL} with a number of pages"
    return TaskResponse(
        task_id=task_request.id, status=TaskStatus.REJECTED, result={"error": message}
    )
