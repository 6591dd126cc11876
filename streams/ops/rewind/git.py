"""Git, through its executable: what a rewind asks of a work tree, and the little it does there.

Hooks are off, submodules stay as they are, and no branch ever moves.  Git runs in a process group
of its own, so that Ctrl-C does not stop it half-way.
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
_SHOWN = 5

_OPTIONS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "submodule.recurse=false",
    "advice.detachedHead=false",
    "gc.auto=0",
    "maintenance.auto=false",
)
_CHECKOUT = ("checkout", "--quiet", "--no-recurse-submodules")
_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a cherry-pick or revert",
    "BISECT_LOG": "a bisect",
}
"""Files in the git directory that say what has been begun and not ended."""


_STALE = "If no git is at work there, one was killed: delete that file, and run the command again."


class Head(NamedTuple):
    """branch: its full ref, None when HEAD is detached."""

    commit: str
    branch: str | None


class Answer(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def raw(self) -> bytes:
        """What it printed, byte by byte."""
        return os.fsencode(self.out)

    @property
    def why(self) -> str:
        """What git said about a failure, in one line."""
        said = [line.strip() for line in self.err.splitlines() if line.strip()]
        faults = [line for line in said if line.startswith(("fatal: ", "error: "))]
        return next(iter([*faults, *said]), f"git ended with {self.code}")


class Git:
    """One work tree.  top: its upper directory.  directory: its own git directory."""

    def __init__(self, top: Path, directory: Path) -> None:
        self.top = top
        self.directory = directory
        self._lock: int | None = None

    @classmethod
    def at(cls, path: Path) -> Self:
        """The work tree that holds the path.  Raises RewindUsage when there is none."""
        asked = _run(path, ("rev-parse", "--show-toplevel", "--absolute-git-dir"))
        top, _, directory = asked.out.strip("\n").rpartition("\n")
        if asked.code != 0 or not top:
            raise RewindUsage(f"{path} is no git work tree: {asked.why}")
        return cls(Path(top), Path(directory))

    def lock(self) -> None:
        """Keep other rewinds away, until this process and its git have ended.

        Git inherits the lock: after a kill, whoever comes next waits until it has ended too.
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

    def ask(self, *args: str, index: Path | None = None) -> Answer:
        """Run git in the work tree; index: another one than the work tree's own."""
        return _run(self.top, args, index, () if self._lock is None else (self._lock,))

    def must(self, *args: str, index: Path | None = None) -> str:
        """What git prints.  Raises GitFailed."""
        answer = self.ask(*args, index=index)
        if answer.code != 0:
            advice = _STALE if "index.lock" in answer.why else None
            raise GitFailed(f"git {args[0]} failed: {answer.why}", advice=advice)
        return answer.out

    def head(self) -> Head:
        """Raises GitFailed on a branch without a commit."""
        commit = self.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        if commit.code != 0:
            raise GitFailed(f"HEAD of {self.top} has no commit to come back to")
        branch = self.ask("symbolic-ref", "--quiet", "HEAD")
        return Head(commit.out.strip(), branch.out.strip() if branch.code == 0 else None)

    def status(self) -> list[str]:
        """A line for each path that is changed or untracked."""
        options = ("--porcelain", "--untracked-files=all")
        return self.must("--no-optional-locks", "status", *options).splitlines()

    def under_way(self) -> str | None:
        """What was begun in this work tree and has not ended."""
        for name, what in _UNDER_WAY.items():
            if (self.directory / name).exists():
                return what
        return None

    def check_clean(self) -> None:
        """Raises TreeUnclean."""
        if what := self.under_way():
            raise TreeUnclean(f"{what} is under way in {self.top}")
        if changed := self.status():
            raise TreeUnclean(f"{self.top} is not clean: {shown(changed)}")

    def commit_of(self, text: str) -> str:
        """The full hash of the one commit that a hash names.  Raises CommitMissing.

        A branch or a tag that is spelled like the hash is not meant.
        """
        if not HASH.fullmatch(text):
            raise CommitMissing(f"the recorded hash {text!r} is no hash of a commit", advice="")
        named = {self._commit_at(text)} if self._is_object(text) else self._commits_like(text)
        found = sorted(commit for commit in named if commit is not None)
        if len(found) != 1:
            what = f"{len(found)} commits" if found else "no commit"
            raise CommitMissing(f"{text} names {what} of {self.top}")
        return found[0]

    def _is_object(self, text: str) -> bool:
        """Whether the text is read as a hash, and not as the name of a branch or tag."""
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
        """Detach HEAD at a commit, whatever lies in the work tree.  Raises GitFailed."""
        self.must(*_CHECKOUT, "--force", "--detach", commit, "--")
        self._check_head(Head(commit, None))

    def switch_back(self, head: Head) -> None:
        """To a branch, else to a detached commit.  Raises GitFailed."""
        if head.branch is None or not head.branch.startswith("refs/heads/"):
            self.checkout(head.commit)
            return
        name = head.branch.removeprefix("refs/heads/")
        self.must(*_CHECKOUT, "--no-overwrite-ignore", name, "--")
        if self.head().branch != head.branch:
            raise GitFailed(f"HEAD of {self.top} is not on {name}")

    def _check_head(self, wanted: Head) -> None:
        if self.head() != wanted:
            raise GitFailed(f"HEAD of {self.top} is not at {wanted.commit}")


def shown(lines: Sequence[str]) -> str:
    """The first few of them in one line."""
    more = f" and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return ", ".join(line.strip() for line in lines[:_SHOWN]) + more


def _run(
    where: Path, args: Sequence[str], index: Path | None = None, keep: Sequence[int] = ()
) -> Answer:
    """keep: open files that git inherits."""
    options = [word for option in _OPTIONS for word in ("-c", option)]
    environment = environment_without("GIT_")
    if index is not None:
        environment["GIT_INDEX_FILE"] = str(index)
    try:
        ended = subprocess.run(
            ["git", "-C", str(where), *options, *args],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment | {"LC_ALL": "C"},
            pass_fds=keep,
            process_group=0,
            check=False,
        )
    except OSError as exc:
        raise GitFailed(f"git cannot be run: {exc}", advice="Install git.") from exc
    out, err = (os.fsdecode(stream) for stream in (ended.stdout, ended.stderr))
    return Answer(ended.returncode, out, err)
