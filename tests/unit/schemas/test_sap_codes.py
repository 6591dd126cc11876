"""What a refusal is called: the guide's table of NACK codes and statuses, written down again."""

from __future__ import annotations

import pytest

from schemas import sap
from schemas.rules import Stage
from schemas.sap import constants, rules
from schemas.sap.rules import REFUSALS

TABLE = """
payload_secret INVALID_TASK 422
task_id_conflict signal_id_conflict task_closed illegal_transition UNPROCESSABLE 409
not_dispatched signal_repeated signal_too_early destination_unavailable UNPROCESSABLE 409
correlation_mismatch UNPROCESSABLE 422
unknown_task unknown_destination no_handler NOT_FOUND 404
unauthorized UNAUTHORIZED 401
forbidden producer_mismatch self_rating not_issuer FORBIDDEN 403
rate_limited RATE_LIMIT 429
"""
SHAPE = [rule.code for rule in rules.ALL if rule.stage is Stage.SCHEMA]


def expected() -> dict[str, tuple[str, int]]:
    by_code: dict[str, tuple[str, int]] = {}
    for line in TABLE.strip().splitlines():
        *codes, name, status = line.split()
        by_code |= {code: (name, int(status)) for code in codes}
    return by_code


def test_refusals_are_those_of_the_table() -> None:
    assert expected() == REFUSALS
    assert {code for code, _ in REFUSALS.values()} <= set(constants.ERROR_CODES)


@pytest.mark.parametrize("rule", [*SHAPE, "key_mismatch", "partition_mismatch"])
def test_what_is_wrong_with_the_record_itself(rule: str) -> None:
    assert sap.nack_code(rule, "TASK") == "INVALID_TASK"
    assert sap.nack_code(rule, "RESULT") == sap.nack_code(rule, "SIGNAL") == "UNPROCESSABLE"
    assert sap.http_status(rule) == 422


@pytest.mark.parametrize("subject", ["TASK", "RESULT", "SIGNAL"])
@pytest.mark.parametrize("rule", expected())
def test_other_refusals_are_called_alike_for_all(rule: str, subject: str) -> None:
    assert (sap.nack_code(rule, subject), sap.http_status(rule)) == expected()[rule]


@pytest.mark.parametrize("rule", ["accepted", "duplicate", "cache_hit", "nonsense"])
def test_what_refuses_nothing_has_no_code(rule: str) -> None:
    with pytest.raises(KeyError):
        sap.nack_code(rule, "TASK")


def test_every_rule_of_deciding_is_a_refusal_or_a_verdict() -> None:
    deciding = {r.code for r in rules.ALL if r.stage in (Stage.LOG, Stage.POLICY)}
    others = {"accepted", "duplicate", "key_mismatch", "partition_mismatch"}
    assert deciding == set(REFUSALS) | others


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1_767_225_600_999, "2026-01-01T00:00:00Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59Z"),
        (-62_135_596_800_000, "0001-01-01T00:00:00Z"),
    ],
)
def test_times_are_cut_down_to_the_second(ms: int, text: str) -> None:
    assert sap.protocol_time(ms) == text
    assert sap.parse_seconds(text) == ms // 1000


@pytest.mark.parametrize(
    "text",
    [
        "2026-10-05T09:00:00z",
        "2026-10-05t09:00:00Z",
        "2026-10-05T09:00:00+00:00",
        "2026-10-5T09:00:00Z",
        "2026-10-05T24:00:00Z",
        "2026-10-05T09:00:60Z",
        "2026-04-31T09:00:00Z",
        "0000-10-05T09:00:00Z",
        "2026-10-05T09:00Z",
        "2026-10-05T09:00:00Z\n",
        "２０２６-10-05T09:00:00Z",
        "",
    ],
)
def test_other_times_are_none(text: str) -> None:
    assert sap.parse_seconds(text) is None
