"""The senders that a principal may act as: each protocol names the member that holds the sender.

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
"""The sender rules, by the topic that a value is sent to: every topic that HTTP writes."""


def fill_sender(topic: Topic, value: Any, caller: Caller | None) -> Any:
    """Add the caller as the sender where the value has none and the protocol fills it in."""
    sender = SENDERS[topic]
    if caller is None or not sender.fills or not isinstance(value, dict):
        return value
    member = sender.path.removeprefix("/")
    return value if value.get(member) is not None else {**value, member: caller.principal}


def check(topic: Topic, values: Sequence[Any], caller: Caller | None) -> None:
    """Check that the caller may send these valid values; without tokens (None) all are allowed.

    Raises Forbidden.
    """
    if caller is None:
        return
    for value in values:
        check_name(topic, SENDERS[topic].name(value), caller)


def check_name(topic: Topic, name: str | None, caller: Caller | None) -> None:
    """Check that the caller may act as the sender `name`.  Raises Forbidden."""
    sender = SENDERS[topic]
    if caller is None or sender.may(caller, name):
        return
    requested = "no agent in particular" if name is None else name
    raise Forbidden(
        f"the token is of {caller.principal}, which does not send as {requested}",
        sender.rule,
        sender.path,
    )
