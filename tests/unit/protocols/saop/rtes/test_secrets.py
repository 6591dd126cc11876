"""No secret reaches a record of the service, wherever in an event it was (5.4, 9.1)."""

from __future__ import annotations

import json
from string import ascii_letters, digits
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import canonical_json, encode
from streams.masking import has_token
from streams.protocols.commands import all_processors
from streams.settings import Settings
from tests.examples import example_count
from tests.unit.protocols.saop.rtes.support import (
    NOON,
    Bench,
    completed,
    invoked,
    pulse,
    thought,
    transition,
)
from topology.core import RTES_RAW
from topology.saop import RTES_EVENTS, RTES_REJECTIONS

WORDS = st.text(ascii_letters + digits, min_size=30, max_size=40)
FORMS = [
    "ghp_{}",
    "password={}",
    "AKIA{}",
    "Authorization: Bearer 7{}",
    "https://me:{}@example.org",
]


@st.composite
def secrets(draw: st.DrawFn) -> tuple[str, str]:
    """A secret, and a text that gives it away."""
    word = draw(WORDS)
    form = draw(st.sampled_from(FORMS))
    if form.startswith("AKIA"):
        word = word.upper()[:16]
    return word, form.format(word)


def arguments(text: str, secret: str) -> str:
    value = {"env": [text, {"deep": text}], "api_token": secret, text: 1, "password": 12345678}
    return canonical_json(value).decode()


def clean(bench: Bench, secret: str) -> bool:
    """Nothing that left the processor holds the secret; rows of ids are hashes."""
    return secret.encode() not in bench.written()


@settings(max_examples=example_count(60), deadline=None)
@given(secrets(), st.text("ab c", max_size=10))
def test_recorded_lines_and_arguments_are_masked(given_: tuple[str, str], before: str) -> None:
    secret, text = given_
    bench = Bench()
    line = bench.recorded(pulse(1, f"{before} {text}"))["payload"][1]
    assert line["masked"] is True
    assert has_token(line["line"])
    record = bench.recorded(invoked(2, arguments(text, secret)))
    assert record["masked_arguments"] >= 4
    assert "12345678" not in record["payload"][1]["arguments_json"]
    assert clean(bench, secret)


@settings(max_examples=example_count(40), deadline=None)
@given(secrets())
def test_events_of_a_wrong_shape_or_key_are_masked_in_every_string(given_: tuple[str, str]) -> None:
    secret, text = given_
    bench = Bench()
    everywhere = [
        transition(1, text, text, task=text, git=text),
        thought(2, text),
        invoked(3, arguments(text, secret), call_id=text, tool=text),
        completed(4, call_id=text, tool=text),
        pulse(5, text),
    ]
    for event in everywhere:
        assert bench.refused(event, key=text.encode())["rule"] == "key_mismatch"
        assert bench.refused({**event, "event_id": text})["rule"] == "event_id_invalid"
    for event in (invoked(6, text), invoked(7, f'["{text}"]'), pulse(8, text, timestamp=text)):
        assert bench.refused(event)["fault"] == "sender"
    assert clean(bench, secret)


@settings(max_examples=example_count(40), deadline=None)
@given(secrets())
def test_events_refused_by_their_session_are_masked_like_accepted_ones(
    given_: tuple[str, str],
) -> None:
    secret, text = given_
    bench = Bench()
    bench.recorded(pulse(1))
    bench.recorded(invoked(2))
    lines = [pulse(1, text), invoked(3, arguments(text, secret))]
    rules = [bench.refused(event)["rule"] for event in lines]
    assert rules == ["event_id_conflict", "call_already_invoked"]
    assert clean(bench, secret)
    for event in lines:
        bench.too_large(bench.event(event), RTES_EVENTS, 1)
    assert clean(bench, secret)


@settings(max_examples=example_count(40), deadline=None)
@given(secrets())
def test_figures_are_masked(given_: tuple[str, str]) -> None:
    secret, text = given_
    bench = Bench()
    bench.recorded(transition(1, "PENDING", "BLOCKED"))
    refused = bench.refused(transition(2, text, "PENDING"))
    assert refused["rule"] == "from_state_mismatch"
    assert secret not in refused["figures_json"]
    refused = bench.refused(transition(3, "BLOCKED", text))
    assert (refused["rule"], secret in refused["figures_json"]) == ("unknown_state", False)


