"""Dead letters are sent back once each, though the redrive is killed and two run at once."""

from __future__ import annotations

import random

import pytest

from streams.engine.dead_letters import make_dead_letter
from streams.engine.records import LogRecord, Output, header
from streams.ops.redrive.dead_letters import REDRIVEN_FROM
from tests.e2e.environment import Environment
from tests.processes import PATIENCE_S
from tests.unit.envelopes import idea
from topology.apc import APC_PACKETS, APC_PACKETS_DLQ
from topology.core import AUDIT_REDRIVES

pytestmark = pytest.mark.slow

LETTERS = 200
KILLS = 3


def test_each_dead_letter_is_sent_once_though_redrives_are_killed_and_meet(
    environment: Environment, dice: random.Random
) -> None:
    environment.log.append([_letter(environment, number) for number in range(LETTERS)])
    facts = environment.tail(AUDIT_REDRIVES)
    for number in range(KILLS):
        redrive = environment.process(f"killed-{number}", "dlq", "redrive")
        facts.until(min(LETTERS, facts.poll() + dice.randrange(1, LETTERS // (KILLS + 2))))
        redrive.kill()
    pair = [environment.process(name, "dlq", "redrive") for name in ("one", "other")]
    codes = [process.exit_code(PATIENCE_S) for process in pair]
    assert set(codes) <= {0, 3}  # the one that began first may be fenced
    if 0 not in codes:
        assert "another redrive has begun" in "".join(process.text() for process in pair)
    environment.headrace("dlq", "redrive")

    expected = {record_place(environment, number) for number in range(LETTERS)}
    sent = [header(record, REDRIVEN_FROM) or b"" for record in environment.records(APC_PACKETS)]
    assert sorted(sent) == sorted(expected)
    audit_places = [fact["dead_letter"].encode() for fact in environment.values(AUDIT_REDRIVES)]
    assert sorted(audit_places) == sorted(expected)


def record_place(environment: Environment, number: int) -> bytes:
    return f"{environment.name(APC_PACKETS_DLQ)}/0/{number}".encode()


def _letter(environment: Environment, number: int) -> Output:
    """As a worker leaves it that cannot judge a packet."""
    output = environment.packet(idea(number))
    place = (environment.name(APC_PACKETS), 0, number, 0)
    record = LogRecord(*place, output.key, output.value)
    stored = (record.key, record.value)
    return make_dead_letter(environment.prefix, APC_PACKETS, record, stored, "decide_failed", "")
