"""A rewind: an operator turns a session back to a commit.

Two things have to move, the work tree and the tasks, and only one of them is here.  So whoever
also has a tree asks first (`prepare`), checks the commit out, and then says so (`confirm`): tasks
move at that moment, all in one transaction, and a failure before it leaves them untouched.  Who
has no tree does it in one step (`apply`).

A rewind that is prepared keeps others of its session out; so it may be aborted, and lapses when
nobody comes back.  After a lapse an abort is still welcome, for it asks for nothing that has not
happened.  Nothing leaves APPLIED: going forward again is another rewind, to a later commit.

What has no edge is refused with the rule that says where the rewind stands.

Source: SAOP guide, 4.6.
"""

from __future__ import annotations

from enum import StrEnum

from topology.machine import define


class RewindState(StrEnum):
    NONE = "none"
    PREPARED = "prepared"
    APPLIED = "applied"
    ABORTED = "aborted"
    LAPSED = "lapsed"


class RewindEvent(StrEnum):
    PREPARE = "prepare"
    APPLY = "apply"
    CONFIRM = "confirm"
    ABORT = "abort"
    LAPSE = "lapse"  # its timer, not a command


_S = RewindState
_E = RewindEvent

MACHINE = define(
    "saop-rewind",
    _S.NONE,
    {
        _S.NONE: {_E.PREPARE: _S.PREPARED, _E.APPLY: _S.APPLIED},
        _S.PREPARED: {_E.CONFIRM: _S.APPLIED, _E.ABORT: _S.ABORTED, _E.LAPSE: _S.LAPSED},
        _S.APPLIED: {},
        _S.ABORTED: {},
        _S.LAPSED: {_E.ABORT: _S.LAPSED},
    },
)
