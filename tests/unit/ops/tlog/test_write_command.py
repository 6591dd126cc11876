"""`headrace audit write` with a policy, over a log in memory."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from streams.cli import common, main
from streams.engine.memory import MemoryLog
from streams.errors import PolicyInvalid, SettingsError
from streams.ops.tlog.errors import PolicyLacksKey
from streams.ops.tlog.keys import cosigner_key
from streams.ops.tlog.log_keys import load_log_keys
from streams.ops.tlog.note import Checkpoint, parse_note
from streams.ops.topics import create_topics
from streams.settings import Settings
from tests.unit.ops.tlog.example_log import ORIGIN
from tests.unit.ops.tlog.logged import EVENTS, Logged
from topology import topics
from topology.core import TRANSPARENCY


@pytest.fixture
def logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Logged:
    system = Logged(tmp_path)

    @contextmanager
    def connect(settings: Settings) -> Iterator[MemoryLog]:
        yield system.log

    monkeypatch.setattr(common, "connect", connect)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_AUDIT_KEY", "k.pem")
    monkeypatch.setenv("HEADRACE_TLOG_POLICY", "k.pem.policy")
    monkeypatch.setenv("HEADRACE_TLOG_DIR", "files")
    run("key", "k.pem", "--origin", ORIGIN)
    return system


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(main, ["audit", *arguments])
    assert result.exit_code == code, result.output
    return result


def test_each_round_prints_one_line(logged: Logged) -> None:
    logged.write_facts(3)
    assert run("write", "--once").stdout.startswith("size 3 (+3) root ")
    assert run("write", "--once").stdout == ""
    logged.write_facts(2)
    members = json.loads(run("write", "--once", "--json").stdout)
    checkpoint = Checkpoint.parse(parse_note(members["note"].encode()).text)
    assert (members["origin"], members["first"], members["size"]) == (ORIGIN, 3, 5)
    assert (members["records"], members["published"], members["witnesses"]) == (2, True, [])
    assert (checkpoint.size, Path("files/checkpoint").read_text()) == (5, members["note"])


def test_a_gap_is_accepted_by_name(logged: Logged) -> None:
    logged.write_facts(5)
    logged.log.truncate(EVENTS, 2)
    assert "is due next" in run("write", "--once", code=3).stderr
    run("write", "--once", "--accept-gap", "apc.events", code=2)
    run("write", "--once", "--accept-gap", "apc.events/0")


def test_options_of_the_other_kind_are_refused(
    logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEADRACE_TLOG_POLICY")
    run("write", "--once", "--accept-gap", "apc.events/0", code=2)
    run("write", "--once", "--ignore-chains", code=2)


def seal(logged: Logged, monkeypatch: pytest.MonkeyPatch, code: int = 0) -> Result:
    """Write checkpoints of chains, as an environment without a log has them."""
    with monkeypatch.context() as patched:
        patched.delenv("HEADRACE_TLOG_POLICY")
        return run("write", "--once", code=code)


def test_a_log_begins_where_the_facts_are_as_their_chains_say(
    logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged.write_facts(3)
    seal(logged, monkeypatch)
    slots = logged.log.slots(EVENTS)
    fact = slots[1]
    assert fact is not None
    slots[1] = fact._replace(value=b"forged")
    refused = run("write", "--once", code=3)
    assert "headrace: records_differ: apc.events/0: between" in refused.stderr
    slots[1] = fact
    assert run("write", "--once").stdout.startswith("size 4 (+4) root ")
    assert "have a transparency log" in seal(logged, monkeypatch, code=2).stderr


def test_facts_that_differ_from_their_chains_get_entries_where_that_is_meant(
    logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged.write_facts(3)
    seal(logged, monkeypatch)
    run("key", "other.pem", "--origin", ORIGIN)
    monkeypatch.setenv("HEADRACE_AUDIT_KEY", "other.pem")
    monkeypatch.setenv("HEADRACE_TLOG_POLICY", "other.pem.policy")
    assert "headrace: checkpoint_invalid: " in run("write", "--once", code=3).stderr
    run("write", "--once", "--ignore-chains", "--json")


def test_a_chain_of_a_former_key_is_checked_with_it(
    logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged.write_facts(3)
    seal(logged, monkeypatch)
    run("key", "other.pem", "--origin", ORIGIN)
    monkeypatch.setenv("HEADRACE_AUDIT_KEY", "other.pem")
    monkeypatch.setenv("HEADRACE_TLOG_POLICY", "other.pem.policy")
    run("write", "--once", "--previous-key", "k.pem.pub")


def test_a_policy_without_the_key_is_refused(logged: Logged) -> None:
    run("key", "other.pem", "--origin", ORIGIN)
    with pytest.raises(PolicyLacksKey, match=ORIGIN):
        load_log_keys(Settings(audit_key=Path("k.pem"), tlog_policy=Path("other.pem.policy")))


def test_one_of_several_logs_is_chosen(logged: Logged) -> None:
    run("key", "other.pem", "--origin", "example.com/other")
    lines = Path("k.pem.policy").read_text().splitlines()
    other = Path("other.pem.policy").read_text().splitlines()
    Path("both").write_text("\n".join([*lines, other[0]]) + "\n")
    settings = Settings(audit_key=Path("k.pem,other.pem"), tlog_policy=Path("both"))
    with pytest.raises(SettingsError, match=r"example\.com/other"):
        load_log_keys(settings)
    keys = load_log_keys(replace(settings, tlog_origin=ORIGIN))
    note = keys.sign(Checkpoint(ORIGIN, 1, bytes(32)), 0)
    assert (keys.origin, len(note.signatures)) == (ORIGIN, 2)


def write_policy(url: str) -> Settings:
    """Write a policy whose quorum is one witness, and return settings that name it."""
    key = cosigner_key("w.example", Ed25519PrivateKey.from_private_bytes(bytes(32)))
    log_line = Path("k.pem.policy").read_text().splitlines()[0]
    Path("p").write_text(f"{log_line}\nwitness w {key} {url}\nquorum w\n")
    return Settings(audit_key=Path("k.pem"), tlog_policy=Path("p"))


def test_a_quorum_of_witnesses_that_cannot_be_asked_is_refused(logged: Logged) -> None:
    assert load_log_keys(write_policy("http://w.example")).origin == ORIGIN
    with pytest.raises(PolicyInvalid, match="quorum w cannot be met, since w cannot be asked"):
        load_log_keys(write_policy(""))


def test_a_log_without_its_quorum_ends_with_1(
    logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_policy("http://127.0.0.1:1")
    monkeypatch.setenv("HEADRACE_TLOG_POLICY", "p")
    logged.write_facts(3)
    result = run("write", "--once", code=1)
    assert "size 3 (+3)" in result.stdout
    assert "not published" in result.stdout
    assert "w (unavailable: " in result.stdout
    assert "not_witnessed" in result.stderr
    members = json.loads(run("write", "--once", "--json", code=1).stdout)
    assert (members["records"], members["published"], members["note"]) == (0, False, None)
    assert [(each["name"], each["result"]) for each in members["witnesses"]] == [
        ("w", "unavailable")
    ]
    assert not Path("files/checkpoint").exists()


def test_the_topics_are_there_only_with_a_policy(tmp_path: Path) -> None:
    log = MemoryLog(lambda: 0)
    create_topics(log, Settings(partitions=2))
    names = {topic.name for topic in TRANSPARENCY}
    assert not names & set(log.topics())
    create_topics(log, Settings(partitions=2, tlog_policy=tmp_path))
    assert {log.topics()[name].partitions for name in names} == {1}
    assert set(TRANSPARENCY) == set(topics.EVERY) - set(topics.ALL)


def test_verify_compares_with_the_log(logged: Logged) -> None:
    logged.write_facts(3)
    nothing = json.loads(run("verify", "--json", code=1).stdout)
    assert (nothing["holds"], nothing["size"], nothing["findings"]) == (False, None, [])
    assert "no checkpoint is published" in run("verify", code=1).stdout
    run("write", "--once")
    logged.write_facts(2)
    result = json.loads(run("verify", "--json", "--policy", "k.pem.policy").stdout)
    assert (result["holds"], result["covered"], result["size"]) == (True, False, 3)
    assert sum(each["beyond"] for each in result["partitions"]) == 2
    output = run("verify").stdout
    assert "3 records are as they were logged" in output
    assert "apc.events/0  not_covered" in output
    run("write", "--once")
    assert json.loads(run("verify", "--json").stdout)["covered"] is True


def test_verify_names_what_was_forged(logged: Logged) -> None:
    logged.write_facts(3)
    run("write", "--once")
    slots = logged.log.slots(EVENTS)
    second = slots[1]
    assert second is not None
    slots[1] = second._replace(value=b"forged")
    (finding,) = json.loads(run("verify", "--json", code=1).stdout)["findings"]
    members = {"place": "apc.events/0", "first": 1, "last": 1, "code": "records_differ"}
    assert {name: finding[name] for name in members} == members
    output = run("verify", code=1).stdout
    assert "the record at offset 1 is not the one that was logged" in output
    assert "as they were logged" not in output
    run("verify", "--topic", "saop.log")


def test_verify_checks_chains_too_where_a_key_is_given(
    logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged.write_facts(3)
    seal(logged, monkeypatch)
    run("write", "--once")
    run("verify", "--public-key", "k.pem.pub")
    run("key", "other.pem")
    output = run("verify", "--json", "--public-key", "other.pem.pub", code=1).stdout
    codes = {finding["code"] for finding in json.loads(output)["findings"]}
    assert codes == {"checkpoint_invalid"}


def test_options_of_verify_that_do_not_go_together(logged: Logged) -> None:
    run("verify", "--policy", "k.pem.policy", "--segment", "x", "--public-key", "k.pem.pub", code=2)
    Path("folder").mkdir()
    run("verify", "--segment", "folder", "--public-key", "k.pem.pub", code=2)
    assert "is not covered" in run("verify", "--topic", "apc.packets", code=2).stderr


def test_an_export_is_verified_without_the_log(
    logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged.write_facts(3)
    run("write", "--once")
    assert "3 records, and the log" in run("export", "facts").stdout
    monkeypatch.delattr(common, "connect")
    for option in ((), ("--policy", "k.pem.policy")):
        result = run("verify", "--json", "--segment", "facts", *option)
        assert json.loads(result.stdout)["holds"] is True
        assert "The policy of the export" not in result.stderr
    monkeypatch.delenv("HEADRACE_TLOG_POLICY")
    result = run("verify", "--segment", "facts")
    assert "3 records are as they were logged" in result.stdout
    assert "The policy of the export itself is used" in result.stderr
    Path("facts/tlog/tile/0/000.p/3").unlink()
    assert "tiles_invalid" in run("verify", "--segment", "facts", code=1).stdout
    run("verify", "--segment", "facts", "--topic", "apc.packets", code=2)
    assert "needs --policy" in run("export", "facts", code=2).stderr


def test_metrics_are_served_while_it_writes(
    logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = "{}:{}".format(*server.getsockname())
    monkeypatch.setenv("HEADRACE_METRICS", address)
    bodies: list[str] = []
    monkeypatch.setattr(
        "streams.cli.audit_log._print_round",
        lambda *arguments: bodies.append(httpx.get(f"http://{address}/metrics").text),
    )
    logged.write_facts(3)
    run("write", "--once")
    assert 'headrace_audit_rounds_total{result="published"} 1.0' in bodies[0]
