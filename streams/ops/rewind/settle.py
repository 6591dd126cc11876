"""Settlement of an earlier rewind that was killed or got no response.

| the journal says | then |
|---|---|
| `preparing` | the rewind is aborted |
| `checking_out` | the work tree is restored, and the rewind is aborted |
| `confirming` | the service is queried: see below |

A rewind that the service has applied is done.  One that is still prepared is confirmed, if the work
tree is at its target.  Otherwise the work tree is restored.

Source: SAOP guide, 6.4.
"""

from __future__ import annotations

from streams.ops.rewind.errors import Interrupted, Undone, Unresolved
from streams.ops.rewind.examine import go_back
from streams.ops.rewind.git import Head
from streams.ops.rewind.journal import JournalEntry, Step
from streams.ops.rewind.run import UNRESOLVED, Request, Rewinder
from streams.ops.rewind.service import Json, OutcomeUnknown, Refused, Unreachable


def settle(entry: JournalEntry, rewinder: Rewinder) -> Json | None:
    """Settle a rewind; return the SaopRewindLogged if it is applied, else None.

    None: the work tree is restored.  rewinder: over the gateway that the journal names.
    Raises RewindError; the journal is then kept.
    """
    rewinder.say(f"An earlier rewind of session {entry.session_id} stopped while {entry.step}.")
    if entry.step is not Step.CONFIRMING:
        rewinder.undo(entry)
        return None
    state = _state(entry, rewinder)
    at_target = rewinder.git.head() == Head(entry.commit or "", None)
    if state == "applied":
        if not at_target:
            rewinder.say(f"The session stands at {entry.commit}; the work tree does not.")
        return rewinder.applied(entry, None)
    if state == "prepared" and at_target:
        try:
            return rewinder.confirm(entry, sent=True)
        except Undone:
            return None
    if state == "prepared" and not rewinder.abort(entry):
        raise Unresolved(f"the service does not answer; {UNRESOLVED}")
    go_back(rewinder.git, entry.original, entry.commit or "")
    rewinder.journal.delete()
    return None


def _state(entry: JournalEntry, rewinder: Rewinder) -> str:
    """Return the rewind's state; "prepared" if the service does not know it (yet)."""
    try:
        with rewinder.interrupts.open():
            logged = rewinder.service.find(entry.session_id, entry.rewind_id)
    except (Refused, Unreachable, OutcomeUnknown) as exc:
        raise Unresolved(f"{exc}; {UNRESOLVED}") from exc
    except KeyboardInterrupt as exc:
        raise Interrupted(UNRESOLVED, advice=Unresolved.default_advice) from exc
    return "prepared" if logged is None else str(logged["state"])


def is_same_rewind(entry: JournalEntry, request: Request) -> bool:
    """Return whether the earlier rewind is the one that is requested now."""
    return entry.session_id == request.session_id and entry.target == request.target
