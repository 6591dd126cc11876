"""APC/1.0 (APC guide, 6.2)."""

from __future__ import annotations

from typing import Any

from streams.api.route import Call, Compute, Produce, Query, Route
from streams.protocols.apc import as_of
from streams.protocols.apc.queries import packets as apc
from streams.protocols.apc.queries import priors, protocols, replay, sessions
from streams.protocols.apc.queries.explain import EXPLAIN_PARAMS, explain
from streams.protocols.apc.queries.trial import TOP_K, arbitrate, evaluate
from streams.protocols.apc.settings import ApcSettings
from streams.views.query_params import MAX_NUMBER, Parameter, ValueForm
from topology.apc import APC_PACKETS

_PACKET = "/v1/apc/sessions/{session_id}/packets/{packet_id}"
_TOP_K = Parameter(
    "top_k", "how many are selected", ValueForm.WHOLE, -MAX_NUMBER, MAX_NUMBER, TOP_K
)


def _arbitrate(call: Call) -> Any:
    top_k = call.params.number("top_k") or 0
    return arbitrate(call.value(), top_k, call.now, ApcSettings.of(call.settings))


def _evaluate(call: Call) -> Any:
    return evaluate(call.value(), call.now, ApcSettings.of(call.settings))


def _explain(call: Call) -> Any:
    settings = ApcSettings.of(call.settings)
    return explain(call.view, **call.ids, params=call.params, settings=settings)


ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/apc/packets",
        "send_packets",
        Produce(APC_PACKETS),
        "send packets",
        body="apc/packet",
    ),
    Route(
        "GET",
        "/v1/apc/packets",
        "trace_packets",
        Query(lambda call: apc.trace(call.view, call.params)),
        "the newest packets and their histories",
        apc.TRACE_PARAMS,
        "Trace",
    ),
    Route(
        "GET",
        "/v1/apc/replay",
        "replay_run",
        Query(lambda call: replay.replay(call.view, call.params)),
        "a run, packet by packet and step by step",
        replay.REPLAY_PARAMS,
        "Replay",
    ),
    Route(
        "GET",
        "/v1/apc/sessions",
        "list_apc_sessions",
        Query(lambda call: sessions.sessions(call.view, call.params)),
        "sessions with the number of their packets, the latest first",
        sessions.SESSION_LIST_PARAMS,
        "ApcSessions",
    ),
    Route(
        "GET",
        _PACKET,
        "get_packet",
        Query(lambda call: apc.packet(call.view, **call.ids), brief=True, past=as_of.packet),
        "one packet: its state, history and acknowledgements",
        answer="Packet",
    ),
    Route(
        "GET",
        f"{_PACKET}/events",
        "list_packet_events",
        Query(
            lambda call: apc.packet_events(call.view, **call.ids, params=call.params),
            past=as_of.packet,
        ),
        "every fact about one packet",
        apc.EVENTS_PARAMS,
        "PacketEvents",
    ),
    Route(
        "GET",
        f"{_PACKET}/explain",
        "explain_packet",
        Query(_explain),
        "why a packet was judged so, and how another would have been",
        EXPLAIN_PARAMS,
        "Explanation",
    ),
    Route(
        "POST",
        "/v1/apc/arbitrate",
        "arbitrate_transfers",
        Compute(_arbitrate),
        "rank transfers that are not sent",
        (_TOP_K,),
        "Ranking",
        body="transfers",
    ),
    Route(
        "POST",
        "/v1/apc/evaluate",
        "evaluate_metrics",
        Compute(_evaluate),
        "hold metrics that are not sent against the gates",
        answer="Evaluation",
        body="metrics",
    ),
    Route(
        "GET",
        "/v1/apc/sessions/{session_id}/coordination",
        "get_coordination",
        Query(lambda call: protocols.coordination(call.view, **call.ids), brief=True),
        "where the coordination of a session and of its agents stands",
        answer="Coordination",
    ),
    Route(
        "GET",
        "/v1/apc/throttling",
        "list_throttling",
        Query(lambda call: protocols.throttling(call.view, call.params)),
        "who received a protocol from a swarm in a generation",
        protocols.THROTTLING_PARAMS,
        "Throttles",
    ),
    Route(
        "GET",
        "/v1/apc/decisions",
        "list_decisions",
        Query(lambda call: protocols.decisions(call.view, call.params)),
        "arbitrations of transfers, and protocols that decayed or recovered",
        protocols.DECISION_PARAMS,
        "Decisions",
    ),
    Route(
        "GET",
        "/v1/apc/priors",
        "list_priors",
        Query(lambda call: priors.priors(call.view, call.params, ApcSettings.of(call.settings))),
        "how the attempts of each method and protocol ended, by use case",
        priors.PRIOR_PARAMS,
        "Priors",
    ),
    Route(
        "GET",
        "/v1/apc/priors/explain",
        "explain_prior",
        Query(lambda call: priors.explain(call.view, call.params, ApcSettings.of(call.settings))),
        "the tasks that a prior is the sum of",
        priors.EXPLAIN_PARAMS,
        "PriorExplanation",
        errors=(404,),
    ),
    Route(
        "GET",
        "/v1/apc/protocols",
        "list_apc_protocols",
        Query(lambda call: protocols.protocols(call.view, call.params)),
        "protocols over all runs, each with the last decision on it",
        protocols.PROTOCOL_LIST_PARAMS,
        "ProtocolStandings",
    ),
    Route(
        "GET",
        "/v1/apc/protocols/{protocol_id}",
        "get_protocol",
        Query(lambda call: protocols.protocol(call.view, **call.ids), brief=True),
        "the sums and the effectiveness of one protocol",
        answer="ProtocolTotal",
    ),
)
