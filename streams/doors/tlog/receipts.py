"""The receipts of records, made from the rows of the view."""

from __future__ import annotations

import asyncio
import time

from starlette.requests import Request
from starlette.responses import Response as HttpResponse

from streams.api.problems import problem
from streams.api.route import Refused
from streams.doors.tlog.description import TEXT_TYPE, WAIT
from streams.doors.tlog.published import require_log
from streams.engine.records import TopicPartition
from streams.gateway.context import Gateway
from streams.gateway.endpoints import Endpoint
from streams.gateway.request_parts import read_query
from streams.log.records import parse_number
from streams.ops.tlog.logged_topics import logged_topics
from streams.view_store.receipts import find_receipt
from streams.view_store.transparency import TransparencyLog
from streams.views.parse import QueryParams

_LOOK_S = 0.25
"""How often a request that waits looks for the entry."""


def make_receipts(gateway: Gateway, log: TransparencyLog | None) -> Endpoint:
    """Return the endpoint of receipts."""
    covered = logged_topics(gateway.settings.prefix)

    async def answer(request: Request) -> HttpResponse:
        wait_s = QueryParams(read_query(request), [WAIT]).number(WAIT.name) or 0
        served = require_log(log)
        tp, offset = _parse_place(request.path_params, covered)
        deadline = time.monotonic() + wait_s
        while True:
            with gateway.view.reader() as rows:
                receipt = find_receipt(served, rows, tp, offset)
            if receipt is not None:
                return HttpResponse(receipt, 200, {"cache-control": "private, no-cache"}, TEXT_TYPE)
            if time.monotonic() >= deadline:
                detail = f"{tp.topic}/{tp.partition}/{offset} has no published entry yet"
                refusal = problem(409, detail, "not_logged")
                raise Refused(refusal._replace(headers={"retry-after": "1"}))
            await asyncio.sleep(_LOOK_S)

    return answer


def _parse_place(ids: dict[str, str], covered: frozenset[str]) -> tuple[TopicPartition, int]:
    """Return the partition and the offset of a path.  Raises Refused."""
    topic, partition, offset = ids["topic"], parse_number(ids["partition"]), ids["offset"]
    if topic not in covered:
        detail = f"records of {topic[:100]} have no entries in the log"
        raise Refused(problem(422, detail, "topic_not_covered"))
    if partition < 0 or parse_number(offset) < 0:
        detail = f"{ids['partition'][:30]}/{offset[:30]} is no partition and offset"
        raise Refused(problem(404, detail, "record_unknown"))
    return TopicPartition(topic, partition), parse_number(offset)
