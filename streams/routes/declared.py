"""Routes about what is declared: the state machines and the rules of all protocols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streams.api.route import Call, Query, Route
from streams.errors import NotFound
from streams.protocols.commands import COMMANDS
from streams.protocols.queries import QUERIES
from streams.views.keys import key
from streams.views.pages import Entries, page_of
from streams.views.query_params import CURSOR, limit, one_of
from topology.state_machines import DeclaredMachine, all_machines

Json = dict[str, Any]
_MACHINES, _RULES = key("machines"), key("rules")
_PROTOCOL = one_of("protocol", "of this protocol", tuple(side.name for side in QUERIES))


def list_machines(call: Call) -> Json:
    return _page_of(call, _MACHINES, [machine_json(each) for each in all_machines()])


def get_machine(call: Call) -> Json:
    """Return one machine.  Raises NotFound."""
    name = call.ids["name"]
    for each in all_machines():
        if each.machine.name == name:
            return machine_json(each)
    raise NotFound(f"there is no machine {name}", advice="/v1/machines lists them.")


def machine_json(declared: DeclaredMachine) -> Json:
    """Return a machine as it is declared; `*` stands for every state that is not sealed."""
    machine = declared.machine
    return {
        "name": machine.name,
        "protocol": declared.protocol,
        "title": declared.title,
        "doc": declared.doc,
        "initial": machine.initial,
        "states": list(machine.states),
        "terminal": [state for state in machine.states if state in machine.terminal],
        "sealed": [state for state in machine.states if state in machine.sealed],
        "edges": [
            {"from": state, "event": event, "to": target}
            for (state, event), target in machine.edges.items()
        ],
    }


def list_rules(call: Call) -> Json:
    protocol = call.params.text("protocol")
    rules = [
        {
            "protocol": side.name,
            "code": rule.code,
            "stage": rule.stage,
            "where": rule.where,
            "meaning": rule.meaning,
        }
        for side in COMMANDS
        for rules in side.rules.values()
        for rule in rules
        if protocol in (None, side.name)
    ]
    return _page_of(call, _RULES, rules)


def _page_of(call: Call, prefix: bytes, items: Sequence[Json]) -> Json:
    """Return a page of a list in memory; its cursors are numbers of items."""

    def entries(after_key: bytes | None) -> Entries:
        numbered = ((prefix + key(number), item) for number, item in enumerate(items))
        return (entry for entry in numbered if after_key is None or entry[0] > after_key)

    return page_of(call.params, prefix, entries)


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/machines",
        "list_machines",
        Query(list_machines, reads_view=False, brief=True),
        "the state machines of all protocols, as they are declared",
        (limit(100, 1000), CURSOR),
        "MachinePage",
        open=True,
    ),
    Route(
        "GET",
        "/v1/machines/{name}",
        "get_machine",
        Query(get_machine, reads_view=False, brief=True),
        "one state machine",
        (),
        "StateMachine",
        open=True,
    ),
    Route(
        "GET",
        "/v1/rules",
        "list_rules",
        Query(list_rules, reads_view=False, brief=True),
        "the rules that verdicts name, with their meanings",
        (_PROTOCOL, limit(1000, 1000), CURSOR),
        "RulePage",
        open=True,
    ),
)
