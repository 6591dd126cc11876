"""A rewind that ends well, and one for each way in which it ends otherwise."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streams.ops.rewind import Request, RewindEnvironment, Target, rewind
from streams.ops.rewind import run as steps
from streams.ops.rewind.errors import (
    CommitMissing,
    GitFailed,
    Interrupted,
    RewindError,
    ServiceFailed,
    TargetUnknown,
    TreeUnclean,
    Undone,
    Unresolved,
)
from streams.ops.rewind.service import OutcomeUnknown, Refused, Unreachable
from tests.unit.ops.rewind.ledger import SESSION, Ledger
from tests.unit.ops.rewind.trees import Tree

To = Callable[[str], Request]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """One repetition of the confirm, and no pause."""
    monkeypatch.setattr(steps, "PAUSE_S", 0)
    monkeypatch.setattr(steps, "CONFIRM_S", 0.01)


def test_session_and_work_tree_move(
    environment: RewindEnvironment, tree: Tree, ledger: Ledger, to: To
) -> None:
    fact = rewind(environment, to("A"))
    assert fact["state"] == "applied"
    assert ledger.calls == ["prepare", "confirm"]
    assert tree.head == (tree.commits[0], None)
    assert tree.files() == tree.files_of(tree.commits[0])
    assert not tree.journal.exists()


def test_a_commit_is_a_target_too(environment: RewindEnvironment, tree: Tree) -> None:
    fact = rewind(environment, Request(SESSION, Target(git_hash=tree.commits[1][:8])))
    assert (fact["state"], tree.head) == ("applied", (tree.commits[1], None))


def test_going_forward_again(environment: RewindEnvironment, tree: Tree, to: To) -> None:
    rewind(environment, to("A"))
    rewind(environment, to("C"))
    assert tree.head == (tree.commits[2], None)
    assert tree.files() == tree.files_of(tree.commits[2])


def test_the_commit_at_which_the_work_tree_is(
    environment: RewindEnvironment, tree: Tree, to: To
) -> None:
    rewind(environment, to("C"))
    assert tree.head == (tree.commits[2], None)


def test_no_branch_moves_and_hooks_do_not_run(
    environment: RewindEnvironment, tree: Tree, to: To
) -> None:
    hook = tree.path / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch ran-anyway\n")
    hook.chmod(0o755)
    before = tree.branches
    rewind(environment, to("A"))
    assert (tree.branches, tree.status) == (before, "")


def untouched(tree: Tree, ledger: Ledger) -> None:
    """Neither side has moved, and nothing is left to settle."""
    assert tree.head == (tree.commits[2], "main")
    assert not ledger.is_applied()
    assert "prepared" not in ledger.states.values()
    assert not tree.journal.exists()


@pytest.mark.parametrize(
    ("target", "rule"),
    [(Target("Z"), "task_unknown"), (Target(git_hash="beefbeef"), "hash_unknown")],
)
def test_an_unknown_target(
    environment: RewindEnvironment, tree: Tree, ledger: Ledger, target: Target, rule: str
) -> None:
    with pytest.raises(TargetUnknown, match=rule) as caught:
        rewind(environment, Request(SESSION, target))
    assert caught.value.exit_code == 2
    untouched(tree, ledger)


@pytest.mark.parametrize("rule", sorted(steps.UNKNOWN))
def test_what_counts_as_an_unknown_target(
    environment: RewindEnvironment, tree: Tree, ledger: Ledger, to: To, rule: str
) -> None:
    ledger.before["prepare"] = Refused("no", rule, "none")
    with pytest.raises(TargetUnknown):
        rewind(environment, to("A"))
    untouched(tree, ledger)


@pytest.mark.parametrize(
    "failure",
    [
        Refused("no", "rewind_in_progress", "none"),
        Refused("not for you", "principal_mismatch"),
        Refused("no such page"),
        Unreachable("nobody there"),
        OutcomeUnknown("too slow"),
    ],
)
def test_a_service_that_does_not_prepare(
    environment: RewindEnvironment, tree: Tree, ledger: Ledger, to: To, failure: Exception
) -> None:
    ledger.before["prepare"] = failure
    with pytest.raises(ServiceFailed) as caught:
        rewind(environment, to("A"))
    assert caught.value.exit_code == 6
    untouched(tree, ledger)


def test_a_prepare_without_an_answer_is_aborted(
    environment: RewindEnvironment, tree: Tree, ledger: Ledger, to: To
) -> None:
    ledger.after["prepare"] = OutcomeUnknown("too slow")
    with pytest.raises(ServiceFailed):
        rewind(environment, to("A"))
    assert list(ledger.states.values()) == ["aborted"]
    untouched(tree, ledger)


@pytest.mark.parametrize(
    "change",
    [{"app.py": "mine\n"}, {"untracked.txt": "mine\n"}, {"old.txt": "mine\n"}, {"app.py": None}],
)
def test_a_work_tree_that_is_not_clean(
    environment: RewindEnvironment,
    tree: Tree,
    ledger: Ledger,
    to: To,
    change: dict[str, str | None],
) -> None:
    for name, text in change.items():
        tree.write(name, text)
    files = tree.files()
    with pytest.raises(TreeUnclean) as caught:
        rewind(environment, to("A"))
    assert caught.value.exit_code == 3
    assert (ledger.calls, tree.files()) == ([], files)


def test_a_staged_change_is_not_clean(environment: RewindEnvironment, tree: Tree, to: To) -> None:
    tree.write("app.py", "mine\n")
    tree.git("add", "app.py")
    with pytest.raises(TreeUnclean, match=r"app\.py"):
        rewind(environment, to("A"))


@pytest.mark.parametrize(
    ("begin", "what"),
    [
        (["merge", "--no-commit", "--no-ff", "other"], "a merge"),
        (["bisect", "start"], "a bisect"),
        (["revert", "--no-commit", "HEAD"], "a revert"),
        (["rebase", "--exec", "false", "HEAD~1"], "a rebase"),
        (["cherry-pick", "other~0"], "a cherry-pick"),
    ],
)
def test_something_is_under_way(
    environment: RewindEnvironment, tree: Tree, ledger: Ledger, to: To, begin: list[str], what: str
) -> None:
    tree.git("branch", "other", "HEAD~1")
    tree.git("checkout", "--quiet", "other")
    tree.commit({"app.py": "otherwise\n"})
    tree.git("checkout", "--quiet", "main")
    done = environment.git.ask(*begin)
    assert environment.git.under_way() is not None, done
    with pytest.raises(TreeUnclean, match=what):
        rewind(environment, to("A"))
    assert ledger.calls == []


def test_a_change_that_comes_while_the_service_prepares(
    environment: RewindEnvironment, tree: Tree, ledger: Ledger, to: To
) -> None:
    ledger.watch = lambda: tree.write("app.py", "just now\n")
    with pytest.raises(TreeUnclean):
        rewind(environment, to("A"))
    assert tree.files()["app.py"] == "just now\n"
    tree.git("checkout", "--quiet", "app.py")
    untouched(tree, ledger)
    assert list(ledger.states.values()) == ["aborted"]


@pytest.mark.parametrize("recorded", ["beef" * 10, "not-a-hash", "", "--force", "HEAD"])
def test_a_commit_that_the_repository_lacks(
    environment: RewindEnvironment, tree: Tree, ledger: Ledger, to: To, recorded: str
) -> None:
    ledger.hashes["A"] = recorded
    with pytest.raises(CommitMissing) as caught:
        rewind(environment, to("A"))
    assert caught.value.exit_code == 4
    untouched(tree, ledger)
    assert list(ledger.states.values()) == ["aborted"]


def test_git_refuses_to_overwrite_an_ignored_file(
    environment: RewindEnvironment, tree: Tree, ledger: Ledger, to: To
) -> None:
    tree.commit({"kept.log": "tracked\n", ".gitignore": ""})
    ledger.hashes["D"] = tree.commits[3]
    tree.git("checkout", "--quiet", "-b", "side", tree.commits[2])
    tree.write("kept.log", "mine, and ignored\n")
    assert tree.status == ""
    with pytest.raises(GitFailed) as caught:
        rewind(environment, to("D"))
    assert caught.value.exit_code == 5
    assert tree.files()["kept.log"] == "mine, and ignored\n"
    assert tree.head == (tree.commits[2], "side")
    assert not tree.journal.exists()
    assert list(ledger.states.values()) == ["aborted"]


def test_a_locked_index_fails_the_checkout(
    environment: RewindEnvironment, tree: Tree, ledger: Ledger, to: To
) -> None:
    lock = tree.path / ".git" / "index.lock"
    lock.touch()
    with pytest.raises(GitFailed, match=r"index\.lock"):
        rewind(environment, to("A"))
    lock.unlink()
    untouched(tree, ledger)


@pytest.mark.parametrize("state", ["aborted", "lapsed"])
def test_a_rewind_that_is_over_before_the_confirm(
    environment: RewindEnvironment, tree: Tree, ledger: Ledger, to: To, state: str
) -> None:
    def end() -> None:
        if ledger.calls[-1] == "confirm":
            ledger.states = dict.fromkeys(ledger.states, state)

    ledger.watch = end
    with pytest.raises(Undone, match=f"rewind_{state}") as caught:
        rewind(environment, to("A"))
    assert caught.value.exit_code == 6
    untouched(tree, ledger)


def test_a_confirm_that_never_reaches_the_service(
    environment: RewindEnvironment, tree: Tree, ledger: Ledger, to: To
) -> None:
    ledger.before["confirm"] = Unreachable("nobody there")
    with pytest.raises(ServiceFailed, match="nobody there"):
        rewind(environment, to("A"))
    assert ledger.calls.count("confirm") > 1
    untouched(tree, ledger)


@pytest.mark.parametrize("has_effect", [True, False])
def test_a_confirm_without_an_answer_is_left_to_be_settled(
    environment: RewindEnvironment, tree: Tree, ledger: Ledger, to: To, has_effect: bool
) -> None:
    (ledger.after if has_effect else ledger.before)["confirm"] = OutcomeUnknown("too slow")
    with pytest.raises(Unresolved, match="unresolved") as caught:
        rewind(environment, to("A"))
    assert caught.value.exit_code == 6
    assert tree.head == (tree.commits[0], None)
    assert tree.journal.exists()


def test_an_odd_refusal_after_an_unknown_outcome_decides_nothing(
    environment: RewindEnvironment, tree: Tree, ledger: Ledger, to: To
) -> None:
    ledger.after["confirm"] = OutcomeUnknown("too slow")

    def later() -> None:
        if ledger.calls.count("confirm") == 2:
            ledger.before["confirm"] = Refused("no such page")

    ledger.watch = later
    with pytest.raises(Unresolved):
        rewind(environment, to("A"))
    assert ledger.is_applied()
    assert tree.head == (tree.commits[0], None)


def test_a_confirm_that_is_answered_the_second_time(
    environment: RewindEnvironment,
    tree: Tree,
    ledger: Ledger,
    to: To,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(steps, "CONFIRM_S", 30)
    ledger.after["confirm"] = OutcomeUnknown("too slow")

    def later() -> None:
        if ledger.calls.count("confirm") == 2:
            ledger.after.pop("confirm", None)

    ledger.watch = later
    fact = rewind(environment, to("A"))
    assert ledger.calls == ["prepare", "confirm", "confirm", "find"]
    assert (fact["state"], len(fact["moved"])) == ("applied", 1)
    assert not tree.journal.exists()


def test_a_work_tree_that_cannot_go_back_keeps_the_journal(
    environment: RewindEnvironment, tree: Tree, ledger: Ledger, to: To
) -> None:
    def meddle() -> None:
        if ledger.calls[-1] == "confirm":
            tree.write("app.py", "mine\n")

    ledger.watch = meddle
    ledger.before["confirm"] = Refused("no", "rewind_lapsed", "lapsed")
    with pytest.raises(GitFailed) as caught:
        rewind(environment, to("A"))
    assert caught.value.exit_code == 5
    assert tree.files()["app.py"] == "mine\n"
    assert tree.journal.exists()


@pytest.mark.parametrize(("call", "ends_as"), [("prepare", Interrupted), ("confirm", Interrupted)])
def test_an_interrupt_while_the_service_is_asked(
    environment: RewindEnvironment,
    tree: Tree,
    ledger: Ledger,
    to: To,
    call: str,
    ends_as: type[RewindError],
) -> None:
    ledger.before[call] = KeyboardInterrupt()
    with pytest.raises(ends_as) as caught:
        rewind(environment, to("A"))
    assert caught.value.exit_code == 130
    if call == "confirm":
        assert "unresolved" in caught.value.message
        assert tree.journal.exists()
    else:
        untouched(tree, ledger)


def test_a_branch_without_a_commit(
    tmp_path_factory: pytest.TempPathFactory, environment: RewindEnvironment
) -> None:
    empty = Tree.__new__(Tree)
    empty.path = tmp_path_factory.mktemp("empty")
    empty.git("init", "--quiet")
    with pytest.raises(GitFailed, match="no commit"):
        rewind(
            environment._replace(git=type(environment.git).at(empty.path)),
            Request(SESSION, Target("A")),
        )
