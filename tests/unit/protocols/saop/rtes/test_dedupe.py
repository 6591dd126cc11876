"""An event id counts once per session while the session remembers it."""

from __future__ import annotations

import json

import pytest

from streams.protocols.saop.rtes.session import SWEEP_LATE_MS, id_key
from tests.unit.protocols.saop.rtes.support import START_MS, Bench, transition, uuid
from topology.saop import RTES_IDS

WINDOW_MS = 60_000


def bench(ids: int = 3) -> Bench:
    return Bench(rtes_profile="open", rtes_dedupe_ids=ids, rtes_dedupe_s=WINDOW_MS // 1000)


def fill(on: Bench, *numbers: int) -> None:
    for n in numbers:
        assert on.rule(transition(n, "A", "A")) == "open_profile"


def id_rows(on: Bench) -> set[str]:
    return set(on.rows(RTES_IDS))


def test_a_resend_is_a_duplicate_and_names_the_first() -> None:
    on = bench()
    fill(on, 1, 2)
    sent = on.judge(transition(1, "A", "A")).value
    assert (sent["verdict"], sent["rule"], sent["fault"]) == (
        "duplicate",
        "event_duplicate",
        None,
    )
    assert sent["first_sequence"] == 1
    assert (sent["event_json"], sent["errors"], sent["figures_json"]) == (None, [], "{}")


def test_the_same_id_with_other_content_is_a_conflict() -> None:
    on = bench()
    fill(on, 1, 2)
    sent = on.judge(transition(2, "A", "B")).value
    assert (sent["verdict"], sent["rule"], sent["fault"]) == (
        "rejected",
        "event_id_conflict",
        "sender",
    )
    assert json.loads(sent["figures_json"]) == {"first_sequence": 2}
    assert sent["first_sequence"] is None
    assert json.loads(sent["event_json"])["payload"]["to_state"] == "B"


def test_ids_that_differ_in_case_are_one_id() -> None:
    on = bench()
    upper = "ABCDEF00-0000-4000-8000-000000000001"
    recorded = on.judge(transition(1, "A", "A", event_id=upper)).value
    assert recorded["event_id"] == upper
    again = on.judge(transition(1, "A", "A", event_id=upper.lower()))
    assert again.value["rule"] == "event_duplicate"
    assert again.value["event_id"] == upper.lower()


def test_ids_are_known_per_session() -> None:
    on = bench()
    fill(on, 1)
    assert on.rule(transition(1, "A", "A", session_id="s2")) == "open_profile"
    assert on.rule(transition(1, "A", "B", session_id="s2")) == "event_id_conflict"


def test_a_rejected_event_leaves_no_id_behind() -> None:
    on = Bench()
    early = transition(1, "IN_PROGRESS", "IN_PROGRESS")
    assert on.rule(early) == "illegal_transition"
    assert on.rule(early) == "illegal_transition"
    assert on.rule(transition(1, "PENDING", "IN_PROGRESS")) == "edge"


@pytest.mark.parametrize(("later", "forgotten"), [(2, False), (3, True)])
@pytest.mark.parametrize(("wait_ms", "old"), [(WINDOW_MS - 1, False), (WINDOW_MS, True)])
def test_an_id_is_forgotten_only_outside_both_windows(
    later: int, forgotten: bool, wait_ms: int, old: bool
) -> None:
    on = bench(ids=3)
    fill(on, 1)
    fill(on, *range(2, 2 + later))
    on.advance(wait_ms)
    rule = "open_profile" if forgotten and old else "event_duplicate"
    assert on.rule(transition(1, "A", "A")) == rule


def test_a_forgotten_id_is_given_again() -> None:
    on = bench(ids=1)
    fill(on, 1, 2)
    on.advance(WINDOW_MS)
    assert on.judge(transition(1, "A", "A")).value["sequence"] == 3
    assert on.judge(transition(1, "A", "A")).value["first_sequence"] == 3
    on.advance(SWEEP_LATE_MS)
    assert id_rows(on) == {id_key("s1", uuid(1))}, "the first timer took the second row"
    assert [data["sequence"] for data in on.timers.values()] == ["3"]


def test_forgotten_stays_forgotten_under_an_older_record_time() -> None:
    on = bench(ids=1)
    fill(on, 1, 2)
    past = on.now
    on.advance(WINDOW_MS)
    fill(on, 3)
    assert on.rule(transition(1, "A", "A"), at=past) == "open_profile"


def test_rows_outside_the_window_are_swept() -> None:
    on = bench(ids=3)
    fill(on, *range(10))
    on.advance(WINDOW_MS + SWEEP_LATE_MS - 1)
    assert len(id_rows(on)) == 10
    on.advance(1)
    assert id_rows(on) == {id_key("s1", uuid(n)) for n in (7, 8, 9)}
    assert on.rule(transition(7, "A", "A")) == "event_duplicate"


def test_a_resting_sessions_ids_are_looked_at_ever_more_rarely() -> None:
    on = bench(ids=3)
    fill(on, 1)
    due = WINDOW_MS + SWEEP_LATE_MS
    on.advance(1000 * due)
    assert [at - START_MS for at, _, _ in on.timers] == [1024 * due]
    fill(on, 2, 3, 4)
    on.advance(1000 * due)
    assert id_rows(on) == {id_key("s1", uuid(n)) for n in (2, 3, 4)}


def test_the_default_window_is_ten_thousand_ids_or_a_day() -> None:
    settings = Bench().settings
    assert (settings["RTES_DEDUPE_IDS"], settings["RTES_DEDUPE_S"]) == (10_000, 86_400)