def test_thoughts_identifiers_and_states_are_kept_as_sent() -> None:
    text = "password=hunter2hunter2"
    bench = Bench()
    assert bench.recorded(thought(1, text))["payload"][1]["chunk"] == text
    record = bench.recorded(transition(2, text, f"x {text}", task=text))
    assert record["payload"][1]["task_id"] == text
    assert bench.recorded(invoked(3, call_id=text, tool=text))["payload"][1]["tool"] == text


def test_arguments_are_left_alone_if_the_settings_say_so() -> None:
    bench = Bench(rtes_mask_arguments=False)
    record = bench.recorded(invoked(1, '{"password":"hunter2hunter2"}'))
    assert json.loads(record["payload"][1]["arguments_json"]) == {"password": "hunter2hunter2"}
    assert record["masked_arguments"] == 0


def test_a_key_gives_replacements_a_fingerprint() -> None:
    bench = Bench(mask_key="k1")
    line = bench.recorded(pulse(1, "password=hunter2hunter2"))["payload"][1]["line"]
    assert line.startswith("password=[REDACTED:assignment:")


def test_a_resend_is_the_same_event_whether_an_edge_has_masked_it_or_not() -> None:
    bench = Bench()
    first = bench.recorded(pulse(1, "password=hunter2hunter2"))["payload"][1]
    assert bench.rule(pulse(1, first["line"], masked=True)) == "event_duplicate"
    record = bench.recorded(invoked(2, '{"password":"hunter2hunter2"}'))
    assert bench.rule(invoked(2, record["payload"][1]["arguments_json"])) == "event_duplicate"
    assert bench.rule(pulse(1, "password=hunter3hunter3")) == "event_duplicate", "no hash of it"


@pytest.mark.parametrize(
    "value",
    [
        b"password=hunter2hunter2",
        b"\x00\xffpassword=hunter2hunter2",
        b"a\npassword: hunter2hunter2\n",
    ],
)
def test_a_dead_letter_is_masked_text(value: bytes) -> None:
    bench = Bench()
    dead_letter = bench.processor.dead_letter(RTES_RAW, value, bench.settings)
    assert dead_letter is not None
    assert b"hunter2" not in dead_letter
    assert b"[REDACTED:assignment]" in dead_letter
    assert bench.processor.dead_letter(RTES_RAW, None, bench.settings) is None


def test_dead_letters_of_topics_without_secrets_are_kept_as_they_are() -> None:
    value, work = b"password=hunter2hunter2", Settings().as_work()
    for processor in all_processors():
        for topic in processor.declaration.inputs:
            dead_letter = processor.dead_letter(topic, value, work)
            assert (dead_letter == value) is (not topic.secret)


def test_foreign_arguments_are_recorded_as_canonical_json() -> None:
    record = Bench().recorded(invoked(1, '{"b": 1.0, "a": [true]}'))
    assert record["payload"][1]["arguments_json"] == '{"a":[true],"b":1}'


def test_a_refusal_keeps_what_is_no_secret() -> None:
    bench = Bench()
    bench.recorded(pulse(1, "one"))
    refused = bench.refused(pulse(1, "two"))
    event: dict[str, Any] = json.loads(refused["event_json"])
    assert event["payload"] == {
        "type": "SANDBOX_PULSE",
        "line": "two",
        "masked": False,
        "timestamp": NOON,
    }
    assert encode(str(RTES_REJECTIONS.record), refused)


@settings(max_examples=example_count(30), deadline=None)
@given(secrets())
def test_a_refused_event_keeps_no_secret_but_in_a_thought(given_: tuple[str, str]) -> None:
    """Names and states are kept as sent in what is recorded only (9.1)."""
    secret, text = given_
    bench = Bench()
    sent = bench.refused(transition(1, "PENDING", text, task=text, git=text))
    assert sent["rule"] == "unknown_state"
    assert secret not in json.dumps(sent)
    bench.recorded(completed(2, call_id="c", tool="t"))
    sent = bench.refused(completed(3, call_id="c", tool=text))
    assert sent["rule"] == "call_already_completed"
    assert clean(bench, secret)
    bench.recorded(thought(4, "all", is_final=True))
    sent = bench.refused(thought(5, text))
    assert json.loads(sent["event_json"])["payload"]["chunk"] == text
