"""As whom a principal may speak: each protocol says which member of an envelope names its sender.

Sources: apc 3.2, saop 6.1, sap 6.1, asap 6.2 row 9, summit 6.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams.access.callers import Caller
from streams.access.sender import Sender
from streams.errors import Forbidden
from streams.protocols.commands import COMMANDS
from topology.declarations import Topic

SENDERS: Mapping[Topic, Sender] = {
    topic: sender for side in COMMANDS for topic, sender in side.senders.items()
}
"""By the topic that a value is sent to: every one that HTTP writes."""


def filled(topic: Topic, value: Any, caller: Caller | None) -> Any:
    """The value with the name of who sends it, where it has none and the protocol fills it in."""
    sender = SENDERS[topic]
    if caller is None or not sender.fills or not isinstance(value, dict):
        return value
    member = sender.path.removeprefix("/")
    return value if value.get(member) is not None else {**value, member: caller.principal}


def check(topic: Topic, values: Sequence[Any], caller: Caller | None) -> None:
    """Whether the caller may send these valid values; None may send all, as there are no tokens.

    Raises Forbidden.
    """
    if caller is None:
        return
    for value in values:
        check_name(topic, SENDERS[topic].name(value), caller)


def check_name(topic: Topic, name: str | None, caller: Caller | None) -> None:
    """The same of a sender's name alone.  Raises Forbidden."""
    sender = SENDERS[topic]
    if caller is None or sender.may(caller, name):
        return
    wanted = "no agent in particular" if name is None else name
    raise Forbidden(
        f"the token is of {caller.principal}, which does not send as {wanted}",
        sender.rule,
        sender.path,
    )
