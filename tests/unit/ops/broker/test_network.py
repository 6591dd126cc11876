from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from streams.ops.broker import network


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def port_of(server: socket.socket) -> int:
    return int(server.getsockname()[1])


def text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def answer_once(server: socket.socket, answer: bytes) -> threading.Thread:
    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(1024)
            connection.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return thread


def metadata(brokers: int, cluster: str) -> bytes:
    one = struct.pack(">i", 1) + text("localhost") + struct.pack(">ih", 9092, -1)
    body = struct.pack(">ii", 1, brokers) + one * brokers + text(cluster) + struct.pack(">ii", 1, 0)
    return struct.pack(">i", len(body)) + body


def test_the_wanted_port_is_taken_when_it_is_free() -> None:
    (free,) = network.pick_ports([], 1)
    first, second = network.pick_ports([free], 2)
    assert first == free
    assert second not in (0, free)


def test_the_next_port_is_taken_when_the_wanted_one_is_not_free(listener: socket.socket) -> None:
    (free,) = network.pick_ports([], 1)
    assert network.pick_ports([port_of(listener), free], 2)[0] == free


def test_any_port_is_taken_when_no_wanted_one_is_free(listener: socket.socket) -> None:
    ports = network.pick_ports([port_of(listener)], 2)
    assert len(set(ports)) == 2
    assert port_of(listener) not in ports


def test_a_broker_is_reachable_at_any_of_its_addresses(listener: socket.socket) -> None:
    (free,) = network.pick_ports([], 1)
    assert network.reachable(f"127.0.0.1:{free}, 127.0.0.1:{port_of(listener)}")
    assert not network.reachable(f"127.0.0.1:{free}")


@pytest.mark.parametrize("address", ["", "nowhere", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:99999"])
def test_what_is_no_address_is_not_reachable(address: str) -> None:
    assert not network.reachable(address)


def test_a_ready_broker_gives_its_cluster(listener: socket.socket) -> None:
    answer_once(listener, metadata(1, "abc"))
    assert network.cluster_id(port_of(listener)) == "abc"


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 400\r\n\r\n", metadata(0, "abc"), metadata(1, "abc")[:20]]
)
def test_other_answers_are_not_a_ready_broker(listener: socket.socket, answer: bytes) -> None:
    answer_once(listener, answer)
    assert network.cluster_id(port_of(listener), 1.0) is None


def test_nobody_there_is_not_a_ready_broker() -> None:
    (free,) = network.pick_ports([], 1)
    assert network.cluster_id(free) is None
