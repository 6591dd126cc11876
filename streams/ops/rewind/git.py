"""Git, through its executable: the queries and the few changes of a rewind in a work tree.

Hooks are off, submodules stay as they are, and no branch ever moves.  Git runs in its own process
group, so that Ctrl-C does not stop it half-way.
"""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

from streams.ops.rewind.errors import CommitMissing, GitFailed, RewindUsage, TreeUnclean
from streams.settings import environment_without

HASH = re.compile(r"[0-9a-fA-F]{4,64}")
LOCK_WAIT_S = 30.0
_LOCK_PAUSE_S = 0.1
_MAX_LINES = 5

_OPTIONS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "submodule.recurse=false",
    "advice.detachedHead=false",
    "gc.auto=0",
    "maintenance.auto=false",
)
_CHECKOUT = ("checkout", "--quiet", "--no-recurse-submodules")
_OPERATION_FILES = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a cherry-pick or revert",
    "BISECT_LOG": "a bisect",
}
"""Files in the git directory that show an operation in progress."""

_STALE_LOCK_ADVICE = (
    "If no git is at work there, one was killed: delete that file, and run the command again."
)


class Head(NamedTuple):
    """The commit of HEAD.  branch: its full ref, None if HEAD is detached."""

    commit: str
    branch: str | None


