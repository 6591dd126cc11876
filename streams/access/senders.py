"""As whom a principal may speak: each protocol says which member of an envelope names its sender.

Sources: apc 3.2, saop 6.1, sap 6.1, asap 6.2 row 9, summit 6.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from schemas.apc.rules import AUTH_SENDER as APC_SENDER
from schemas.sap.rules import FORBIDDEN
from schemas.summit.rules import AUTH_SENDER as SUMMIT_SENDER
from streams.access.callers import OPERATOR_NAME, Caller
from streams.errors import Forbidden
from topology import topics
from topology.declarations import Topic

PRINCIPAL_MISMATCH = "principal_mismatch"
"""Of SAOP."""
SENDER_MISMATCH = "sender_mismatch"
"""Of ASAP; its JSON-RPC error is of `streams.asap`."""
_SAOP = "saop:"
_ANY_AGENT = "saop:*"


class Sender(NamedTuple):
    """rule: of the refusal.  path: the member that names the sender.

    name: that member's value.  may: whether the caller may send a value in that name; default: it
    is their own.  fills: who sends without a name, sends in their own.
    """

    rule: str
    path: str
    name: Callable[[Any], str | None]
    may: Callable[[Caller, str | None], bool] = Caller.is_called
    fills: bool = False


def _at(*path: str) -> Callable[[Any], str | None]:
    def name(value: Any) -> str | None:
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        return value if isinstance(value, str) else None

    return name


def _own(rule: str, *path: str, fills: bool = False) -> Sender:
    return Sender(rule, "/" + "/".join(path), _at(*path), fills=fills)


def _or_operator(rule: str, *path: str) -> Sender:
    """Operators may send it in any name."""

    def may(caller: Caller, name: str | None) -> bool:
        return caller.is_operator or caller.is_called(name)

    return _own(rule, *path)._replace(may=may)


def _as_agent(caller: Caller, name: str | None) -> bool:
    """name: None for what no agent says in particular."""
    if name is None:
        return caller.principal.startswith(_SAOP)
    return caller.principal in (_SAOP + name, _ANY_AGENT)


SENDERS: Mapping[Topic, Sender] = {
    topics.APC_PACKETS: _own(APC_SENDER.code, "sender", "agent_id"),
    topics.ASAP_ENVELOPES: _own(SENDER_MISMATCH, "sender"),
    topics.ASAP_MANIFESTS: _or_operator(SENDER_MISMATCH, "id"),
    topics.SAP_TASKS: _own(FORBIDDEN.code, "issuer", "agentId"),
    topics.SAP_RESULTS: _own(FORBIDDEN.code, "producer", "agentId"),
    topics.SAP_SIGNALS: _own(FORBIDDEN.code, "operator", "agentId"),
    topics.SAOP_TURNS: _own(PRINCIPAL_MISMATCH, "agent_id")._replace(may=_as_agent),
    topics.RTES_RAW: _own(PRINCIPAL_MISMATCH, "payload", "agent_id")._replace(may=_as_agent),
    topics.SAOP_REWINDS: Sender(
        PRINCIPAL_MISMATCH, "", lambda value: OPERATOR_NAME, lambda caller, _: caller.is_operator
    ),
    topics.SUMMIT_MANIFESTS: _or_operator(SUMMIT_SENDER.code, "metadata", "name"),
    topics.SUMMIT_CALLS: _own(SUMMIT_SENDER.code, "caller", fills=True),
    topics.SUMMIT_REPLIES: _own(SUMMIT_SENDER.code, "agentId"),
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
