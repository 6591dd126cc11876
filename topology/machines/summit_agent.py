"""An agent of Summit, by its manifests.

Each valid manifest that is not the one in force becomes it, an older version too.  A withdrawn
agent takes no new calls; runs that it has go on under the manifest that they began with.

Source: Summit guide, 4.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from schemas.rules import Rule
from schemas.summit import rules
from topology.machine import define


class AgentState(StrEnum):
    NONE = "none"
    REGISTERED = "registered"
    WITHDRAWN = "withdrawn"


class AgentEvent(StrEnum):
    REGISTER = "register"
    REGISTER_AGAIN = "register_again"  # the manifest in force, or last in force
    WITHDRAW = "withdraw"


_S = AgentState
_E = AgentEvent

MACHINE = define(
    "summit-agent",
    _S.NONE,
    {
        _S.NONE: {_E.REGISTER: _S.REGISTERED},
        _S.REGISTERED: {_E.REGISTER: _S.REGISTERED, _E.WITHDRAW: _S.WITHDRAWN},
        _S.WITHDRAWN: {_E.REGISTER: _S.REGISTERED, _E.REGISTER_AGAIN: _S.REGISTERED},
    },
)

REPEATED: Mapping[tuple[AgentState, AgentEvent], Rule] = {
    (_S.REGISTERED, _E.REGISTER_AGAIN): rules.MANIFEST_DUPLICATE
}
"""Where an event repeats what holds already."""

REFUSED: Mapping[tuple[AgentState, AgentEvent], Rule] = {
    (_S.NONE, _E.WITHDRAW): rules.MANIFEST_NOT_REGISTERED,
    (_S.WITHDRAWN, _E.WITHDRAW): rules.MANIFEST_NOT_REGISTERED,
}
"""Where an event is refused, and by which rule."""
