"""What the example worker does: pages, one after the other, each folded into a digest.

The digest of a page rests on all pages before it, so it tells whether one was left out or done
twice.  After each page the state goes out with the progress, in one envelope: both are there, or
neither.
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
    """page: how many are done.  digest: of them."""

    page: int = 0
    digest: str = ""

    def next(self) -> State:
        digest = sha256(f"{self.digest}/{self.page + 1}".encode()).hexdigest()
        return State(self.page + 1, digest[:16])


def resumed(data: Mapping[str, Any] | None) -> State:
    """From the data of the latest snapshot; None: there is none."""
    return State() if data is None else State(int(data["page"]), str(data["digest"]))


def request(sender: str, recipient: str, conversation: str, pages: int, trace: str) -> Envelope:
    """Of the requester."""
    payload = TaskRequest(conversation_id=conversation, skill_id=SKILL, input={"pages": pages})
    return make_envelope(payload, sender=sender, recipient=recipient, trace_id=trace)


def work(asked: Envelope, state: State) -> Iterator[Envelope]:
    """What is still to be sent about a task: progress after each page, then the response."""
    pages = _pages(asked)
    if pages is None:
        yield reply_to(asked, _refusal(asked))
        return
    while state.page < pages:
        state = state.next()
        yield _progress(asked, state, pages)
    done = TaskResponse(
        task_id=asked.id,
        status=TaskStatus.COMPLETED,
        result={"pages": pages, "digest": state.digest},
        final_state=state._asdict(),
    )
    yield reply_to(asked, done)


def _pages(asked: Envelope) -> int | None:
    given = asked.payload["input"].get("pages")
    fits = isinstance(given, int) and not isinstance(given, bool) and given >= 0
    return given if fits and asked.payload["skill_id"] == SKILL else None


def _progress(asked: Envelope, state: State, pages: int) -> Envelope:
    update = TaskUpdate(
        task_id=asked.id,
        update_type=UpdateType.PROGRESS,
        status=TaskStatus.WORKING,
        progress={"percent": 100 * state.page // pages, "page": state.page},
    )
    saved = {"data": state._asdict(), "checkpoint": state.page % _CHECKPOINT_EVERY == 0}
    return reply_to(asked, update, extensions={EXT_SNAPSHOT: saved})


def _refusal(asked: Envelope) -> TaskResponse:
    message = f"this agent takes {SKILL} with a number of pages"
    return TaskResponse(task_id=asked.id, status=TaskStatus.REJECTED, result={"error": message})
