"""What a process logs: lines of text, or objects; fields; no secrets."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from streams.settings import Settings
from streams.telemetry import logs

log = logging.getLogger("streams.a_test")


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root, logger = logging.getLogger(), logging.getLogger("streams")
    before = root.handlers[:], root.level, logger.level
    yield
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    logger.setLevel(before[2])


def configured(**variables: str) -> None:
    logs.configure(Settings().assign(variables))


def test_text_has_the_fields_behind_the_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    configured()
    log.info("task opened", extra=logs.fields(task=3, why="a b"))
    line = capsys.readouterr().err
    assert line.endswith(' INFO task opened task=3 why="a b"\n')


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_name_that_a_client_gives_begins_no_line(
    form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configured(LOG_FORMAT=form)
    log.error("timer of %s", "a\nb\r\x1b[2Jc", extra=logs.fields(key="d\r\x9be"))
    line = capsys.readouterr().err.removesuffix("\n")
    assert "timer of a" in line
    assert not set(line) & set("\n\r\x1b")
    assert form == "json" or line.isprintable()


def test_json_has_them_as_members(capsys: pytest.CaptureFixture[str]) -> None:
    configured(LOG_FORMAT="json")
    log.warning("task %d opened", 3, extra=logs.fields(task=3))
    line = json.loads(capsys.readouterr().err)
    at = line.pop("at")
    assert line == {
        "level": "warning",
        "logger": "streams.a_test",
        "message": "task 3 opened",
        "task": 3,
    }
    assert at.endswith("Z")


@pytest.mark.parametrize("form", ["text", "json"])
def test_secrets_are_masked_in_messages_fields_and_tracebacks(
    form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configured(LOG_FORMAT=form)
    secret = "AKIAIOSFODNN7EXAMPLE"
    try:
        raise ValueError(f"password={secret}")
    except ValueError:
        log.exception("key %s", secret, extra=logs.fields(key=secret))
    text = capsys.readouterr().err
    assert "ValueError" in text
    assert secret not in text


def test_a_traceback_is_one_member(capsys: pytest.CaptureFixture[str]) -> None:
    configured(LOG_FORMAT="json")
    try:
        raise ValueError("so it is")
    except ValueError:
        log.exception("failed")
    (line,) = capsys.readouterr().err.splitlines()
    assert "ValueError: so it is" in json.loads(line)["error"]


@pytest.mark.parametrize(
    ("traceparent", "expected"),
    [
        (f"00-{'a' * 32}-{'b' * 16}-01", ["a" * 32, "b" * 16, "01"]),
        (f"00-{'a' * 32}-{'b' * 16}-00-more", ["a" * 32, "b" * 16, "00"]),
        (f"00-{'A' * 32}-{'b' * 16}-01", None),
        ("nothing of the kind", None),
    ],
)
def test_json_has_the_parts_of_a_trace_context_as_opentelemetry_names_them(
    traceparent: str, expected: list[str] | None, capsys: pytest.CaptureFixture[str]
) -> None:
    configured(LOG_FORMAT="json")
    log.warning("slow", extra=logs.fields(traceparent=traceparent))
    line = json.loads(capsys.readouterr().err)
    names = ("trace_id", "span_id", "trace_flags")
    assert [line[name] for name in names if name in line] == (expected or [])
    assert line["traceparent"] == traceparent


def test_what_is_logged_in_a_context_has_its_fields(capsys: pytest.CaptureFixture[str]) -> None:
    configured(LOG_FORMAT="json")
    token = logs.CONTEXT.set({"request_id": "r-1"})
    log.info("one")
    logs.CONTEXT.reset(token)
    log.info("two")
    one, two = map(json.loads, capsys.readouterr().err.splitlines())
    assert (one["request_id"], "request_id" in two) == ("r-1", False)


def test_levels_are_those_of_the_settings(capsys: pytest.CaptureFixture[str]) -> None:
    configured(LOG_LEVEL="warning")
    log.info("quiet")
    logging.getLogger("another").info("quiet")
    log.warning("loud")
    assert capsys.readouterr().err.count("\n") == 1
