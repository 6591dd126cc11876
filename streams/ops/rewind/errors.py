"""The errors of a rewind.

RewindError ├── RewindUsage        exit 1: the command makes no sense, or PATH is no git work tree
├── TargetUnknown      exit 2: the service knows no such task or commit, or several ├── TreeUnclean
exit 3: the work tree holds changes, or a merge or rebase is under way ├── CommitMissing      exit
4: the commit is not in the repository ├── GitFailed          exit 5: git did not do what was asked
├── ServiceFailed      exit 6: the service was not reached, or refused │   ├── Undone           it
refused the last step, and the work tree was put back │   └── Unresolved       whether the session
moved is not known; the journal is kept └── Interrupted        exit 130

These exit codes belong to this command and differ from those of `streams.errors`, so that scripts
can tell the causes apart.  Source: SAOP guide, 6.4.
"""

from __future__ import annotations

from streams.errors import HeadraceError

RESUME = "Run the same command again, or `headrace saop rewind --resume --repo PATH`, to settle it."


class RewindError(HeadraceError): ...


class RewindUsage(RewindError):
    exit_code = 1


class TargetUnknown(RewindError):
    exit_code = 2
    default_advice = "`headrace saop tasks --session ID` lists tasks with their commits."


class TreeUnclean(RewindError):
    exit_code = 3
    default_advice = "Commit or stash what is there, end what is under way, and run it again."


class CommitMissing(RewindError):
    exit_code = 4
    default_advice = "Fetch it, and run the command again."


class GitFailed(RewindError):
    exit_code = 5


class ServiceFailed(RewindError):
    exit_code = 6


class Undone(ServiceFailed): ...


class Unresolved(ServiceFailed):
    default_advice = RESUME


class Interrupted(RewindError):
    exit_code = 130
