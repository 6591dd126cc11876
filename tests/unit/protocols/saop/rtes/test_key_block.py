"""A private key over several pulses of one session (4.7), whether an edge has masked or not."""

from __future__ import annotations

from typing import Any

from streams.masking import Masker
from streams.processing.key_blocks import Blocks
from streams.protocols.saop.rtes.event_handlers import mask_at_edge
from tests.unit.protocols.saop.rtes.support import Bench, pulse

BEGIN, END = (f"-----{word} RSA PRIVATE KEY-----" for word in ("BEGIN", "END"))
BODY = ["MIIEowIBAAKCAQEA7Zr4" * 3, "q83vASNFZ4mrze8BI0VniavN" * 2, "Zm9vYmFyYmF6cXV4"]
OPEN, WHOLE, CLOSE = (f"[REDACTED:pem_{word}]" for word in ("open", "private_key", "close"))
KEY = ["writing the key", BEGIN, *BODY, "done so far", END, "q83vASNFZ4mr is public"]
SHOWN = ["writing the key", OPEN, WHOLE, WHOLE, WHOLE, "done so far", CLOSE, KEY[-1]]


def lines(bench: Bench, texts: list[str], first: int = 1, **members: Any) -> list[str]:
    records = [bench.recorded(pulse(first + n, line, **members)) for n, line in enumerate(texts)]
    return [record["payload"][1]["line"] for record in records]


def test_a_key_is_masked_line_by_line_and_the_words_around_it_stay() -> None:
    assert lines(Bench(), KEY) == SHOWN


def test_the_flag_says_that_the_text_changed_here_or_before() -> None:
    bench = Bench()
    flags = [bench.recorded(pulse(n, line))["payload"][1]["masked"] for n, line in enumerate(KEY)]
    assert flags == [line != expected for line, expected in zip(KEY, SHOWN, strict=True)]
    assert bench.recorded(pulse(50, "plain", masked=True))["payload"][1]["masked"] is True


def test_every_session_has_a_block_of_its_own() -> None:
    bench = Bench()
    lines(bench, [BEGIN])
    assert lines(bench, [BODY[2]], 10, session_id="s2") == [BODY[2]]
    assert lines(bench, [BODY[2]], 20) == [WHOLE]


def test_the_block_is_kept_in_the_sessions_row_over_batches_and_other_events() -> None:
    bench = Bench()
    lines(bench, [f"  {BEGIN}"])
    assert bench.session()["key_block"]["prefix"] == 2
    bench.judge(pulse(1, f"  {BEGIN}"))
    assert lines(bench, [BODY[0], END], 10) == [WHOLE, CLOSE]
    assert bench.session()["key_block"] is None


def test_a_block_ends_after_its_pulses_or_its_time() -> None:
    bench = Bench(rtes_pem_lines=3, rtes_pem_s=60)
    assert lines(bench, [BEGIN, BODY[2], BODY[2], BODY[2]]) == [OPEN, WHOLE, WHOLE, BODY[2]]
    assert lines(bench, [BEGIN], 10) == [OPEN]
    bench.advance(60_000)
    assert lines(bench, [BODY[2]], 20) == [WHOLE]
    bench.advance(1)
    assert lines(bench, [BODY[2]], 30) == [BODY[2]]


def test_what_an_edge_has_masked_keeps_the_block_readable() -> None:
    bench, blocks, masker = Bench(), Blocks(), Masker()
    events = []
    for n, line in enumerate(KEY):
        payload = {"type": "SANDBOX_PULSE", "line": line, "masked": False}
        event = mask_at_edge({"session_id": "s1", "payload": payload}, masker, 0, blocks)["payload"]
        events.append(pulse(n, event["line"], masked=event["masked"]))
    payloads = [bench.recorded(event)["payload"][1] for event in events]
    assert [payload["line"] for payload in payloads] == SHOWN
    assert [payload["masked"] for payload in payloads] == [
        a != b for a, b in zip(KEY, SHOWN, strict=True)
    ]


def test_an_edge_that_stands_alone_per_value_leaves_the_rest_to_the_processor() -> None:
    bench, masker = Bench(), Masker()
    events = []
    for n, line in enumerate(KEY):
        payload = {"type": "SANDBOX_PULSE", "line": line, "masked": False}
        event = mask_at_edge({"session_id": "s1", "payload": payload}, masker, 0, Blocks())
        sent = event["payload"]
        events.append(pulse(n, sent["line"], masked=sent["masked"]))
    assert [bench.recorded(event)["payload"][1]["line"] for event in events] == SHOWN


def test_a_refused_line_of_a_key_is_masked_after_the_key_too() -> None:
    bench = Bench()
    lines(bench, KEY)
    refused = bench.refused(pulse(3, BODY[1]))
    assert refused["rule"] == "event_id_conflict" or refused["rule"] == "event_duplicate"
    other = bench.refused(pulse(1, BODY[1]))
    assert other["rule"] == "event_id_conflict"
    assert BODY[1] not in other["event_json"]
