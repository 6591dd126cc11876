"""What one key asks of another: records of `asap.links`, sent to the partition that knows.

Source: ASAP spec, 5.3 and 5.7.
"""

from __future__ import annotations

from typing import Any

from streams.protocols.asap.processor.inbound import Command
from streams.protocols.asap.processor.scene import Scene
from topology.asap import ASAP_LINKS


def ask(kind: str, key: str, command: Command, scene: Scene, **members: Any) -> None:
    """Ask another key about a request, in the request's own name and time."""
    about = {"from_key": command.key, "envelope_id": command.id, "sender": command.sender}
    _send(key, {"kind": kind, **about, "at": command.at, **members}, scene)


def answer(kind: str, asked: dict[str, Any], own_key: str, scene: Scene, **members: Any) -> None:
    """Answer a link to the key that it came from.  asked: AsapLink."""
    about = {name: asked[name] for name in ("envelope_id", "sender", "at")}
    _send(asked["from_key"], {"kind": kind, "from_key": own_key, **about, **members}, scene)


def _send(key: str, link: dict[str, Any], scene: Scene) -> None:
    scene.send(ASAP_LINKS, key, link, scene.cause)
