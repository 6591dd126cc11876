"""The commands against a real broker and a real worker, as `headrace up` runs them."""

from __future__ import annotations

import json
import re
import select
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from streams.engine.kafka import KafkaLog
from streams.engine.records import Output
from streams.engine.store import DirectoryLock
from streams.ingress.edges import ingress_topic_of
from streams.settings import Settings
from tests.integration.readme import quoted, told_of_demo
from tests.unit.envelopes import IDEA_ID, ack, idea, transition
from tests.unit.protocols.apc.queries.facts import transfer

pytestmark = pytest.mark.slow

UP_LIMIT_S = 90.0
PREFIX = "cli."


@pytest.fixture(scope="module")
def up(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """`headrace up` on the tests' broker, in a state directory that the commands use too."""
    state_dir: Path = tmp_path_factory.mktemp("up")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADRACE_BOOTSTRAP", broker)
        patch.setenv("HEADRACE_STATE_DIR", str(state_dir))
        patch.setenv("HEADRACE_PREFIX", PREFIX)
        patch.setenv("HEADRACE_GATEWAY", "127.0.0.1:0")
        process = start_up()
        try:
            yield state_dir
        finally:
            process.send_signal(signal.SIGTERM)
            output, _ = process.communicate(timeout=60)
        assert process.returncode == 0, output
        assert "state is kept" in output


def start_up() -> subprocess.Popen[str]:
    """Returns when it says that all is ready."""
    process = subprocess.Popen(
        [sys.executable, "-m", "streams.cli", "up"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("Send packets"):
            return process
    raise AssertionError(f"`headrace up` ended with {process.wait(UP_LIMIT_S)}")


@pytest.fixture
def session(up: Path) -> str:
    return f"s-{uuid.uuid4().hex[:8]}"


def run(*args: str, stdin: Any = None, env: dict[str, str] | None = None) -> Result:
    text = None if stdin is None else "\n".join(json.dumps(value) for value in stdin)
    return CliRunner().invoke(main, list(args), input=text, env=env)


def done(*args: str, stdin: Any = None) -> str:
    result = run(*args, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result.stdout


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_packet_is_sent_judged_and_found(session: str) -> None:
    (position,) = done("send", "apc.packets", stdin=[idea(trace__session_id=session)]).splitlines()
    assert re.fullmatch(r"cli\.apc\.packets/[0-3]/\d+", position)
    path = f"/v1/apc/sessions/{session}/packets/{IDEA_ID}"
    row = json.loads(done("query", path, "--after", position))
    assert (row["state"], row["position"]) == ("ROUTED", position)


def test_trace_and_replay_of_a_run(session: str, tmp_path: Path) -> None:
    packet = idea(trace__session_id=session, trace__run_id=session)
    answer = ack(packet, 2)
    positions = done("send", "apc.packets", stdin=[packet, answer]).splitlines()
    after = ("--after", positions[-1])
    trace = json.loads(done("packet-trace", "--session-id", session, *after))
    assert [p["lifecycle_state"] for p in trace["packets"]] == ["ARCHIVED", "ARCHIVED"]
    assert trace["event_count"] == 18
    out = tmp_path / "new" / "replay.json"
    result = run("packet-replay", "--run-id", session, "--out", str(out), *after)
    assert result.exit_code == 0
    assert result.stderr == f"wrote {out}\n"
    assert out.read_text() == result.stdout
    replay = json.loads(result.stdout)
    assert [p["packet_type"] for p in replay["packets"]] == ["IDEA", "ACK"]
    facts = tmp_path / "facts.jsonl.gz"
    done("audit", "export", str(facts))
    nobody = {"HEADRACE_BOOTSTRAP": "127.0.0.1:1", "HEADRACE_URL": "http://127.0.0.1:1"}
    for source in (out, facts, facts.parent):
        again = run("packet-replay", "--run-id", session, "--from", str(source), env=nobody)
        assert (again.exit_code, again.stdout) == (0, result.stdout), again.output


def test_a_transfer_is_explained_and_summed_up(session: str) -> None:
    packet = transfer(1, session, trace__session_id=session, payload__sender_score=0.84)
    better = transfer(2, session, trace__session_id=session)
    after = ("--after", done("send", "apc.packets", stdin=[packet, better]).splitlines()[-1])
    which = ("--session-id", session, "--packet-id", packet["packet_id"])
    answer = json.loads(done("packet-explain", *which, "--what-if", "sender_score=0.85", *after))
    assert answer["rule"] == "score_below_window"
    assert answer["counterfactual"]["passes"]
    assert run("packet-explain", *which, "--what-if", "sender_score=2").exit_code == 2
    assert run("packet-explain", *which, "--what-if", "colour=red").exit_code == 2
    assert run("packet-explain", "--session-id", session, "--packet-id", "x").exit_code == 1
    summary = json.loads(done("packet-lineage-summary", "--session-id", session))
    (row,) = summary["protocols"]
    assert (row["protocol_id"], row["transfer_count"]) == (session, 1)


def test_an_unknown_packet_exits_with_1(session: str) -> None:
    result = run("query", f"/v1/apc/sessions/{session}/packets/{IDEA_ID}")
    assert result.exit_code == 1
    assert session in result.stderr


def test_a_bad_query_exits_with_2(session: str) -> None:
    assert run("query", "/v1/apc/packets?colour=red").exit_code == 2
    assert run("query", "/v1/nowhere").exit_code == 2


def test_a_stream_is_followed_and_resumed(session: str) -> None:
    follow = ("tail", "rtes", "--session", session, "--until-end", "--json")
    first = transition(1) | {"session_id": session}
    second = transition(2, task_id="t2") | {"session_id": session}
    done("query", "/v1/saop/tasks", "--after", send_event(first))
    result = run(*follow)
    assert [e["payload"]["task_id"] for e in lines(result.stdout)] == ["t1"]
    assert result.stderr == f"cursor {session}:1\n"
    done("query", "/v1/saop/tasks", "--after", send_event(second))
    result = run(*follow, "--from", f"{session}:1")
    assert [e["sequence"] for e in lines(result.stdout)] == [2]


def send_event(event: dict[str, Any]) -> str:
    return done("send", "rtes.raw", stdin=[event]).strip()


def test_a_topic_is_followed_by_offsets(session: str) -> None:
    packet = idea(trace__session_id=session)
    follow = ("tail", "apc.events", "--session", session, "--until-end", "--json")
    (position,) = done("send", "apc.packets", stdin=[packet]).splitlines()
    done("query", "/v1/apc/packets", "--after", position)
    result = run(*follow)
    (record,) = lines(result.stdout)
    assert (record["topic"], record["value"]["verdict"]) == ("cli.apc.events", "accepted")
    cursor = result.stderr.removeprefix("cursor ").strip()
    assert re.fullmatch(r"0:-?\d+,1:-?\d+,2:-?\d+,3:-?\d+", cursor)
    assert run(*follow, "--from", cursor).stdout == ""
    assert run("tail", "apc.events", "--from", "nonsense").exit_code == 2
    assert run("tail", "apc.events", "--from", "0:999999999").exit_code == 1


def test_a_tail_is_interrupted_with_its_cursor(session: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "streams.cli", "tail", "rtes", "--session", session, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    event = transition(1) | {"session_id": session}
    for number in range(40):  # until the tail has begun: it starts at the end
        event["event_id"] = str(uuid.uuid4())
        event["payload"]["task_id"] = f"t{number}"
        send_event(event)
        if process.poll() is not None or _readable(process):
            break
    record = json.loads(process.stdout.readline())
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.fullmatch(rf"cursor {session}:\d+\n", stderr)
    assert int(stderr.strip().rpartition(":")[2]) >= record["sequence"]


def _readable(process: subprocess.Popen[str]) -> bool:
    assert process.stdout is not None
    return bool(select.select([process.stdout.fileno()], [], [], 0.5)[0])


def test_dead_letters_are_listed_and_shown(session: str, broker: str) -> None:
    log = KafkaLog(broker, {}, f"{PREFIX}headrace")
    topic = PREFIX + ingress_topic_of("apc.packets").topic.name
    (record,) = log.append([Output(topic, session.encode(), b"\x00not avro")])
    log.close()
    where = f"{topic}/{record.partition}/{record.offset}"
    done("query", "/v1/apc/packets", "--after", where)
    groups = lines(done("dlq", "list", "--json"))
    assert {"cli.apc.packets.dlq"} == {group["topic"] for group in groups}
    assert "schema_unknown" in done("dlq", "list")
    letter = json.loads(done("dlq", "show", where))
    assert (letter["source"], letter["key"]) == (where, session)
    assert json.loads(done("dlq", "show", letter["position"])) == letter
    assert run("dlq", "show", "cli.apc.packets/0/99999").exit_code == 1


def test_topics_are_listed(up: Path) -> None:
    rows = lines(done("topics", "list", "--json"))
    assert {row["standing"] for row in rows} == {"there"}
    assert "cli.apc.packets" in done("topics", "list")
    described = json.loads(done("topics", "describe", "apc.packets"))
    assert described["config"]["message.timestamp.type"] == "LogAppendTime"
    assert done("topics", "create") == ""
    assert run("topics", "describe", "nowhere").exit_code == 1


def test_a_rate_is_kept(session: str) -> None:
    begun = time.monotonic()
    packets = [idea(n, trace__session_id=session) for n in range(20)]
    assert len(done("send", "apc.packets", "--rate", "40", stdin=packets).splitlines()) == 20
    assert 0.3 < time.monotonic() - begun < 5


def test_another_view_is_used_while_one_is_in_use(session: str, up: Path) -> None:
    lock = DirectoryLock(up / "view")
    try:
        words = ("apc", "trace", "--session-id", session, "--no-gateway")
        assert json.loads(done(*words))["count"] == 0
    finally:
        lock.release()


def test_a_second_worker_on_one_state_directory_is_refused(up: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "streams.cli", "worker"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 3
    assert "in use" in ran.stderr


def test_a_second_up_on_one_state_directory_is_refused(up: Path, session: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "streams.cli", "up"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 3
    assert "in use" in ran.stderr
    packet = idea(trace__session_id=session)
    (position,) = done("send", "apc.packets", stdin=[packet]).splitlines()
    done("query", "/v1/apc/packets", "--after", position)


def test_the_demo_on_a_running_system(up: Path) -> None:
    output = done("demo")
    assert "checks hold" in output


def test_the_demo_on_a_system_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BOOTSTRAP", "PREFIX"):
        monkeypatch.delenv(f"HEADRACE_{name}", raising=False)
    monkeypatch.setenv("HEADRACE_STATE_DIR", str(tmp_path))
    output = done("demo")
    assert quoted(told_of_demo(), output.splitlines()) is None
    assert Settings.load().state_dir == tmp_path
    assert not (tmp_path / "worker").exists()
