"""Text for people of packets, runs, verdicts and rankings."""

from __future__ import annotations

import shlex
from typing import Any

from streams.cli import text
from streams.cli.cells import Cell, Row

WIDE = 100
"""The width from which the rule of a verdict has a column of its own."""
_SIGNS = {"pass": True, "fail": False}


def render_trace(answer: Any, page: text.Page) -> None:
    """Print packets with their verdicts, and how to have the last refusal explained."""
    packets = answer["packets"]
    phase, rule = (("phase",), ("",)) if _is_wide(page) else ((), ())
    titles = ("time", "packet", "type", *phase, f"from {page.arrow} to", "state", "verdict", *rule)
    page.table(titles, [_packet_row(each, page) for each in packets], what="packets")
    if not packets:
        return
    refused = [each for each in packets if each["verdict"] == "rejected"]
    page.line(f"{text.plural(len(packets), 'packet')}, {len(refused):,} refused.")
    if refused:
        session_id, packet_id = (shlex.quote(refused[0][n]) for n in ("session_id", "packet_id"))
        page.line(f"Why: headrace apc explain --session-id {session_id} --packet-id {packet_id}")


def _is_wide(page: text.Page) -> bool:
    return page.width is None or page.width >= WIDE


def _packet_row(each: Any, page: text.Page) -> Row:
    """Return a row; where there is no room for the columns of phase and rule, without these."""
    is_refused = each["verdict"] == "rejected"
    rule, reason = page.plain(each["rule"]), page.message(each["message"])
    cells = [
        page.time(each["created_at"]),
        page.id(each["packet_id"]),
        page.plain(each["packet_type"]),
        page.plain(each["run_phase"]),
        _route(page, each["sender"], each["recipients"]),
        page.message(each["lifecycle_state"]),
        page.verdict(each["verdict"]),
    ]
    if _is_wide(page):
        cells.append(rule if is_refused else Cell(""))
        return Row(cells, reason if is_refused else None)
    del cells[3]
    return Row(cells, page.joined(f"{rule.text}:", reason) if is_refused else None)


def _route(page: text.Page, sender: Any, recipients: Any) -> Cell:
    """Return the sender and the first recipient, with the number of the others."""
    first, *others = recipients or ["-"]
    parts: list[Cell | str] = [page.id(sender), page.arrow, page.id(first)]
    if others:
        parts.append(f"+{len(others)}")
    return page.joined(*parts)._replace(flexible=True)


def render_replay(answer: Any, page: text.Page) -> None:
    """Print a run step by step, and its totals."""
    ends = [each["final_state"] for each in answer["packets"]]
    rows = [
        (
            page.time(step["occurred_at"]),
            page.id(step["packet_id"]),
            page.plain(step["packet_type"]),
            page.plain(step["run_phase"]),
            page.plain(step["event"]),
            _states(page, step),
        )
        for step in answer["event_stream"]
    ]
    states = "states" if _is_wide(page) else "state"
    page.table(("time", "packet", "type", "phase", "event", states), rows)
    refused = sum(state.startswith("REJECTED") for state in ends)
    counted = text.plural(len(ends), "packet")
    page.line(f"{counted}, {refused:,} refused; {page.plain(answer['event_count']).text} steps.")
    if answer.get("hint") is not None:
        count = page.plain(answer["returned"]).text
        words = f"{count} steps are shown; --limit {answer['event_count']} shows all"
        page.line(page.arrow, page.plain(words))


def _states(page: text.Page, step: Any) -> Cell:
    to_state = page.plain(step["to_state"])
    if step["from_state"] is None or not _is_wide(page):
        return to_state._replace(flexible=True)
    return page.joined(page.plain(step["from_state"]), page.arrow, to_state)._replace(flexible=True)


