"""Recovery from a checkout that may have been interrupted.

Git writes files first, then the index, then HEAD.  So after an interruption each changed path has
the content of one of the two commits, or the beginning of it, or does not exist.  A path with any
other content was changed by someone else, and then nothing is touched.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from streams.ops.rewind.errors import RESUME, GitFailed
from streams.ops.rewind.git import Git, Head, join_lines


def go_back(git: Git, original: Head, target: str) -> None:
    """Return to the original HEAD, from the target or from any point of the checkout.

    If a user has switched elsewhere since, HEAD stays there.  Raises GitFailed, with nothing
    touched, if a path has neither commit's content.
    """
    head, clean = git.head(), not git.status()
    if clean and head not in (original, Head(target, None)):
        return
    if clean and (head == original or _on_same_branch(head, original)):
        return
    if not clean:
        _check_paths(git, head, original, target)
        git.force_checkout(target)
    git.switch_back(original)


def _on_same_branch(head: Head, original: Head) -> bool:
    """Return whether HEAD is on the original branch, which may have moved."""
    return head.branch is not None and head.branch == original.branch


def _check_paths(git: Git, head: Head, original: Head, target: str) -> None:
    """Raise GitFailed if a path has neither the original's nor the target's content."""
    if head not in (original, Head(target, None)):
        raise GitFailed(
            f"{git.top} is at {head.commit}, neither where it was nor at the target, and not clean",
            advice=f"Clean it. {RESUME}",
        )
    commits = (original.commit, target)
    foreign = _differing_files(git, original.commit) & _differing_files(git, target)
    foreign = {path for path in foreign if not _is_partial(git, path, commits)}
    foreign |= _differing_index_paths(git, original.commit) & _differing_index_paths(git, target)
    if foreign:
        paths = join_lines(sorted(foreign))
        raise GitFailed(
            f"a checkout was cut off, and these were changed since: {paths}",
            advice=f"Save and remove these changes. {RESUME}",
        )


_NAMES = ("--name-only", "-z", "--ignore-submodules=all", "--diff-filter=d")


def _differing_files(git: Git, commit: str) -> set[str]:
    """Return the paths of the work tree whose content differs from the commit.

    A path that does not exist has no content, so it does not count.
    """
    with tempfile.TemporaryDirectory(prefix="headrace-rewind-") as folder:
        index = Path(folder) / "index"
        git.must("read-tree", commit, index=index)
        git.ask("update-index", "-q", "--really-refresh", index=index)
        changed = git.must("diff-files", *_NAMES, index=index)
        other = git.must("ls-files", "-z", "--others", "--exclude-standard", index=index)
    return {path for text in (changed, other) for path in text.split("\0") if path}


def _differing_index_paths(git: Git, commit: str) -> set[str]:
    """Return the paths of the index whose content differs from the commit."""
    return {
        path for path in git.must("diff-index", "--cached", *_NAMES, commit).split("\0") if path
    }


def _is_partial(git: Git, path: str, commits: Sequence[str]) -> bool:
    """Return whether the path has a beginning of a commit's content, as after an interruption."""
    file = git.top / path
    if file.is_symlink() or not file.is_file():
        return False
    content = file.read_bytes()
    contents = (git.ask("cat-file", "blob", f"{commit}:{path}") for commit in commits)
    return any(answer.code == 0 and answer.raw.startswith(content) for answer in contents)