class GitResult(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def raw(self) -> bytes:
        """Return the output as bytes."""
        return os.fsencode(self.out)

    @property
    def why(self) -> str:
        """Return git's message about a failure, in one line."""
        lines = [line.strip() for line in self.err.splitlines() if line.strip()]
        faults = [line for line in lines if line.startswith(("fatal: ", "error: "))]
        return next(iter([*faults, *lines]), f"git ended with {self.code}")


class Git:
    """One work tree.  top: its top directory.  directory: its own git directory."""

    def __init__(self, top: Path, directory: Path) -> None:
        self.top = top
        self.directory = directory
        self._lock: int | None = None

    @classmethod
    def at(cls, path: Path) -> Self:
        """Return the work tree that contains the path.  Raises RewindUsage if there is none."""
        result = _run(path, ("rev-parse", "--show-toplevel", "--absolute-git-dir"))
        top, _, directory = result.out.strip("\n").rpartition("\n")
        if result.code != 0 or not top:
            raise RewindUsage(f"{path} is no git work tree: {result.why}")
        return cls(Path(top), Path(directory))

    def lock(self) -> None:
        """Lock out other rewinds until this process and its git have ended.

        Git inherits the lock: after a kill, the next rewind waits until git has ended too.
        Raises GitFailed.
        """
        self._lock = os.open(self.directory, os.O_RDONLY | os.O_CLOEXEC)
        deadline = time.monotonic() + LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError as exc:
                if time.monotonic() > deadline:
                    self.unlock()
                    raise GitFailed(f"another rewind is at work in {self.top}") from exc
                time.sleep(_LOCK_PAUSE_S)

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def ask(self, *args: str, index: Path | None = None) -> GitResult:
        """Run git in the work tree.  index: an index file other than the work tree's own."""
        return _run(self.top, args, index, () if self._lock is None else (self._lock,))

    def must(self, *args: str, index: Path | None = None) -> str:
        """Run git and return its output.  Raises GitFailed."""
        answer = self.ask(*args, index=index)
        if answer.code != 0:
            advice = _STALE_LOCK_ADVICE if "index.lock" in answer.why else None
            raise GitFailed(f"git {args[0]} failed: {answer.why}", advice=advice)
        return answer.out

    def head(self) -> Head:
        """Return HEAD.  Raises GitFailed on a branch without a commit."""
        commit = self.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        if commit.code != 0:
            raise GitFailed(f"HEAD of {self.top} has no commit to come back to")
        branch = self.ask("symbolic-ref", "--quiet", "HEAD")
        return Head(commit.out.strip(), branch.out.strip() if branch.code == 0 else None)

    def status(self) -> list[str]:
        """Return a line for each path that is changed or untracked."""
        options = ("--porcelain", "--untracked-files=all")
        return self.must("--no-optional-locks", "status", *options).splitlines()

    def under_way(self) -> str | None:
        """Return the operation in progress in the work tree (a merge ...), None if none is."""
        for name, what in _OPERATION_FILES.items():
            if (self.directory / name).exists():
                return what
        return None

    def check_clean(self) -> None:
        """Raise TreeUnclean if the work tree has changes or an operation in progress."""
        if what := self.under_way():
            raise TreeUnclean(f"{what} is under way in {self.top}")
        if changed := self.status():
            raise TreeUnclean(f"{self.top} is not clean: {join_lines(changed)}")

    def commit_of(self, text: str) -> str:
        """Return the full hash of the one commit that a hash names.  Raises CommitMissing.

        A branch or a tag that is spelled like the hash is ignored.
        """
        if not HASH.fullmatch(text):
            raise CommitMissing(f"the recorded hash {text!r} is no hash of a commit", advice="")
        candidates = {self._commit_at(text)} if self._is_object(text) else self._commits_like(text)
        commits = sorted(commit for commit in candidates if commit is not None)
        if len(commits) != 1:
            what = f"{len(commits)} commits" if commits else "no commit"
            raise CommitMissing(f"{text} names {what} of {self.top}")
        return commits[0]

    def _is_object(self, text: str) -> bool:
        """Return whether git reads the text as a hash, not as the name of a branch or tag."""
        answer = self.ask("rev-parse", "--verify", "--quiet", text)
        return answer.code == 0 and answer.out.startswith(text.lower())

    def _commit_at(self, text: str) -> str | None:
        answer = self.ask("rev-parse", "--verify", "--quiet", f"{text}^{{commit}}")
        return answer.out.strip() if answer.code == 0 else None

    def _commits_like(self, text: str) -> set[str | None]:
        objects = self.ask("rev-parse", f"--disambiguate={text}").out.split()
        return {self._commit_at(each) for each in objects}

    def checkout(self, commit: str) -> None:
        """Detach HEAD at a commit; no change of the user's is overwritten.  Raises GitFailed."""
        self.must(*_CHECKOUT, "--no-overwrite-ignore", "--detach", commit, "--")
        self._check_head(Head(commit, None))

    def force_checkout(self, commit: str) -> None:
        """Detach HEAD at a commit and overwrite the work tree.  Raises GitFailed."""
        self.must(*_CHECKOUT, "--force", "--detach", commit, "--")
        self._check_head(Head(commit, None))

    def switch_back(self, head: Head) -> None:
        """Check out a head's branch, else its commit, detached.  Raises GitFailed."""
        if head.branch is None or not head.branch.startswith("refs/heads/"):
            self.checkout(head.commit)
            return
        name = head.branch.removeprefix("refs/heads/")
        self.must(*_CHECKOUT, "--no-overwrite-ignore", name, "--")
        if self.head().branch != head.branch:
            raise GitFailed(f"HEAD of {self.top} is not on {name}")

    def _check_head(self, expected: Head) -> None:
        if self.head() != expected:
            raise GitFailed(f"HEAD of {self.top} is not at {expected.commit}")


def join_lines(lines: Sequence[str]) -> str:
    """Return the first few lines as one line."""
    more = f" and {len(lines) - _MAX_LINES} more" if len(lines) > _MAX_LINES else ""
    return ", ".join(line.strip() for line in lines[:_MAX_LINES]) + more


def _run(
    directory: Path, args: Sequence[str], index: Path | None = None, keep: Sequence[int] = ()
) -> GitResult:
    """Run git in a directory.  keep: file descriptors that git inherits."""
    options = [word for option in _OPTIONS for word in ("-c", option)]
    environment = environment_without("GIT_")
    if index is not None:
        environment["GIT_INDEX_FILE"] = str(index)
    try:
        completed = subprocess.run(
            ["git", "-C", str(directory), *options, *args],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment | {"LC_ALL": "C"},
            pass_fds=keep,
            process_group=0,
            check=False,
        )
    except OSError as exc:
        raise GitFailed(f"git cannot be run: {exc}", advice="Install git.") from exc
    out, err = (os.fsdecode(stream) for stream in (completed.stdout, completed.stderr))
    return GitResult(completed.returncode, out, err)
