"""`headrace rewind` as a process: against a real service, and killed wherever it waits."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from streams.api.problems import Response
from streams.cli import main
from streams.engine.kafka import KafkaLog
from streams.engine.records import Output, position
from streams.ingress.edges import ingress_topic_of
from streams.ops.system import running_system
from streams.processing.encode import to_output
from streams.routes.handle import Routes
from streams.settings import Settings
from streams.view_store.view import View
from streams.views.parse import parse_position
from tests.processes import environ_of
from tests.unit.ops.rewind.gateway import Gateway
from tests.unit.ops.rewind.trees import Tree
from tests.unit.protocols.saop.queries.stage import move, routes_of
from tests.unit.views.bench import Bench

pytestmark = pytest.mark.slow

SESSION = "s-9"
PATIENCE_S = 60.0
GIT = shutil.which("git") or "git"


def start(tree: Tree, address: str, *args: str, path: Path | None = None) -> subprocess.Popen[str]:
    """`headrace rewind` on the work tree.  path: of programs to be found before others."""
    environ = environ_of({"HEADRACE_GATEWAY": address})
    if path is not None:
        environ["PATH"] = f"{path}:{environ['PATH']}"
    command = [sys.executable, "-m", "streams.cli", "rewind", "--repo", str(tree.path), *args]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environ, stdout=pipe, stderr=pipe, text=True)


def run(tree: Tree, address: str, *args: str) -> tuple[int, str, str]:
    process = start(tree, address, *args)
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, err


TO_A = ("--session", SESSION, "--task", "A")


def story(tree: Tree) -> list[dict[str, Any]]:
    """A, B and C made the three commits; D is at work."""
    events = []
    for task_id, commit in zip("ABC", tree.commits, strict=True):
        events.append(move(SESSION, task_id, "PENDING", "IN_PROGRESS"))
        events.append(move(SESSION, task_id, "IN_PROGRESS", "COMPLETED", git_hash=commit[:10]))
    return [*events, move(SESSION, "D", "PENDING", "IN_PROGRESS")]


def states(routes: Routes) -> dict[str, str]:
    routes.view.catch_up(30)
    answer = routes.handle("GET", "/v1/saop/tasks", f"session_id={SESSION}")
    return {task["task_id"]: task["state"] for task in answer.body["items"]}


BEFORE = {"A": "COMPLETED", "B": "COMPLETED", "C": "COMPLETED", "D": "IN_PROGRESS"}
AFTER = {"A": "IN_PROGRESS", "B": "PENDING", "C": "PENDING", "D": "PENDING"}


def answering(routes: Routes) -> Gateway:
    """Answers come from a view at the end of the log."""

    def handle(method: str, path: str, query: str, body: Any) -> Response:
        routes.view.catch_up(30)
        return routes.handle(method, path, query, {}, body or None)

    return Gateway(handle)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "work")


def test_a_session_and_its_work_tree_over_kafka(
    broker: str, tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix, folder = f"rw{uuid.uuid4().hex[:6]}.", tmp_path / "state"
    monkeypatch.setenv("HEADRACE_PREFIX", prefix)
    monkeypatch.setenv("HEADRACE_PARTITIONS", "2")
    monkeypatch.setenv("HEADRACE_BOOTSTRAP", broker)
    monkeypatch.setenv("HEADRACE_STATE_DIR", str(folder))
    settings = Settings(bootstrap=broker, prefix=prefix, partitions=2, state_dir=folder)
    log = KafkaLog(broker, {}, f"{prefix}rewind")
    with running_system(settings, lambda line: None):
        view = View(log, folder / "view", prefix)
        outputs = [to_output(ingress_topic_of("rtes.raw"), e, 0, settings) for e in story(tree)]
        last = log.append(outputs)[-1]
        view.wait(parse_position(position(last)), PATIENCE_S)
        routes = Routes(view, log, settings, lambda: 0, wait_s=30)
        gateway = answering(routes)
        with gateway.serving():
            check_over_kafka(tree, gateway, routes)
        view.close()
        check_commands()
    log.close()


def check_over_kafka(tree: Tree, gateway: Gateway, routes: Routes) -> None:
    code, out, err = run(tree, gateway.address, *TO_A, "--dry-run")
    assert code == 0, err
    assert [m["task_id"] for m in json.loads(out)["moved"]] == ["A", "B", "C", "D"]
    code, _, err = run(tree, gateway.address, "--session", SESSION, "--task", "Z")
    assert (code, "task_unknown" in err) == (2, True)
    code, _, err = run(tree, gateway.address, "--session", SESSION, "--task", "D")
    assert (code, "task_without_hash" in err) == (2, True)
    assert (tree.head, states(routes)) == ((tree.commits[2], "main"), BEFORE)
    code, out, err = run(tree, gateway.address, *TO_A, "--reason", "a wrong turn")
    assert code == 0, err
    assert "A  COMPLETED → IN_PROGRESS" in out.splitlines()
    assert (tree.head, states(routes)) == ((tree.commits[0], None), AFTER)
    code, out, err = run(
        tree, gateway.address, "--session", SESSION, "--git-hash", tree.commits[2][:10]
    )
    assert code == 0, err
    assert tree.head == (tree.commits[2], None)
    assert states(routes)["C"] == "IN_PROGRESS"


def check_commands() -> None:
    """Every list that a command prints, as a table and as JSON."""
    session, task = ("--session", SESSION), ("--task", "A")
    tables = {
        ("saop", "tasks", *session, "--state", "PENDING"): "session_id",
        ("saop", "turns", *task): "turn_index",
        ("saop", "escalations", *session): "at",
        ("saop", "audit", *session): "task_id",
        ("rtes", "calls", *session, "--open"): "call_id",
        ("rtes", "rejections", *session): "at",
    }
    for args, first in tables.items():
        table = CliRunner().invoke(main, args)
        assert (table.exit_code, table.stdout.split()[0]) == (0, first), table.output
        answer = json.loads(CliRunner().invoke(main, [*args, "--json"]).stdout)
        assert len(table.stdout.splitlines()) == 1 + len(answer["items"])
    first_page = CliRunner().invoke(main, ["saop", "tasks", *session, "--limit", "3"])
    assert [line.split()[1] for line in first_page.stdout.splitlines()[1:]] == ["A", "B", "C"]
    cursor = first_page.stderr.split()[-1]
    result = CliRunner().invoke(main, ["saop", "tasks", *session, "--cursor", cursor])
    assert [line.split()[1] for line in result.stdout.splitlines()[1:]] == ["D"]
    assert CliRunner().invoke(main, ["saop", "audit"]).exit_code == 2


@pytest.fixture
def bench(tmp_path_factory: pytest.TempPathFactory, tree: Tree) -> Iterator[Bench]:
    bench = Bench(tmp_path_factory.mktemp("bench"))
    bench.send("rtes.raw", *story(tree))
    yield bench
    bench.close()


@pytest.fixture
def gateway(bench: Bench) -> Iterator[Gateway]:
    gateway = answering(routes_of(bench))
    with gateway.serving():
        yield gateway


def settled(bench: Bench, gateway: Gateway, tree: Tree) -> bool:
    """Nothing is left, and both sides moved or neither did; whether they moved."""
    code, _, err = run(tree, gateway.address, "--resume")
    assert code == 0, err
    is_after = states(routes_of(bench)) == AFTER
    assert states(routes_of(bench)) == (AFTER if is_after else BEFORE)
    assert tree.head == ((tree.commits[0], None) if is_after else (tree.commits[2], "main"))
    assert (tree.status, tree.journal.exists()) == ("", False)
    return is_after


@pytest.mark.parametrize("has_effect", [False, True])
@pytest.mark.parametrize("call", ["/rewind", "/confirm"])
def test_killed_while_the_service_is_asked(
    bench: Bench, gateway: Gateway, tree: Tree, call: str, has_effect: bool
) -> None:
    branches = tree.branches
    gateway.hold = (call, has_effect)
    process = start(tree, gateway.address, *TO_A)
    assert gateway.held.wait(PATIENCE_S)
    process.kill()
    process.communicate()
    gateway.hold = None
    assert tree.journal.exists()
    is_after = settled(bench, gateway, tree)
    assert is_after == (call == "/confirm")  # a confirm without effect is repeated
    code, _, err = run(tree, gateway.address, *TO_A)
    assert code == 0, err
    assert (tree.head, states(routes_of(bench))) == ((tree.commits[0], None), AFTER)
    assert tree.branches == branches


@pytest.fixture
def slow_git(tmp_path: Path) -> Mapping[str, Path]:
    """A git whose checkout says that it has begun, and waits until it may go on."""
    folder = tmp_path / "bin"
    folder.mkdir()
    begun, release = folder / "begun", folder / "release"
    os.mkfifo(begun)
    os.mkfifo(release)
    script = folder / "git"
    script.write_text(
        "#!/bin/sh\n"
        'case " $* " in *" checkout "*)\n'
        f'  echo $$ > "{begun}"; read -r _ < "{release}";;\n'
        "esac\n"
        f'exec "{GIT}" "$@"\n'
    )
    script.chmod(0o755)
    return {"path": folder, "begun": begun, "release": release}


@pytest.mark.parametrize("git_lives", [True, False])
def test_killed_while_git_checks_out(
    bench: Bench, gateway: Gateway, tree: Tree, slow_git: Mapping[str, Path], git_lives: bool
) -> None:
    """A git that lives on is waited for: it may change the work tree until it ends."""
    process = start(tree, gateway.address, *TO_A, path=slow_git["path"])
    git = int(slow_git["begun"].read_text())
    process.kill()
    process.communicate()
    if git_lives:
        next_one = start(tree, gateway.address, "--resume")
        releaser = threading.Thread(target=slow_git["release"].write_text, args=("",))
        releaser.start()
        _, err = next_one.communicate(timeout=PATIENCE_S)
        releaser.join()
        assert next_one.returncode == 0, err
    else:
        os.kill(git, signal.SIGKILL)  # the shell waits itself, without a child that has the lock
    assert not settled(bench, gateway, tree)
    assert run(tree, gateway.address, *TO_A)[0] == 0
    assert (tree.head, states(routes_of(bench))) == ((tree.commits[0], None), AFTER)


def test_ctrl_c_while_git_checks_out_takes_it_back(
    bench: Bench, gateway: Gateway, tree: Tree, slow_git: Mapping[str, Path]
) -> None:
    process = start(tree, gateway.address, *TO_A, path=slow_git["path"])
    slow_git["begun"].read_text()
    process.send_signal(signal.SIGINT)
    slow_git["release"].write_text("")
    slow_git["begun"].read_text()
    slow_git["release"].write_text("")
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert (tree.head, tree.journal.exists()) == ((tree.commits[2], "main"), False)
    assert states(routes_of(bench)) == BEFORE


@pytest.mark.parametrize(("call", "says"), [("/rewind", "Neither"), ("/confirm", "unresolved")])
def test_ctrl_c_while_the_service_is_asked(
    bench: Bench, gateway: Gateway, tree: Tree, call: str, says: str
) -> None:
    gateway.hold = (call, False)
    process = start(tree, gateway.address, *TO_A)
    assert gateway.held.wait(PATIENCE_S)
    process.send_signal(signal.SIGTERM)
    gateway.hold = None
    _, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, says in err) == (130, True), err
    assert tree.journal.exists() == (call == "/confirm")
    settled(bench, gateway, tree)


def test_a_gateway_that_ends_before_the_confirm(
    bench: Bench, tree: Tree, slow_git: Mapping[str, Path]
) -> None:
    gateway = answering(routes_of(bench))
    with gateway.serving():
        process = start(tree, gateway.address, *TO_A, path=slow_git["path"])
        slow_git["begun"].read_text()
    slow_git["release"].write_text("")
    slow_git["begun"].read_text()  # the way back, after the confirm was tried for 30 s
    slow_git["release"].write_text("")
    _, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, "Neither" in err) == (6, True), err
    assert (tree.head, tree.journal.exists()) == ((tree.commits[2], "main"), False)
    assert states(routes_of(bench)) == BEFORE


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("--session", SESSION), 1),
        ((*TO_A, "--git-hash", "beef0001"), 1),
        (("--session", SESSION, "--git-hash", "xyz"), 1),
        ((*TO_A, "--colour"), 1),
        (("--session", SESSION, "--git-hash", "abcdef0"), 2),
        (("--session", "nowhere", "--task", "A"), 2),
    ],
)
def test_exit_codes(gateway: Gateway, tree: Tree, args: tuple[str, ...], code: int) -> None:
    assert run(tree, gateway.address, *args)[0] == code
    assert not tree.journal.exists()


def test_exit_codes_of_the_work_tree(bench: Bench, gateway: Gateway, tree: Tree) -> None:
    output = to_output(
        ingress_topic_of("rtes.raw"),
        move(SESSION, "E", "PENDING", "IN_PROGRESS", git_hash="beef" * 10),
        0,
        bench.settings,
    )
    assert isinstance(output, Output)
    bench.log.append([output])
    bench.host.run()
    assert run(tree, gateway.address, "--session", SESSION, "--task", "E")[0] == 4
    (tree.path / "new.txt").touch()
    assert run(tree, gateway.address, *TO_A)[0] == 3
    (tree.path / "new.txt").unlink()
    (tree.path / ".git" / "index.lock").touch()
    assert run(tree, gateway.address, *TO_A)[0] == 5
    (tree.path / ".git" / "index.lock").unlink()
    assert states(routes_of(bench)) == {**BEFORE, "E": "IN_PROGRESS"}
    assert tree.head == (tree.commits[2], "main")
    assert run(tree, "127.0.0.1:1", *TO_A)[0] == 6
