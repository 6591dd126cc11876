"""What git is asked: which commit a hash names, where HEAD is, and in which work tree."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from streams.ops.rewind import Request, RewindEnvironment, Target, resume, rewind
from streams.ops.rewind.errors import CommitMissing, GitFailed, RewindUsage, Undone
from streams.ops.rewind.git import Git, Head
from streams.ops.rewind.service import Refused
from tests.unit.ops.rewind.ledger import SESSION, Ledger
from tests.unit.ops.rewind.trees import Tree

TO_A = Request(SESSION, Target("A"))


@pytest.fixture
def git(tree: Tree) -> Git:
    return Git.at(tree.path)


@pytest.mark.parametrize("digits", [5, 12, 40])
def test_short_and_long_hashes_name_a_commit(tree: Tree, git: Git, digits: int) -> None:
    for commit in tree.commits:
        assert git.commit_of(commit[:digits]) == commit
        assert git.commit_of(commit[:digits].upper()) == commit


def test_a_hash_that_several_commits_begin_with(tree: Tree, git: Git) -> None:
    """Of a thousand commits some share their first four digits."""
    script = "".join(
        f"commit refs/heads/many\ncommitter t <t@t> {n} +0000\ndata 1\nx\n" for n in range(1, 1001)
    )
    command = ["git", "-C", str(tree.path), "fast-import", "--quiet"]
    subprocess.run(command, input=script, text=True, check=True)
    commits = tree.git("rev-list", "--all").split()
    (prefix, count), *_ = Counter(commit[:4] for commit in commits).most_common(1)
    assert count > 1
    with pytest.raises(CommitMissing, match=f"{count} commits"):
        git.commit_of(prefix)


def test_an_object_that_is_no_commit(tree: Tree, git: Git) -> None:
    blob = tree.git("rev-parse", "HEAD:app.py")
    with pytest.raises(CommitMissing, match="no commit"):
        git.commit_of(blob)


def test_a_branch_or_tag_spelled_like_a_hash_is_not_meant(tree: Tree, git: Git) -> None:
    short = tree.commits[0][:7]
    tree.git("branch", short, tree.commits[2])
    assert git.commit_of(short) == tree.commits[0]
    tree.git("tag", "deadbee", tree.commits[1])
    with pytest.raises(CommitMissing):
        git.commit_of("deadbee")


def test_a_tag_object_names_its_commit(tree: Tree, git: Git) -> None:
    tree.git("tag", "--annotate", "--message", "m", "v1", tree.commits[1])
    assert git.commit_of(tree.git("rev-parse", "v1")) == tree.commits[1]


def test_a_path_inside_the_work_tree(tree: Tree) -> None:
    assert Git.at(tree.path / "src").top == tree.path


def test_no_work_tree(tree: Tree, tmp_path: Path) -> None:
    tree.git("clone", "--quiet", "--bare", str(tree.path), str(tmp_path / "bare"))
    for path in (tmp_path, tmp_path / "missing", tmp_path / "bare", tree.path / ".git"):
        with pytest.raises(RewindUsage) as caught:
            Git.at(path)
        assert caught.value.exit_code == 1


def test_the_environment_does_not_name_another_repository(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Tree(tmp_path / "other")
    other.commit({"app.py": "other\n"})
    commits = tree.commits
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.path))
    git = Git.at(tree.path)
    assert (git.top, git.head()) == (tree.path, Head(commits[2], "refs/heads/main"))


def test_without_git(tree: Tree, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitFailed, match="cannot be run"):
        Git.at(tree.path)


def refuse(ledger: Ledger) -> None:
    ledger.before["confirm"] = Refused("over", "rewind_lapsed", "lapsed")


def test_a_detached_head_goes_back_to_its_commit(
    environment: RewindEnvironment, tree: Tree, ledger: Ledger
) -> None:
    tree.git("checkout", "--quiet", "--detach", tree.commits[1])
    refuse(ledger)
    with pytest.raises(Undone):
        rewind(environment, TO_A)
    assert tree.head == (tree.commits[1], None)


@pytest.mark.parametrize("name", ["topic/x", "abcdef12", "app.py", "über"])
def test_a_branch_of_any_name_is_gone_back_to(
    environment: RewindEnvironment, tree: Tree, ledger: Ledger, name: str
) -> None:
    tree.git("checkout", "--quiet", "-b", name)
    tree.git("tag", name, tree.commits[0])
    refuse(ledger)
    with pytest.raises(Undone):
        rewind(environment, TO_A)
    assert tree.head == (tree.commits[2], name)


def test_a_linked_work_tree_has_its_own_journal(
    environment: RewindEnvironment, tree: Tree, ledger: Ledger, tmp_path: Path
) -> None:
    tree.git("worktree", "add", "--quiet", "-b", "linked", str(tmp_path / "linked"))
    there = environment._replace(git=Git.at(tmp_path / "linked"))
    assert there.git.directory != environment.git.directory
    rewind(there, TO_A)
    assert there.git.head() == Head(tree.commits[0], None)
    assert tree.head == (tree.commits[2], "main")
    resume(environment)


def test_file_modes_and_links_come_back(
    environment: RewindEnvironment, tree: Tree, ledger: Ledger
) -> None:
    (tree.path / "link").symlink_to("app.py")
    (tree.path / "app.py").chmod(0o755)
    tree.commit({"data.bin": "\0\n"})
    refuse(ledger)
    with pytest.raises(Undone):
        rewind(environment, TO_A)
    assert (tree.path / "link").is_symlink()
    assert (tree.path / "app.py").stat().st_mode & 0o111
    assert (tree.head, tree.status) == ((tree.commits[3], "main"), "")
