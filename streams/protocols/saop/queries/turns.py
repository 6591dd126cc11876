"""Queries over turns: what was logged, what was decided, what needs attention."""

from __future__ import annotations

from streams.protocols.saop.queries.common import AGENTS, PAGED, Json, fits, json_of, wanted
from streams.protocols.saop.queries.rows import ESCALATION_FILTERS
from streams.views.keys import key
from streams.views.pages import listed, rows_back, rows_by, rows_of
from streams.views.parameters import SESSION_ID, TASK_ID, Form, Parameter, one_of
from streams.views.params import Params
from streams.views.reads import Reads
from topology.saop import SAOP_ESCALATIONS, SAOP_LOG, SAOP_VERDICTS

VERDICTS = ("accepted", "duplicate", "rejected")
DETECTORS = ("confidence", "repetition", "failures")

_ONE_TASK = TASK_ID._replace(required=True)
_AGENT = one_of("agent_id", "of this agent", AGENTS)
TURN_PARAMS = (
    _ONE_TASK,
    Parameter("turn_index", "the one with this index", Form.WHOLE),
    _AGENT,
    Parameter("from_index", "those from this index on", Form.WHOLE),
    *PAGED,
)
VERDICT_PARAMS = (_ONE_TASK, one_of("verdict", "with this outcome", VERDICTS), *PAGED)
ESCALATION_PARAMS = (
    TASK_ID,
    SESSION_ID,
    _AGENT,
    one_of("detector", "by this detector", DETECTORS),
    *PAGED,
)


def turns(view: Reads, params: Params) -> Json:
    """SaopTurnLogged of one task, by turn_index."""
    prefix = key("saop turn", params.required("task_id"))
    index, first = params.number("turn_index"), params.number("from_index")
    agent_id = params.text("agent_id")
    only = prefix if index is None else prefix + key(index)
    start = None if first is None else prefix + key(first)

    def item(row: bytes) -> Json | None:
        value = json_of(SAOP_LOG, row)
        turn = value["turn"]
        late_enough = first is None or turn["turn_index"] >= first
        return value if late_enough and agent_id in (None, turn["agent_id"]) else None

    return listed(params, prefix, rows_of(view, only, item, start if index is None else None))


def verdicts(view: Reads, params: Params) -> Json:
    """SaopVerdicts of one task, by offset."""
    prefix = key("saop verdict", params.required("task_id"))
    verdict = params.text("verdict")

    def item(row: bytes) -> Json | None:
        value = json_of(SAOP_VERDICTS, row)
        return value if verdict in (None, value["verdict"]) else None

    return listed(params, prefix, rows_of(view, prefix, item))


def escalations(view: Reads, params: Params) -> Json:
    """SaopEscalations, newest first."""
    members = wanted(params, ESCALATION_FILTERS.values())

    def item(row: bytes) -> Json | None:
        value = json_of(SAOP_ESCALATIONS, row)
        return value if fits(value, members) else None

    for name, member in ESCALATION_FILTERS.items():
        if member in members:
            prefix = key("escalation of", name, members[member])
            index = rows_back(view, prefix, lambda row: row)
            return listed(params, prefix, rows_by(view, index, item))
    prefix = key("escalation")
    return listed(params, prefix, rows_back(view, prefix, item))
