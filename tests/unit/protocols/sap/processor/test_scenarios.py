"""The scenarios of SAP: what the guide says of each, with their restarts and without.

That a restart after any line changes nothing is tested of all scenarios in `tests.unit.play`.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from tests.unit.processing.scenarios import Scenarios, in_any_order, records

Json = dict[str, Any]


class Expected(NamedTuple):
    """What a scenario brings about, in log order; tasks by the last digit of their first part.

    acks: rules.  cache: task and verdict, `*` for one that leads.  outcomes: task, status, rule.
    refused: rules of the edge.  letters: why records became dead letters.
    """

    acks: str
    cache: str = ""
    outcomes: str = ""
    refused: str = ""
    letters: str = ""


SETTINGS: dict[str, Json] = {"rate-limit": {"sap_rate": Decimal("0.5"), "sap_burst": Decimal(2)}}
"""Of the scenarios that do not run with the defaults."""

EXPECTED = {
    "seed": Expected(
        acks="accepted accepted duplicate",
        cache="7fbb32b6:miss* 7fbb32b6:stored",
        outcomes="7fbb32b6:SUCCEEDED:agent_status",
        refused="missing_field",
    ),
    "tasks": Expected(
        acks=(
            "accepted duplicate task_id_conflict unknown_task producer_mismatch "
            "illegal_transition accepted illegal_transition accepted duplicate accepted "
            "illegal_transition accepted accepted task_closed accepted accepted"
        ),
        outcomes=(
            "1:RUNNING:agent_status 1:RUNNING:agent_status 1:PARTIAL:agent_status "
            "1:RUNNING:agent_status 1:SUCCEEDED:agent_status 2:CANCELLED:agent_status"
        ),
    ),
    "cache": Expected(
        acks=(
            "accepted accepted accepted accepted accepted accepted accepted accepted accepted "
            "accepted accepted accepted accepted accepted accepted accepted accepted"
        ),
        cache=(
            "1:miss 2:miss* 2:stored 3:hit 4:hit 5:stale* 5:stored 6:stale 7:misaligned 8:hit "
            "9:misaligned* 9:stored a:hit c:miss* c:released d:miss"
        ),
        outcomes=(
            "1:FAILED:cache_only_miss 2:SUCCEEDED:agent_status 3:SUCCEEDED:cache_hit "
            "4:SUCCEEDED:cache_hit 5:SUCCEEDED:agent_status 6:FAILED:cache_only_miss "
            "7:FAILED:cache_only_miss 8:SUCCEEDED:cache_hit 9:SUCCEEDED:agent_status "
            "a:SUCCEEDED:cache_hit c:SUCCEEDED:agent_status d:FAILED:cache_only_miss"
        ),
    ),
    "single-flight": Expected(
        acks="accepted accepted accepted accepted accepted accepted accepted",
        cache="1:miss* 2:waiting 3:waiting 4:miss 1:stored 2:hit 3:hit 5:hit 6:stale",
        outcomes=(
            "4:FAILED:cache_only_miss 1:SUCCEEDED:agent_status 2:SUCCEEDED:cache_hit "
            "3:SUCCEEDED:cache_hit 5:SUCCEEDED:cache_hit 6:FAILED:cache_only_miss"
        ),
    ),
    "lapse": Expected(
        acks="accepted accepted accepted accepted accepted",
        cache=(
            "1:miss* 2:waiting 3:waiting 4:miss 3:wait_expired 3:released 2:wait_expired "
            "1:flight_lapsed 5:miss*"
        ),
        outcomes="4:FAILED:cache_only_miss 3:FAILED:deadline_passed",
    ),
    "constitution": Expected(
        acks=(
            "accepted accepted accepted accepted accepted accepted accepted accepted accepted "
            "accepted accepted accepted accepted accepted alignment_status_mismatch accepted "
            "accepted accepted"
        ),
        outcomes=(
            "1:FAILED:alignment_refused 2:SUCCEEDED:agent_status 3:ESCALATED:alignment_escalated "
            "4:ESCALATED:alignment_escalated 5:FAILED:alignment_refused 6:RUNNING:agent_status "
            "6:FAILED:alignment_refused 7:FAILED:agent_status 8:FAILED:alignment_refused"
        ),
    ),
    "signals": Expected(
        acks=(
            "unknown_task accepted accepted duplicate signal_id_conflict signal_too_early "
            "accepted accepted signal_repeated self_rating accepted task_closed accepted "
            "not_issuer correlation_mismatch accepted task_closed bad_signal"
        ),
        cache="1:miss* 1:stored",
        outcomes="1:SUCCEEDED:agent_status 2:CANCELLED:cancelled_by_signal",
    ),
    "deadlines": Expected(
        acks=(
            "accepted accepted accepted accepted accepted task_closed task_closed accepted "
            "accepted accepted accepted accepted"
        ),
        cache="5:miss* 5:released",
        outcomes=(
            "1:RUNNING:agent_status 2:SUCCEEDED:agent_status 3:FAILED:deadline_passed "
            "1:FAILED:deadline_passed 4:SUCCEEDED:agent_status 5:FAILED:deadline_passed "
            "6:FAILED:deadline_passed"
        ),
    ),
    "rate-limit": Expected(
        acks=(
            "accepted accepted rate_limited rate_limited rate_limited accepted accepted duplicate "
            "rate_limited accepted duplicate"
        ),
    ),
    "bad-input": Expected(
        acks=(
            "bad_timestamp bad_uuid key_mismatch key_mismatch bad_capability out_of_range "
            "self_parent deadline_before_issue accepted duplicate error_message_missing "
            "alignment_status_mismatch bad_enum correlation_mismatch unknown_task bad_signal "
            "bad_signal accepted"
        ),
        outcomes="1:FAILED:agent_status",
        refused="bad_version bad_agent_id missing_field missing_field",
        letters="frame_unknown null_value",
    ),
}


SAP = Scenarios("sap", SETTINGS)
lines, run, outputs = SAP.lines, SAP.run, SAP.outputs


def of(name: str, topic: str) -> list[Json]:
    return [o["value"] for o in SAP.of(name, topic)]


def short(task_id: str) -> str:
    return task_id.split("-")[0].lstrip("0")


def summary(all_outputs: list[Json]) -> Expected:
    acks, verdicts, results, refused, letters = [], [], [], [], []
    for output in all_outputs:
        topic, value = output.get("topic"), output.get("value", {})
        if "rejected" in output:
            refused.append(output["rejected"]["rule"])
        elif topic == "sap.acks":
            acks.append(value["rule"])
        elif topic == "sap.verdicts":
            lead = "*" if value["leader"] else ""
            verdicts.append(f"{short(value['taskId'])}:{value['verdict']}{lead}")
        elif topic == "sap.outcomes":
            rule = value["meta"]["headrace"]["rule"]
            results.append(f"{short(value['taskId'])}:{value['status']}:{rule}")
        elif topic is not None and topic.endswith(".dlq"):
            letters.append(output["headers"]["kafka_dlt-exception-fqcn"])
    return Expected(*map(" ".join, (acks, verdicts, results, refused, letters)))


@pytest.mark.parametrize("name", EXPECTED)
def test_a_scenario_brings_about_what_the_spec_says(name: str) -> None:
    actual, expected = summary(list(outputs(name))), EXPECTED[name]
    for part, expected_part in zip(actual, expected, strict=True):
        assert part.split() == expected_part.split()


def test_every_scenario_is_expected() -> None:
    assert SAP.names == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_without_its_restarts_a_scenario_is_the_same(name: str) -> None:
    assert records(SAP.without_restarts(name)) == records(list(outputs(name)))


def test_more_partitions_change_no_verdict() -> None:
    """Ids, positions and the order between tasks differ; what is decided does not."""
    for name in ("cache", "signals", "constitution"):
        ours, theirs = summary(list(outputs(name))), summary(SAP.spread(name))
        assert in_any_order(ours) == in_any_order(theirs)


def answers(name: str) -> list[Json]:
    return [o for o in outputs(name) if "query" in o]


def test_the_seeds_example_as_printed() -> None:
    """Without pressureLevel it is no task (decision 1); with it, it runs as printed."""
    refused = outputs("seed")[0]["rejected"]
    assert (refused["rule"], refused["path"]) == (
        "missing_field",
        "/constitutionalContext/pressureLevel",
    )
    (first, *_) = of("seed", "sap.acks")
    assert first["warnings"] == ["deadline_already_past"]
    (outcome,) = of("seed", "sap.outcomes")
    evidence = outcome["constitutionalEvidence"]
    assert (outcome["status"], evidence["alignment"]) == ("SUCCEEDED", "VALID")
    assert {check["status"] for check in evidence["policyChecks"]} == {"PASS"}
    assert evidence["citations"] == ["ubos://constitution/books", "ubos://sap/v1"]
    assert outcome["meta"]["versionHint"] == "sap/2.0"
    task, cached = (answer["body"] for answer in answers("seed"))
    assert (task["state"], task["cache"]["storedVersion"]) == ("SUCCEEDED", 1)
    assert cached["output"] == outcome["output"]
    assert cached["recordSha256"] == of("seed", "sap.cache")[0]["recordSha256"]


def test_the_seeds_example_with_its_deadline_enforced() -> None:
    all_outputs = run("seed", lines("seed"), sap_past_deadline="timeout")
    assert summary(all_outputs)[:3] == (
        "accepted task_closed duplicate",
        "",
        "7fbb32b6:FAILED:deadline_passed",
    )


def test_waits_end_when_the_spec_says() -> None:
    """The example of 5.4."""
    waits = {short(v["taskId"]): v["waitUntil"] for v in of("single-flight", "sap.verdicts")}
    waiting = [v for v in of("single-flight", "sap.verdicts") if v["verdict"] == "waiting"]
    until = {short(v["taskId"]): v["waitUntil"][11:19] for v in waiting}
    assert until == {"2": "09:00:34", "3": "09:00:25"}
    assert set(waits) == {"1", "2", "3", "4", "5", "6"}
    ages = [v["ageSec"] for v in of("single-flight", "sap.verdicts") if v["verdict"] == "hit"]
    assert ages == [0, 0, 90]
    at = {v["verdict"]: v["at"][11:23] for v in of("lapse", "sap.verdicts")}
    assert (at["wait_expired"], at["flight_lapsed"]) == ("09:00:34.001", "09:05:00.000")


def test_cache_records_are_written_once_and_chained() -> None:
    written = [o for o in outputs("cache") if o.get("topic") == "sap.cache"]
    assert len({o["key"] for o in written}) == len(written) == 3
    assert [o["value"]["version"] for o in written] == [1, 2, 3]
    chain = ["0" * 64, *(o["value"]["recordSha256"] for o in written)]
    assert [o["value"]["previousSha256"] for o in written] == chain[:-1]
    newest, versions, missing = (answer for answer in answers("cache"))
    assert (newest["body"]["version"], missing["status"]) == (3, 404)
    assert [v["version"] for v in versions["body"]["versions"]] == [3, 2, 1]


def test_withheld_output_is_nowhere_but_in_the_command_log() -> None:
    public = [o for o in outputs("constitution") if o.get("topic") in ("sap.outcomes", "sap.acks")]
    assert not any("5550" in json.dumps(o) or "4111" in json.dumps(o) for o in public)


def test_a_limited_issuer_is_told_when_to_come_again() -> None:
    waits = [ack["retryAfterMs"] for ack in of("rate-limit", "sap.acks") if ack["retryAfterMs"]]
    assert waits == [2000, 2000, 1, 1]
