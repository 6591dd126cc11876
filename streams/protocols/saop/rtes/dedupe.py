"""An event id counts once per session, for as long as the session remembers it.

Source: SAOP/RTES spec, 5.2.
"""

from __future__ import annotations

from schemas.rtes import rules
from streams.protocols.saop.rtes import windows
from streams.protocols.saop.rtes.rejections import Refusal
from streams.protocols.saop.rtes.scene import Scene
from topology.keys import composite
from topology.saop import RTES_IDS


def id_key(session_id: str, event_id: str) -> str:
    return composite(session_id, event_id.lower())


def judge(event_id: str, digest: str, scene: Scene) -> Refusal | None:
    """Whether the session has the event already.  digest: its content hash."""
    row = scene.work.rows(RTES_IDS).get(id_key(scene.session_id, event_id))
    row = windows.known(windows.IDS, row, scene)
    if row is None:
        return None
    first = row["sequence"]
    if row["content_hash"] == digest:
        return Refusal(rules.EVENT_DUPLICATE, first_sequence=first)
    return Refusal(rules.EVENT_ID_CONFLICT, {"first_sequence": first}, "/event_id")


def remember(event_id: str, digest: str, sequence: int, scene: Scene) -> None:
    """Keep the id of an event that was recorded."""
    row = {"sequence": sequence, "content_hash": digest, "recorded_at": scene.now_ms}
    windows.remember(windows.IDS, id_key(scene.session_id, event_id), row, scene.work)
