"""Who may send what to whom about a task.

The requester sent the task's request, the worker received it.  The service itself takes what asks
for a state or saves one.

Source: ASAP spec, 5.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from streams.protocols.asap.processor import verdicts
from streams.protocols.asap.processor.case import Case
from streams.protocols.asap.processor.inbound import Command
from streams.protocols.asap.processor.verdicts import Outcome


class Role(NamedTuple):
    """senders: of `requester`, `worker`.  service: the recipient may be the service, too."""

    senders: tuple[str, ...]
    service: bool = False


_BOTH = ("requester", "worker")

ROLES: Mapping[str, Role] = {
    "TaskUpdate": Role(("worker",), service=True),
    "TaskResponse": Role(("worker",)),
    "TaskCancel": Role(("requester",)),
    "MessageSend": Role(_BOTH),
    "ArtifactNotify": Role(("worker",)),
    "StateQuery": Role(_BOTH, service=True),
    "StateRestore": Role(_BOTH, service=True),
}
"""By payload; what does not go to the service goes to the other participant."""


def refusal(command: Command, case: Case) -> Outcome | None:
    """Why this sender may not send this payload to this recipient."""
    role = ROLES[command.kind]
    played = [name for name in role.senders if case.row[name] == command.sender]
    if not played:
        who = " or the ".join(role.senders)
        detail = f"sender: only the {who} of the task may send a {command.kind}."
        expected = [case.row[name] for name in role.senders]
        return verdicts.refuse("not_participant", detail, case=case, expected=expected)
    others = [case.row[_other(name)] for name in played]
    if role.service:
        others.append(case.scene.setting("SERVICE_URN"))
    if command.recipient in others:
        return None
    detail = f"recipient: a {command.kind} of this sender goes to {' or '.join(others)}."
    return verdicts.refuse("wrong_recipient", detail, case=case, expected=others)


def _other(name: str) -> str:
    return "worker" if name == "requester" else "requester"
