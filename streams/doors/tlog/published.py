"""The newest checkpoint of the log that a gateway serves."""

from __future__ import annotations

from streams.api.problems import problem
from streams.api.route import Refused
from streams.ops.tlog.heads import SignedHead
from streams.view_store.transparency import TransparencyLog
from streams.views.reads import RowReader


def require_log(log: TransparencyLog | None) -> TransparencyLog:
    """Return the log that is served.  Raises Refused if there is none."""
    if log is None:
        detail = "HEADRACE_TLOG_POLICY is not set: this gateway serves no transparency log"
        raise Refused(problem(404, detail, "tlog_off"))
    return log


def published_head(log: TransparencyLog | None, rows: RowReader) -> SignedHead:
    """Return the newest checkpoint.  Raises Refused if there is none to serve."""
    served = require_log(log)
    head = served.read_head(rows)
    if head is None:
        detail = f"no checkpoint of {served.origin} is published that the policy accepts"
        raise Refused(problem(404, detail, "not_published"))
    return head