def render_explanation(answer: Any, page: text.Page) -> None:
    """Print a verdict with its figures and bounds, and the verdict on a what-if."""
    page.line(
        page.plain("packet", "bold"),
        page.id(answer["packet_id"]),
        page.plain(answer["state"]),
        page.verdict(answer["verdict"]),
        page.plain(answer["rule"]),
    )
    page.line(page.message(answer["message"]), indent=2)
    if answer["throttle"]:
        _render_throttle(answer["throttle"], page)
    if answer["gates"]:
        render_gates(answer["gates"]["checks"], page, indent=2)
    for warning in answer["warnings"]:
        page.line("warning:", page.message(warning), indent=2)
    steps = [page.plain(step["to_state"]) for step in answer["transitions"]]
    path = [part for step in steps for part in (page.arrow, step)][1:]
    page.line("states", page.joined(*path)._replace(flexible=True), indent=2)
    page.line("cause", page.plain(answer["position"]), indent=2)
    if answer.get("counterfactual"):
        _render_counterfactual(answer["counterfactual"], page)


def _render_throttle(throttle: Any, page: text.Page) -> None:
    page.line(
        *("protocol to", page.id(throttle["to_swarm"])),
        *("generation", page.plain(throttle["generation"])),
        *("window", page.plain(throttle["window"])),
        *("places left", page.plain(throttle["places_left"])),
        indent=2,
    )
    rows = [
        [
            page.check(_SIGNS.get(check["outcome"])),
            page.plain(check["rule"]),
            _plain_or_blank(check["left"], page),
            _plain_or_blank(check["op"], page),
            _plain_or_blank(check["right"], page),
        ]
        for check in throttle["checks"]
    ]
    page.table(("", "check", "value", "", "bound"), rows, indent=2)


def _plain_or_blank(value: Any, page: text.Page) -> Cell:
    return Cell("") if value is None else page.plain(value)


def _render_counterfactual(counterfactual: Any, page: text.Page) -> None:
    passes = counterfactual["passes"]
    page.line(page.plain("what if", "bold"), page.plain(counterfactual["given"]))
    page.line(
        page.verdict("accepted" if passes else "rejected"),
        page.plain(counterfactual["decided_by"]),
        indent=2,
    )
    if counterfactual["throttle"]:
        _render_throttle(counterfactual["throttle"], page)


def render_gates(checks: Any, page: text.Page, indent: int = 0) -> None:
    """Print the promotion gates with values and thresholds."""
    rows = [
        [
            page.check(check["ok"]),
            page.plain(check["metric"]),
            page.plain(check["value"]),
            page.plain(check["op"]),
            page.plain(check["threshold"]),
        ]
        for check in checks
    ]
    page.table(("", "gate", "value", "", "threshold"), rows, indent)


def render_evaluation(answer: Any, page: text.Page) -> None:
    """Print whether the metrics may be promoted, gate by gate."""
    render_gates(answer["gates"]["checks"], page)
    met = answer["promotable"]
    page.line(page.check(met), "promotable" if met else "not promotable")


def render_arbitration(answer: Any, page: text.Page) -> None:
    """Print the ranking of unsent transfers, and why the others are not in it."""
    ranked = [(True, each) for each in answer["selected"]]
    ranked += [(False, each) for each in answer["not_selected"]]
    rows = [
        [
            page.check(is_selected or None),
            page.id(each["packet_id"]),
            page.id(each["to_swarm"]),
            page.number(each["selection_score"]),
            page.number(each["sender_score"]),
            page.number(each["receiver_score"]),
            page.number(each["score_delta"]),
            page.plain(each["selector"]),
        ]
        for is_selected, each in ranked
    ]
    page.table(("", "packet", "to", "score", "sender", "receiver", "delta", "selector"), rows)
    for each in answer["rejected"]:
        page.line(page.check(False), page.id(each["packet_id"]), page.message(each["reason"]))
    page.line(
        f"{answer['selected_count']:,} of {answer['valid_transfer_count']:,} valid transfers"
        f" selected (top_k {answer['top_k']}); {len(answer['rejected']):,} of"
        f" {answer['input_count']:,} refused."
    )


