"""A real gateway on a real Kafka with a real worker."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from streams.log.dead_letters import read
from streams.log.record_json import record_json
from tests.chaos.test_broker_away import PrivateBroker
from tests.integration.system import Live, live
from tests.processes import Process, named, wait_for
from tests.unit.envelopes import IDEA_ID, ack, idea, packet_id, transition
from topology.apc import APC_PACKETS

READS = 200
Json = dict[str, Any]


@pytest.fixture
def http(system: Live) -> Iterator[httpx.Client]:
    with system.client as client:
        yield client


@pytest.fixture
def session() -> str:
    return f"s-{uuid.uuid4().hex[:8]}"


def sent(http: httpx.Client, path: str, body: Any, **headers: str) -> list[str]:
    answer = http.post(path, json=body, headers=headers)
    assert answer.status_code == 202, answer.text
    positions: list[str] = answer.json()["positions"]
    return positions


def got(http: httpx.Client, path: str, **query: str) -> Json:
    answer = http.get(path, params=query)
    assert answer.status_code == 200, answer.text
    body: Json = answer.json()
    return body


def test_a_packet_goes_its_way_over_http(http: httpx.Client, session: str) -> None:
    path = f"/v1/apc/sessions/{session}/packets/{IDEA_ID}"
    packet = idea(trace__session_id=session)
    (position,) = sent(http, "/v1/apc/packets", packet)
    assert got(http, path, after=position)["state"] == "ROUTED"
    (position,) = sent(http, "/v1/apc/packets", ack(packet, 2))
    assert got(http, path, after=position)["state"] == "ARCHIVED"
    facts = got(http, f"{path}/events", after=position)["items"]
    assert [fact["verdict"] for fact in facts] == ["accepted", "effect"]
    trace = got(http, "/v1/apc/packets", session_id=session)
    assert [p["packet_type"] for p in trace["packets"]] == ["ACK", "IDEA"]


def test_events_are_json_lines(http: httpx.Client, session: str) -> None:
    events = [transition(n, task_id=f"t{n}") | {"session_id": session} for n in (1, 2)]
    answer = http.post(
        "/v1/rtes/events",
        content="\n".join(map(json.dumps, events)),
        headers={"content-type": "application/x-ndjson"},
    )
    assert answer.status_code == 202, answer.text
    last = answer.json()["positions"][-1]
    tasks = got(http, "/v1/saop/tasks", session_id=session, after=last)["items"]
    assert [task["task_id"] for task in tasks] == ["t1", "t2"]


def test_an_id_may_hold_a_slash_and_more(http: httpx.Client, session: str) -> None:
    strange = f"{session}/a b?%ü"
    (position,) = sent(http, "/v1/apc/packets", idea(trace__session_id=strange))
    (packet,) = got(http, "/v1/apc/packets", session_id=strange, after=position)["packets"]
    quoted = f"{session}%2Fa%20b%3F%25%C3%BC"
    row = got(http, f"/v1/apc/sessions/{quoted}/packets/{packet['packet_id']}")
    assert row["session_id"] == strange


def test_the_trace_context_of_a_request_is_that_of_the_record(
    system: Live, http: httpx.Client, session: str
) -> None:
    context = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    (position,) = sent(
        http, "/v1/apc/packets", idea(trace__session_id=session), traceparent=context
    )
    (packet,) = got(http, "/v1/apc/packets", session_id=session, after=position)["packets"]
    assert packet["trace_id"] == "4bf92f3577b34da6a3ce929d0e0e4736"


def test_a_thousand_reads_see_the_write_before(http: httpx.Client, session: str) -> None:
    stale = 0
    for number in range(1, READS + 1):
        packet = idea(number, trace__session_id=session)
        (position,) = sent(http, "/v1/apc/packets", packet)
        path = f"/v1/apc/sessions/{session}/packets/{packet['packet_id']}"
        answer = http.get(path, params={"after": position})
        stale += answer.status_code != 200 or answer.json()["position"] != position
    assert stale == 0


def test_requests_at_once_do_not_mix(system: Live, session: str) -> None:
    def send(number: int) -> tuple[int, str]:
        with system.client as http:
            packet = idea(number, trace__session_id=session)
            return number, sent(http, "/v1/apc/packets", packet)[0]

    with ThreadPoolExecutor(16) as pool, system.client as http:
        placed = dict(pool.map(send, range(1, 65)))
        assert len(set(placed.values())) == 64
        for number, position in placed.items():
            path = f"/v1/apc/sessions/{session}/packets/{packet_id(number)}"
            assert got(http, path, after=position)["position"] == position


def test_a_bad_packet_among_good_ones_stops_all(
    system: Live, http: httpx.Client, session: str
) -> None:
    packets = [idea(1, trace__session_id=session), idea(2, confidence=2)]
    answer = http.post("/v1/apc/packets", json=packets)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["errors"][0]["index"] == 1
    assert got(http, "/v1/apc/packets", session_id=session)["count"] == 0


def raw(system: Live, *parts: bytes) -> bytes:
    """What comes back for these bytes."""
    url = httpx.URL(system.url)
    with socket.create_connection((url.host, url.port or 80), timeout=60) as connection:
        try:
            for part in parts:
                connection.sendall(part)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return connection.recv(65536)


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET /v1/apc/packets\x00 HTTP/1.1\r\nhost: localhost\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: " + b"a" * 40_000 + b"\r\n\r\n", 431),
        (b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: " + b"a" * 200_000, 431),
        (b"GET /v1/apc/packets?session_id=%FF HTTP/1.1\r\nhost: localhost\r\n\r\n", 422),
        (
            b"POST /v1/apc/packets HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999\r\n"
            b"content-type: application/json\r\n\r\n",
            413,
        ),
    ],
)
def test_what_is_no_request_within_bounds(system: Live, request_bytes: bytes, status: int) -> None:
    answer = raw(system, request_bytes)
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"application/problem+json" in answer


def test_a_deleted_view_is_rebuilt_and_says_so(system: Live, http: httpx.Client) -> None:
    (position,) = sent(http, "/v1/apc/packets", idea(trace__session_id="kept"))
    got(http, "/v1/apc/packets", after=position)
    seen: list[str] = []

    def rebuilt() -> bool:
        answer = http.get("/readyz")
        state = answer.json()["view"]["state"]
        assert (answer.status_code == 200) == (state == "ready")
        if state not in seen[-1:]:
            seen.append(state)
        return "rebuilding" in seen and state == "ready"

    shutil.rmtree(system.settings.state_dir / "gateway" / "view")
    wait_for(rebuilt, "the view is rebuilt", look_s=0.002)
    assert got(http, "/v1/apc/packets", session_id="kept")["count"] == 1


def test_figures_are_those_that_are_declared(http: httpx.Client) -> None:
    from streams.gateway.metrics import ALL

    text = http.get("/metrics").text
    exported = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert exported == {declared.name for declared in ALL}


class TestGatewayProcess:
    """Each with a gateway that it may stop."""

    @pytest.fixture
    def separate_system(self, broker: str, tmp_path: Path) -> Iterator[Live]:
        with live(broker, tmp_path) as separate_system:
            yield separate_system

    def test_a_request_in_flight_is_finished_on_sigterm(self, separate_system: Live) -> None:
        with separate_system.client as http, ThreadPoolExecutor(1) as pool:
            sent(http, "/v1/apc/packets", idea())
            separate_system.worker.signal(signal.SIGSTOP)  # so that the answer has to be waited for
            (position,) = sent(http, "/v1/apc/packets", idea(2))
            waiting = pool.submit(http.get, "/v1/apc/packets", params={"after": position})
            text = separate_system.url + "/metrics"
            wait_for(lambda: "in_flight 1.0" in httpx.get(text).text, "the request is in flight")
            separate_system.gateway.signal(signal.SIGTERM)
            separate_system.gateway.wait_text("stopping: no new requests")
            separate_system.worker.signal(signal.SIGCONT)
            assert waiting.result().status_code == 200
            assert separate_system.gateway.exit_code() == 0
        with pytest.raises(httpx.ConnectError):
            httpx.get(separate_system.url)

    def test_a_killed_gateway_goes_on_where_it_was(self, separate_system: Live) -> None:
        with separate_system.client as http:
            (position,) = sent(http, "/v1/apc/packets", idea())
            got(http, "/v1/apc/packets", after=position)
        separate_system.gateway.kill()
        separate_system.start_gateway()
        with separate_system.client as http:
            assert got(http, "/v1/apc/packets")["count"] == 1
            (position,) = sent(http, "/v1/apc/packets", idea())
            facts = f"/v1/apc/sessions/s1/packets/{IDEA_ID}/events"
            verdicts = [f["verdict"] for f in got(http, facts, after=position)["items"]]
            assert verdicts == ["accepted", "duplicate"]

    def test_a_second_gateway_on_the_directory_has_a_view_of_its_own(
        self, separate_system: Live
    ) -> None:
        with separate_system.client as http:
            (position,) = sent(http, "/v1/apc/packets", idea())
        first = separate_system.gateway
        separate_system.start_gateway()
        try:
            assert "temporary directory" in separate_system.gateway.text()
            with separate_system.client as http:
                assert got(http, "/v1/apc/packets", after=position)["count"] == 1
            assert first.running
        finally:
            first.kill()


def test_up_says_that_the_port_of_its_gateway_is_taken(broker: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        environ = {
            "BOOTSTRAP": broker,
            "PREFIX": f"up-{uuid.uuid4().hex[:8]}.",
            "STATE_DIR": str(tmp_path / "state"),
            "GATEWAY": taken,
        }
        up = Process("up", tmp_path / "up.log", named(environ), "streams.cli", "up")
        assert up.exit_code() == 3
    port = taken.rpartition(":")[2]
    expected = f"address_taken: port {port} is taken; --port 0 takes a free one"
    assert expected in up.text().splitlines()[-1]


@pytest.mark.slow
def test_a_broker_that_hangs_leaves_the_outcome_unknown(tmp_path: Path) -> None:
    private = PrivateBroker(tmp_path / "broker")
    try:
        with (
            live(private.bootstrap, tmp_path / "system") as separate_system,
            separate_system.client as http,
        ):
            sent(http, "/v1/apc/packets", idea())
            private.signal(signal.SIGSTOP)
            answer = http.post("/v1/apc/packets", json=idea(2))
            assert answer.status_code == 503
            assert "Send again with the same id" in answer.json()["detail"]
            assert answer.json()["rule"] == "service_unavailable"
            assert int(answer.headers["retry-after"]) > 0
            wait_for(lambda: http.get("/readyz").status_code == 503, "it is not ready")
            private.signal(signal.SIGCONT)
            wait_for(lambda: http.get("/readyz").status_code == 200, "it is ready again")
            (position,) = sent(http, "/v1/apc/packets", idea(2))
            path = f"/v1/apc/sessions/s1/packets/{packet_id(2)}"
            assert got(http, path, after=position)["state"] == "ROUTED"
            records = read(separate_system.log, APC_PACKETS, separate_system.prefix)
            sent_ids = {record_json(APC_PACKETS, r)["value"]["packet_id"] for r in records}
            assert sent_ids == {IDEA_ID, packet_id(2)}
    finally:
        private.end()
