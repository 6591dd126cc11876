"""Tests of the client of witnesses: honest ones, slow ones, and each answer that is none."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.errors import SettingsError
from streams.ops.tlog import witness_client
from streams.ops.tlog.merkle import EMPTY_ROOT, Tree, leaf_hash, prove_consistency
from streams.ops.tlog.note import MAX_NOTE_BYTES, Checkpoint
from streams.ops.tlog.policy import Policy
from streams.ops.tlog.receipt import judge_note
from streams.ops.tlog.witness_client import (
    MAX_PAUSE_S,
    CosigningRequest,
    WitnessClient,
    WitnessOutcome,
    WitnessResult,
    add_cosignatures,
)
from tests.unit.ops.tlog.example_log import ORIGIN, signed
from tests.unit.ops.tlog.witness_double import (
    SIZE_TYPE,
    WitnessDouble,
    always,
    policy_of,
    respond,
    route,
    stall,
)

TREE = Tree(leaf_hash(b"%d" % number) for number in range(70))
OTHER = Tree(leaf_hash(b"other %d" % number) for number in range(70))
EMPTY = Checkpoint(ORIGIN, 0, EMPTY_ROOT)


def request_of(size: int, tree: Tree = TREE) -> CosigningRequest:
    checkpoint = Checkpoint(ORIGIN, size, tree.root(size))

    def prove(old: int) -> list[bytes]:
        return prove_consistency(old, size, tree.node)

    return CosigningRequest(checkpoint, signed(checkpoint), prove)


def client_of(
    *witnesses: WitnessDouble,
    policy: Policy | None = None,
    timeout_s: float = 60,
    clock: Callable[[], float] = lambda: 0.0,
) -> WitnessClient:
    transport = route(*witnesses)
    known = policy or policy_of(*witnesses)
    return WitnessClient(known, timeout_s, transport=transport, clock=clock)


def outcomes(results: list[WitnessResult]) -> dict[str, str]:
    return {result.name: result.outcome for result in results}


def test_witnesses_cosign_a_tree_that_grows() -> None:
    first, second = WitnessDouble("w1"), WitnessDouble("w2")
    policy = policy_of(first, second)
    with client_of(first, second) as client:
        for size in (1, 2, 3, 8, 9, 64, 70):
            request = request_of(size)
            note = add_cosignatures(request.note, client.cosign(request))
            judgement = judge_note(note, request.checkpoint, policy)
            assert judgement.fault is None
            assert [each.name for each in judgement.cosignatures] == ["w1", "w2"]
    assert (first.requests, first.size) == (7, 70)


def test_the_size_that_a_witness_knows_is_learned() -> None:
    witness = WitnessDouble("w1")
    for size in (5, 9):
        with client_of(witness) as client:
            client.cosign(request_of(size))
    assert (witness.requests, witness.size) == (3, 9)
    with client_of(witness) as client:
        (result,) = client.probe(signed(EMPTY), EMPTY)
        assert (result.outcome, result.size) == (WitnessOutcome.AHEAD, 9)
        assert outcomes(client.cosign(request_of(12))) == {"w1": "cosigned"}
    assert witness.requests == 5


def test_a_witness_that_knows_nothing_takes_the_empty_tree() -> None:
    with client_of(WitnessDouble("w1")) as client:
        assert outcomes(client.probe(signed(EMPTY), EMPTY)) == {"w1": "cosigned"}


def test_a_fork_is_a_conflict() -> None:
    witness = WitnessDouble("w1")
    with client_of(witness) as client:
        client.cosign(request_of(5, OTHER))
        assert outcomes(client.cosign(request_of(9))) == {"w1": "witness_conflict"}
        assert outcomes(client.cosign(request_of(5))) == {"w1": "witness_conflict"}


def lines_of_another() -> bytes:
    return WitnessDouble("w2").cosign(request_of(5).checkpoint)


def line_over_another_tree() -> bytes:
    return WitnessDouble("w1").cosign(request_of(4).checkpoint)


@pytest.mark.parametrize(
    ("response", "outcome"),
    [
        (lambda: respond(200), "bad_response"),
        (lambda: respond(200, b"noise"), "bad_response"),
        (lambda: respond(200, b"\xff" * 100), "bad_response"),
        (lambda: respond(200, lines_of_another()), "bad_response"),
        (lambda: respond(200, line_over_another_tree()), "bad_response"),
        (lambda: respond(200, b"x" * (MAX_NOTE_BYTES + 1)), "bad_response"),
        (lambda: respond(409), "bad_response"),
        (lambda: respond(409, b"5\n"), "bad_response"),
        (lambda: respond(409, b"five\n", SIZE_TYPE), "bad_response"),
        (lambda: respond(409, b"05\n", SIZE_TYPE), "bad_response"),
        (lambda: respond(409, b"2\n", SIZE_TYPE), "behind"),
        (lambda: respond(409, b"6\n", SIZE_TYPE), "ahead"),
        (lambda: respond(422), "witness_conflict"),
        (lambda: respond(400), "refused"),
        (lambda: respond(403), "refused"),
        (lambda: respond(404), "refused"),
        (lambda: respond(301), "bad_response"),
        (lambda: respond(204), "bad_response"),
        (lambda: respond(429), "unavailable"),
        (lambda: respond(503), "unavailable"),
    ],
)
def test_each_answer_has_one_outcome(response: Callable[[], httpx.Response], outcome: str) -> None:
    honest, liar = WitnessDouble("w0"), WitnessDouble("w1")
    liar.lie = always(response)
    with client_of(honest, liar) as client:
        results = client.cosign(request_of(5))
    assert outcomes(results) == {"w0": "cosigned", "w1": outcome}


def test_no_answer_raises_and_none_is_taken_for_a_cosignature() -> None:
    liar, seconds = WitnessDouble("w1"), count(0, 1000)
    with client_of(liar, clock=lambda: next(seconds)) as client:

        @given(
            st.integers(200, 599),
            st.sampled_from(["", "text/plain", SIZE_TYPE, f"{SIZE_TYPE}; charset=utf-8"]),
            st.binary() | st.integers(0).map(lambda size: b"%d\n" % size),
        )
        def check(status: int, content_type: str, body: bytes) -> None:
            liar.lie = always(lambda: respond(status, body, content_type))
            (result,) = client.cosign(request_of(5))
            assert result.outcome is not WitnessOutcome.COSIGNED
            assert result.signature is None

        check()


def test_lines_of_other_keys_are_ignored() -> None:
    witness = WitnessDouble("w1")
    body = lines_of_another() + witness.cosign(request_of(5).checkpoint)
    witness.lie = always(lambda: respond(200, body))
    with client_of(witness) as client:
        (result,) = client.cosign(request_of(5))
    assert (result.outcome, result.signature and result.signature.name) == ("cosigned", "w1")


def test_a_witness_that_stalls_is_not_waited_for_once_the_quorum_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(witness_client, "REST_S", 0.0)
    honest, slow = WitnessDouble("w1"), WitnessDouble("w2")
    slow.lie = stall
    policy = policy_of(honest, slow, quorum="any")
    with client_of(honest, slow, policy=policy) as client:
        results = client.cosign(request_of(5))
        assert outcomes(results) == {"w1": "cosigned", "w2": "unavailable"}
        slow.lie = None
        client.cosign(request_of(6))
    assert slow.requests == 2


def test_a_witness_that_stalls_ends_at_the_time_limit() -> None:
    slow = WitnessDouble("w1")
    slow.lie = stall
    with client_of(slow, timeout_s=0.01) as client:
        (result,) = client.cosign(request_of(5))
    assert (result.outcome, result.detail) == ("unavailable", "it takes longer than 0.01 s")


def test_pauses_double_until_it_answers() -> None:
    now = 0.0
    witness = WitnessDouble("w1")
    witness.lie = always(lambda: respond(503))
    with client_of(witness, clock=lambda: now) as client:
        for pause_s in (1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300):
            before = witness.requests
            client.cosign(request_of(5))
            assert witness.requests == before + 1
            now += pause_s - 0.5
            assert outcomes(client.cosign(request_of(5))) == {"w1": "unavailable"}
            assert witness.requests == before + 1
            now += 0.5
        assert pause_s == MAX_PAUSE_S
        witness.lie = None
        assert outcomes(client.cosign(request_of(5))) == {"w1": "cosigned"}
        assert outcomes(client.cosign(request_of(6))) == {"w1": "cosigned"}


def test_authorities_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("none")
    for path in (tmp_path / "ca.pem", tmp_path / "missing.pem"):
        with pytest.raises(SettingsError, match="HEADRACE_TLOG_WITNESS_CA"):
            WitnessClient(policy_of(WitnessDouble("w1")), 1, path)
