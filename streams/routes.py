"""Every route as a row of a table, without a web framework: HTTP, `query` and `play` share it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import unquote

from schemas import Problem, ShapeError, parse_ijson
from streams.edges import EDGES, Unparsed, edge_of, read_values, to_output
from streams.engine.headers import TRACEPARENT
from streams.engine.log import Log
from streams.engine.records import Output, Record, position
from streams.errors import HeadraceError, InvalidInput
from streams.problems import Response, failed, problem
from streams.settings import Settings
from streams.views import Params, Position, QueryError, View, apc, protocols, rtes
from streams.views.arbitrate import TOP_K, arbitrate
from streams.views.evaluate import evaluate
from streams.views.explain import EXPLAIN_PARAMS, explain
from topology import topics

WAIT_S = 10.0
"""How long `?after=` waits."""
MOST_AT_ONCE = 1000

Append = Callable[[Sequence[Output]], Sequence[Record]]


@dataclass(frozen=True, slots=True)
class Call:
    """One request that has found its route."""

    routes: Routes
    ids: Mapping[str, str]
    params: Params
    headers: Mapping[str, str]
    body: Any

    @property
    def view(self) -> View:
        return self.routes.view


class Route(NamedTuple):
    """template: segments in braces are ids, percent-decoded.  parameters: of the query."""

    method: str
    template: str
    answer: Callable[[Call], Response]
    parameters: tuple[str, ...] = ()
    meaning: str = ""


def _read(query: Callable[[Call], Any]) -> Callable[[Call], Response]:
    return lambda call: Response(200, query(call))


def _produce(topic: str) -> Callable[[Call], Response]:
    def answer(call: Call) -> Response:
        values = call.body if isinstance(call.body, list) else [call.body]
        if isinstance(call.body, bytes | str):
            values = read_values(call.body)
        return call.routes.produce(topic, values, call.headers)

    return answer


def _arbitrate(call: Call) -> Response:
    top_k = call.params.integer("top_k")
    routes = call.routes
    answer = arbitrate(
        _value(call.body), TOP_K if top_k is None else top_k, routes.clock(), routes.settings
    )
    return Response(200, answer)


def _evaluate(call: Call) -> Response:
    return Response(200, evaluate(_value(call.body), call.routes.clock(), call.routes.settings))


def _value(body: Any) -> Any:
    """The one value of a body.  Raises InvalidInput when it is not JSON."""
    if not isinstance(body, bytes | str):
        return body
    try:
        return parse_ijson(body)
    except ShapeError as exc:
        raise InvalidInput([exc.problem]) from exc


_PACKET = "/v1/apc/sessions/{session_id}/packets/{packet_id}"

ROUTES: tuple[Route, ...] = (
    Route("POST", "/v1/apc/packets", _produce(topics.APC_PACKETS.name), (), "send packets"),
    Route(
        "GET",
        "/v1/apc/packets",
        _read(lambda call: apc.trace(call.view, call.params)),
        apc.TRACE_PARAMS,
        "the newest packets and their histories",
    ),
    Route(
        "GET",
        "/v1/apc/replay",
        _read(lambda call: apc.replay(call.view, call.params)),
        apc.REPLAY_PARAMS,
        "a run, packet by packet and step by step",
    ),
    Route(
        "GET",
        _PACKET,
        _read(lambda call: apc.packet(call.view, **call.ids)),
        (),
        "one packet: its state, history and acknowledgements",
    ),
    Route(
        "GET",
        f"{_PACKET}/events",
        _read(lambda call: apc.packet_events(call.view, **call.ids, params=call.params)),
        ("limit", "cursor"),
        "every fact about one packet",
    ),
    Route(
        "GET",
        f"{_PACKET}/explain",
        _read(
            lambda call: explain(
                call.view, **call.ids, params=call.params, settings=call.routes.settings
            )
        ),
        EXPLAIN_PARAMS,
        "why a packet was judged so, and how another would have been",
    ),
    Route("POST", "/v1/apc/arbitrate", _arbitrate, ("top_k",), "rank transfers, offline"),
    Route("POST", "/v1/apc/evaluate", _evaluate, (), "hold metrics against the gates, offline"),
    Route(
        "GET",
        "/v1/apc/sessions/{session_id}/coordination",
        _read(lambda call: protocols.coordination(call.view, **call.ids)),
        (),
        "where the coordination of a session and of its agents stands",
    ),
    Route(
        "GET",
        "/v1/apc/throttling",
        _read(lambda call: protocols.throttling(call.view, call.params)),
        protocols.THROTTLING_PARAMS,
        "who received a protocol from a swarm in a generation",
    ),
    Route(
        "GET",
        "/v1/apc/decisions",
        _read(lambda call: protocols.decisions(call.view, call.params)),
        protocols.DECISION_PARAMS,
        "arbitrations of transfers, and protocols that decayed or recovered",
    ),
    Route(
        "GET",
        "/v1/apc/protocols/{protocol_id}",
        _read(lambda call: protocols.protocol(call.view, **call.ids)),
        (),
        "the sums and the effectiveness of one protocol",
    ),
    Route(
        "GET",
        "/v1/lineage/summary",
        _read(lambda call: protocols.lineage_summary(call.view, call.params)),
        protocols.SUMMARY_PARAMS,
        "all lineage queries at once, and what they come to",
    ),
    Route(
        "GET",
        "/v1/lineage/protocols",
        _read(lambda call: protocols.lineage_protocols(call.view, call.params)),
        protocols.LISTED,
        "how often each protocol occurs",
    ),
    Route(
        "GET",
        "/v1/lineage/propagation",
        _read(lambda call: protocols.propagation(call.view, call.params)),
        protocols.PROPAGATION_PARAMS,
        "packets that bear lineage, newest first",
    ),
    Route(
        "GET",
        "/v1/lineage/transfer-quality",
        _read(lambda call: protocols.transfer_quality(call.view, call.params)),
        protocols.FILTERS,
        "transfers by mode",
    ),
    Route(
        "GET",
        "/v1/lineage/eval-correlation",
        _read(lambda call: protocols.eval_correlation(call.view, call.params)),
        protocols.FILTERS,
        "what was measured in tasks with transfers, across use cases or not",
    ),
    Route(
        "GET",
        "/v1/lineage/effectiveness",
        _read(lambda call: protocols.effectiveness(call.view, call.params)),
        protocols.LISTED,
        "transfers of each protocol, and what was measured after them",
    ),
    Route("POST", "/v1/rtes/events", _produce(topics.RTES_RAW.name), (), "send events"),
    Route(
        "GET",
        "/v1/rtes/events",
        _read(lambda call: rtes.events(call.view, call.params)),
        rtes.EVENT_PARAMS,
        "the events of a session, by sequence",
    ),
    Route(
        "GET",
        "/v1/rtes/rejections",
        _read(lambda call: rtes.rejections(call.view, call.params)),
        rtes.REJECTION_PARAMS,
        "duplicate and rejected events of a session",
    ),
    Route(
        "GET",
        "/v1/saop/tasks",
        _read(lambda call: rtes.tasks(call.view, call.params)),
        rtes.TASK_PARAMS,
        "tasks and their states",
    ),
)


@dataclass(frozen=True)
class Routes:
    """The table over one view and one log.

    clock: ms since the epoch.  wait_s: the bound of `?after=`.  append: how records get on the log
    (default: the log's own append).
    """

    view: View
    log: Log
    settings: Settings
    clock: Callable[[], int]
    wait_s: float = WAIT_S
    append: Append | None = field(default=None)

    def handle(
        self,
        method: str,
        path: str,
        query: str = "",
        headers: Mapping[str, str] | None = None,
        body: Any = None,
    ) -> Response:
        """path and query as in the request line, percent-encoded; body is JSON text or a value."""
        try:
            route, ids = _find(method, path)
            after = ("after",) if route.method == "GET" else ()
            params = Params(query, (*route.parameters, *after))
            if wanted := params.position():
                self._wait(wanted)
            return route.answer(Call(self, ids, params, headers or {}, body))
        except _NoRoute as exc:
            return problem(exc.status, str(exc))
        except HeadraceError as exc:
            return failed(exc)

    def produce(self, topic: str, values: Sequence[Any], headers: Mapping[str, str]) -> Response:
        """All of them or, if one is not valid, none."""
        if len(values) > MOST_AT_ONCE:
            return problem(
                413, f"{len(values)} values at once, at most {MOST_AT_ONCE}", "too_large"
            )
        now, edge = self.clock(), edge_of(topic)
        outputs: list[Output] = []
        errors: list[dict[str, Any]] = []
        for index, value in enumerate(values):
            try:
                outputs.append(
                    _traced(to_output(edge, _parsed(value), now, self.settings), headers)
                )
            except InvalidInput as exc:
                errors += [{"index": index, **problem._asdict()} for problem in exc.problems]
        if errors:
            first = errors[0]
            refused = problem(422, first["message"], first["rule"], first["path"])
            return Response(422, {**refused.body, "errors": errors})
        written = (self.append or self.log.append)(outputs)
        return Response(202, {"positions": [position(record) for record in written]})

    def _wait(self, wanted: Position) -> None:
        known = {self.settings.prefix + name for name in EDGES}
        if wanted.topic not in known:
            raise QueryError("after", f"a position on one of {', '.join(sorted(known))}")
        there = self.log.topics().get(wanted.topic)
        if there is None or wanted.partition >= there.partitions:
            raise QueryError("after", f"{wanted.topic} has no partition {wanted.partition}")
        self.view.wait(wanted, self.wait_s)


class _NoRoute(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def _find(method: str, path: str) -> tuple[Route, dict[str, str]]:
    others = set()
    for route in ROUTES:
        ids = _match(route.template, path)
        if ids is not None and route.method == method:
            return route, ids
        if ids is not None:
            others.add(route.method)
    if others:
        raise _NoRoute(405, f"{path} takes {', '.join(sorted(others))}, not {method}")
    raise _NoRoute(404, f"there is no {path}")


def _match(template: str, path: str) -> dict[str, str] | None:
    """The ids in a path, None when it is not of this template."""
    names, parts = template.split("/"), path.split("/")
    if len(names) != len(parts):
        return None
    ids: dict[str, str] = {}
    for name, part in zip(names, parts, strict=True):
        if name.startswith("{"):
            ids[name[1:-1]] = unquote(part)
        elif name != part:
            return None
    return ids


def _parsed(value: Any) -> Any:
    if isinstance(value, Unparsed):
        raise InvalidInput([Problem("json_invalid", "", value.message)])
    return value


def _traced(output: Output, headers: Mapping[str, str]) -> Output:
    """The record carries the trace context of the request."""
    traceparent = next((v for k, v in headers.items() if k.lower() == TRACEPARENT), None)
    if traceparent is None:
        return output
    return output._replace(headers=[*output.headers, (TRACEPARENT, traceparent.encode())])
