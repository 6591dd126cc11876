"""What is done about a journal that an earlier rewind has left, and about work done since."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from streams.ops.rewind import Request, RewindEnvironment, Target, resume, rewind
from streams.ops.rewind import git as git_module
from streams.ops.rewind import run as steps
from streams.ops.rewind.errors import GitFailed, Unresolved
from streams.ops.rewind.git import Git
from streams.ops.rewind.service import OutcomeUnknown, Unreachable
from tests.unit.ops.rewind.ledger import SESSION, Killed, Ledger
from tests.unit.ops.rewind.trees import Tree

To = Callable[[str], Request]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "PAUSE_S", 0)
    monkeypatch.setattr(steps, "CONFIRM_S", 0)
    monkeypatch.setattr(git_module, "LOCK_WAIT_S", 0)


@pytest.fixture
def half(
    environment: RewindEnvironment, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> RewindEnvironment:
    """A rewind to A that was killed while git wrote files: one is there, one gone, one not yet."""

    def cut(self: Git, commit: str) -> None:
        tree.write("app.py", "one\n")
        tree.write("old.txt", "old\n")
        tree.write("src/new.py", None)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Git, "checkout", cut)
        with pytest.raises(Killed):
            rewind(environment, Request(SESSION, Target("A")))
    assert json.loads(tree.journal.read_text())["step"] == "checking_out"
    assert tree.status
    return environment


def test_a_checkout_that_was_cut_off_is_taken_back(
    half: RewindEnvironment, tree: Tree, ledger: Ledger
) -> None:
    resume(half)
    assert tree.head == (tree.commits[2], "main")
    assert tree.files() == tree.files_of(tree.commits[2])
    assert (tree.status, tree.journal.exists()) == ("", False)
    assert list(ledger.states.values()) == ["aborted"]


def test_a_checkout_that_was_cut_off_with_the_index_written(
    half: RewindEnvironment, tree: Tree, ledger: Ledger
) -> None:
    tree.git("read-tree", tree.commits[0])
    tree.write("src/last.py", None)
    resume(half)
    assert tree.files() == tree.files_of(tree.commits[2])
    assert tree.head == (tree.commits[2], "main")


@pytest.mark.parametrize("text", ["", "o", "thr"])
def test_a_file_that_git_had_begun_is_written_anew(
    half: RewindEnvironment, tree: Tree, text: str
) -> None:
    tree.write("app.py", text)
    resume(half)
    assert tree.files() == tree.files_of(tree.commits[2])
    assert tree.status == ""


@pytest.mark.parametrize(
    ("name", "text"),
    [("app.py", "mine\n"), ("src/last.py", "mine\n"), ("notes.txt", "mine\n"), ("old.txt", "m\n")],
)
def test_work_done_since_is_not_touched(
    half: RewindEnvironment, tree: Tree, ledger: Ledger, name: str, text: str
) -> None:
    tree.write(name, text)
    files = tree.files()
    with pytest.raises(GitFailed, match=name) as caught:
        resume(half)
    assert caught.value.exit_code == 5
    assert (tree.files(), tree.journal.exists()) == (files, True)
    assert tree.head == (tree.commits[2], "main")


def test_work_staged_since_is_not_touched(half: RewindEnvironment, tree: Tree) -> None:
    tree.write("app.py", "mine\n")
    tree.git("add", "app.py")
    tree.write("app.py", "three\n")
    with pytest.raises(GitFailed, match=r"app\.py"):
        resume(half)
    assert tree.git("show", ":app.py") == "mine"


def test_commits_made_since_are_kept(half: RewindEnvironment, tree: Tree) -> None:
    mine = tree.commit({"app.py": "mine\n"})
    tree.write("app.py", "more\n")
    with pytest.raises(GitFailed):
        resume(half)
    tree.git("checkout", "--quiet", "app.py")
    resume(half)
    assert tree.head == (mine, "main")
    assert not tree.journal.exists()


def test_a_user_who_went_elsewhere_stays_there(
    half: RewindEnvironment, tree: Tree, ledger: Ledger
) -> None:
    tree.git("checkout", "--quiet", "--force", "-b", "elsewhere", tree.commits[1])
    tree.git("clean", "--quiet", "--force")
    resume(half)
    assert tree.head == (tree.commits[1], "elsewhere")
    assert list(ledger.states.values()) == ["aborted"]


def test_a_stale_lock_of_the_index_is_named(half: RewindEnvironment, tree: Tree) -> None:
    lock = tree.path / ".git" / "index.lock"
    lock.touch()
    with pytest.raises(GitFailed, match=r"index\.lock"):
        resume(half)
    lock.unlink()
    resume(half)
    assert tree.head == (tree.commits[2], "main")


@pytest.fixture
def unsure(environment: RewindEnvironment, ledger: Ledger, to: To) -> RewindEnvironment:
    """A rewind to A whose confirm got no answer, though it had its effect."""
    ledger.after["confirm"] = OutcomeUnknown("too slow")
    with pytest.raises(Unresolved):
        rewind(environment, to("A"))
    ledger.after.clear()
    ledger.calls.clear()
    return environment


def test_the_rewind_asked_for_was_applied_before(
    unsure: RewindEnvironment, tree: Tree, ledger: Ledger, to: To
) -> None:
    fact = rewind(unsure, to("A"))
    assert (fact["state"], len(fact["moved"])) == ("applied", 1)
    assert "prepare" not in ledger.calls
    assert not tree.journal.exists()


def test_another_rewind_follows_the_one_that_was_applied(
    unsure: RewindEnvironment, tree: Tree, ledger: Ledger, to: To
) -> None:
    rewind(unsure, to("B"))
    assert tree.head == (tree.commits[1], None)
    assert list(ledger.states.values()) == ["applied", "applied"]


def test_a_confirm_that_had_no_effect_is_repeated(
    unsure: RewindEnvironment, tree: Tree, ledger: Ledger, to: To
) -> None:
    ledger.states = dict.fromkeys(ledger.states, "prepared")
    rewind(unsure, to("A"))
    assert ledger.calls == ["find", "confirm"]
    assert ledger.is_applied()


@pytest.mark.parametrize("state", ["aborted", "lapsed"])
def test_a_rewind_that_is_over_is_taken_back(
    unsure: RewindEnvironment, tree: Tree, ledger: Ledger, state: str
) -> None:
    ledger.states = dict.fromkeys(ledger.states, state)
    resume(unsure)
    assert tree.head == (tree.commits[2], "main")
    assert not tree.journal.exists()


def test_a_rewind_the_service_does_not_show_is_asked_for_by_confirming(
    unsure: RewindEnvironment, tree: Tree, ledger: Ledger
) -> None:
    ledger.states.clear()
    resume(unsure)
    assert ledger.calls[:2] == ["find", "confirm"]
    assert tree.head == (tree.commits[2], "main")


@pytest.mark.parametrize("failure", [Unreachable("nobody"), OutcomeUnknown("too slow")])
def test_an_unreachable_service_settles_nothing(
    unsure: RewindEnvironment, tree: Tree, ledger: Ledger, failure: Exception
) -> None:
    ledger.before["find"] = failure
    with pytest.raises(Unresolved) as caught:
        resume(unsure)
    assert caught.value.exit_code == 6
    assert tree.journal.exists()
    assert tree.head == (tree.commits[0], None)


def test_a_prepared_rewind_is_not_confirmed_from_elsewhere(
    unsure: RewindEnvironment, tree: Tree, ledger: Ledger
) -> None:
    ledger.states = dict.fromkeys(ledger.states, "prepared")
    tree.git("checkout", "--quiet", "main")
    ledger.before["abort"] = OutcomeUnknown("too slow")
    with pytest.raises(Unresolved):
        resume(unsure)
    ledger.before.clear()
    resume(unsure)
    assert list(ledger.states.values()) == ["aborted"]
    assert tree.head == (tree.commits[2], "main")


def test_the_gateway_of_the_journal_is_asked(unsure: RewindEnvironment, ledger: Ledger) -> None:
    resume(unsure._replace(gateway="elsewhere:2"))
    assert ledger.gateways == ["gateway:1", "gateway:1"]


def test_nothing_to_settle(environment: RewindEnvironment, ledger: Ledger) -> None:
    resume(environment)
    assert ledger.calls == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 2}', '{"format": 1, "step": "x"}'])
def test_a_journal_that_cannot_be_understood(
    environment: RewindEnvironment, tree: Tree, ledger: Ledger, to: To, text: str
) -> None:
    tree.journal.write_text(text)
    with pytest.raises(GitFailed, match="journal"):
        rewind(environment, to("A"))
    assert ledger.calls == []
    assert tree.journal.read_text() == text


def test_a_journal_that_cannot_be_written(
    environment: RewindEnvironment, tree: Tree, ledger: Ledger, to: To
) -> None:
    tree.journal.with_suffix(".new").mkdir()
    with pytest.raises(GitFailed, match="journal"):
        rewind(environment, to("A"))
    assert ledger.calls == []


def test_one_rewind_at_a_time(environment: RewindEnvironment, tree: Tree, to: To) -> None:
    other = Git.at(tree.path)
    other.lock()
    with pytest.raises(GitFailed, match="another rewind"):
        rewind(environment, to("A"))
    other.unlock()
    rewind(environment, to("A"))


def test_the_lock_lasts_as_long_as_git_does(
    environment: RewindEnvironment,
    tree: Tree,
    to: To,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A git that goes on after its rewind was killed keeps others away."""
    release, begun = tmp_path / "release", tmp_path / "begun"
    os.mkfifo(release)
    os.mkfifo(begun)
    tree.git("config", "alias.slow", f"!echo begun > {begun}; cat {release}")
    monkeypatch.setattr(git_module, "LOCK_WAIT_S", 0)
    first = Git.at(tree.path)
    first.lock()
    slow = threading.Thread(target=first.ask, args=("slow",))
    slow.start()
    begun.read_text()
    first.unlock()
    with pytest.raises(GitFailed, match="another rewind"):
        environment.git.lock()
    release.write_text("")
    slow.join()
    environment.git.lock()
    environment.git.unlock()