def render_summary(answer: Any, page: text.Page) -> None:
    """Print how protocols spread: totals, protocols, effectiveness and arbitration."""
    summary = answer["summary"]
    counts = {name: page.plain(summary[name]).text for name in _TOTALS}
    page.line(
        f"protocols {counts['protocol_count']}, transfers {counts['transfer_count']},"
        f" across use cases {counts['cross_use_case_count']}, runs {counts['run_count']}"
    )
    _section(page, "protocols", answer["protocols"], _PROTOCOLS)
    for each in answer["protocols"]:
        if each["blocked"]:
            since = page.time(each["blocked_since"])
            page.line(page.id(each["protocol_id"]), page.plain("blocked since", "red"), since)
    _section(page, "transfers by mode", answer["transfer_quality"], _QUALITY)
    _section(page, "effectiveness", answer["protocol_effectiveness"], _EFFECTIVENESS)
    _render_correlation(answer["correlation"], page)
    sums = answer["transfer_arbitration"]["summary"]
    if sums["decision_count"]:
        totals = {name: page.plain(sums[name]).text for name in _SUMS}
        page.line()
        page.line(
            f"arbitrations {totals['decision_count']}: selected {totals['selected_total']} of"
            f" {totals['candidate_total']} candidates, blocked {totals['blocked_total']},"
            f" refused {totals['rejected_total']}"
        )
        reasons = {**sums["block_reason_counts"], **sums["reject_reason_counts"]}
        page.members(reasons, indent=2)


def _render_correlation(correlation: Any, page: text.Page) -> None:
    """Print how transfers and outcomes correlate, where that can be said."""
    names = {
        "point_biserial": "accepted and outcome",
        "pearson": "score difference and outcome",
    }
    coefficients = {
        name: f"{correlation[member]['coefficient']} over {correlation[member]['n']} transfers"
        for member, name in names.items()
        if correlation[member]["coefficient"] is not None
    }
    if coefficients:
        page.line()
        page.line(page.plain("correlation", "bold"))
        page.members(coefficients, indent=2)


_TOTALS = ("protocol_count", "transfer_count", "cross_use_case_count", "run_count")
_SUMS = (
    *("decision_count", "selected_total", "candidate_total", "blocked_total"),
    "rejected_total",
)
_PROTOCOLS = (
    ("protocol", "protocol_id"),
    ("transfers", "transfer_count"),
    ("runs", "run_count"),
    ("tasks", "task_count"),
    ("across use cases", "cross_use_case_count"),
    ("last seen", "last_seen_at"),
)
_QUALITY = (
    ("mode", "transfer_mode"),
    ("transfers", "total_count"),
    ("accepted", "accepted_count"),
    ("rate", "acceptance_rate"),
    ("sender", "avg_sender_score"),
    ("receiver", "avg_receiver_score"),
)
_EFFECTIVENESS = (
    ("protocol", "protocol_id"),
    ("effectiveness", "effectiveness_score"),
    ("transfers", "transfer_count"),
    ("accepted", "accepted_count"),
    ("outcome", "avg_outcome"),
    ("drift risk", "avg_drift_risk"),
)


def _section(page: text.Page, title: str, items: Any, columns: tuple[tuple[str, str], ...]) -> None:
    """Print a table with a title; nothing if it has no rows."""
    if not items:
        return
    page.line()
    page.line(page.plain(title, "bold"))
    rows = [[_cell(page, member, each.get(member)) for _, member in columns] for each in items]
    page.table([name for name, _ in columns], rows, indent=2)


def _cell(page: text.Page, member: str, value: Any) -> Cell:
    if member.endswith("_at"):
        return page.time(value)
    if member.endswith("_id"):
        return page.id(value)
    is_number = value is None or isinstance(value, int | float)
    return page.number(value) if is_number else page.plain(value)
