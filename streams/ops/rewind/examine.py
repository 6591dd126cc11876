"""Coming back from a checkout that may have been cut off half-way.

Git writes files first, then the index, then HEAD.  So after a cut each changed path holds what the
one or the other commit has there, or the beginning of it, or is gone; a path that holds anything
else was changed by someone else, and then nothing is touched.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from streams.ops.rewind.errors import RESUME, GitFailed
from streams.ops.rewind.git import Git, Head, shown


def go_back(git: Git, original: Head, target: str) -> None:
    """To where HEAD was, from the target or from anywhere on the way there.

    A user who has gone elsewhere since is left there.  Raises GitFailed, with nothing touched when
    a path holds neither commit's content.
    """
    head, clean = git.head(), not git.status()
    if clean and head not in (original, Head(target, None)):
        return
    if clean and (head == original or _on(head, original)):
        return
    if not clean:
        _examine(git, head, original, target)
        git.force_checkout(target)
    git.switch_back(original)


def _on(head: Head, original: Head) -> bool:
    """On the branch of before, which somebody may have moved."""
    return head.branch is not None and head.branch == original.branch


def _examine(git: Git, head: Head, original: Head, target: str) -> None:
    """Raises GitFailed when a path holds neither the original's nor the target's content."""
    if head not in (original, Head(target, None)):
        raise GitFailed(
            f"{git.top} is at {head.commit}, neither where it was nor at the target, and not clean",
            advice=f"Clean it. {RESUME}",
        )
    commits = (original.commit, target)
    strange = _written(git, original.commit) & _written(git, target)
    strange = {path for path in strange if not _begun(git, path, commits)}
    strange |= _staged(git, original.commit) & _staged(git, target)
    if strange:
        paths = shown(sorted(strange))
        raise GitFailed(
            f"a checkout was cut off, and these were changed since: {paths}",
            advice=f"Save and remove these changes. {RESUME}",
        )


_NAMES = ("--name-only", "-z", "--ignore-submodules=all", "--diff-filter=d")


def _written(git: Git, commit: str) -> set[str]:
    """Paths in the work tree that hold other content than the commit has there.

    A path that is gone holds nothing, so it does not count.
    """
    with tempfile.TemporaryDirectory(prefix="headrace-rewind-") as folder:
        index = Path(folder) / "index"
        git.must("read-tree", commit, index=index)
        git.ask("update-index", "-q", "--really-refresh", index=index)
        changed = git.must("diff-files", *_NAMES, index=index)
        other = git.must("ls-files", "-z", "--others", "--exclude-standard", index=index)
    return {path for text in (changed, other) for path in text.split("\0") if path}


def _staged(git: Git, commit: str) -> set[str]:
    """Paths of the index that hold other content than the commit has there."""
    return {
        path for path in git.must("diff-index", "--cached", *_NAMES, commit).split("\0") if path
    }


def _begun(git: Git, path: str, commits: Sequence[str]) -> bool:
    """Whether the path holds what git writes until it is cut off: a beginning, or nothing."""
    file = git.top / path
    if file.is_symlink() or not file.is_file():
        return False
    written = file.read_bytes()
    contents = (git.ask("cat-file", "blob", f"{commit}:{path}") for commit in commits)
    return any(answer.code == 0 and answer.raw.startswith(written) for answer in contents)
