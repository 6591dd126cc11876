"""The routes of records: those of a partition by pages, and one as it lies on the log."""

from __future__ import annotations

import base64
from typing import Any

from schemas import Undecodable, decode
from streams.api.route import Call, Query, Route
from streams.engine.headers import iso
from streams.engine.log import Log
from streams.engine.records import Record, position
from streams.log.record_json import headers_json, key_text, value_json
from streams.log.records import Partition, partition_named, read_page, read_record
from streams.routes.log import process_of
from streams.views.query_params import Parameter, ValueForm, limit
from topology.declarations import Topic

Json = dict[str, Any]
MAX_RECORDS = 200
"""The most records of one page."""
_FROM = Parameter("from", "offset to begin at; by default the first that is kept", ValueForm.WHOLE)
_BYTES = Parameter(
    "bytes", "add `value_base64`, the value as it lies on the log", ValueForm.FLAG, default=False
)


def list_records(call: Call) -> Json:
    """Return a page of a partition's records, without values."""
    topic, tp = named_partition(call)
    first = call.params.number("from") or 0
    page = read_page(log_of(call), tp, first, call.params.limit())
    return {
        "items": [_describe_envelope(topic, record) for record in page.records],
        "next": page.next,
    }


def get_record(call: Call) -> Json:
    """Return one record.  Raises Forbidden, NotFound, Gone."""
    topic, tp = named_partition(call)
    record = read_record(log_of(call), tp, call.ids["offset"])
    body = describe_record(topic, record)
    if call.params.flag("bytes"):
        value = record.value
        body["value_base64"] = None if value is None else base64.b64encode(value).decode()
    return body


def named_partition(call: Call) -> Partition:
    """Return the partition that the path names.  Raises Forbidden, NotFound."""
    return partition_named(process_of(call).log(), call.ids["topic"], call.ids["partition"])


def log_of(call: Call) -> Log:
    assert call.log is not None, "only a process with a log answers this"
    return call.log


def describe_record(topic: Topic, record: Record) -> Json:
    """Return a record with its position, its schema and its value as the protocol's JSON."""
    return {**_describe_envelope(topic, record), "value": value_json(topic, record)}


def _describe_envelope(topic: Topic, record: Record) -> Json:
    """Return what a record is without its value."""
    return {
        "position": position(record),
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": iso(record.timestamp).decode(),
        "key": key_text(record),
        "headers": headers_json(record),
        "size": len(record.value or b""),
        "schema": _schema_of(topic, record),
    }


def _schema_of(topic: Topic, record: Record) -> Json | None:
    """Return the schema that the value was written with, None if it is not a record of Avro."""
    if topic.record is None or record.value is None:
        return None
    try:
        return {"id": decode(record.value, topic.record).schema_id, "name": topic.record}
    except Undecodable:
        return None


_PARTITION = "/v1/records/{topic}/{partition}"
RECORD = _PARTITION + "/{offset}"
"""The path of one record; other routes about a record lie below it."""
ERRORS = (403, 404, 410)
"""The statuses of refusals of a route about one record."""
ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        _PARTITION,
        "list_records",
        Query(list_records, reads_view=False, asks_kafka=True),
        "the committed records of a partition in log order, without their values; `next` is the"
        " `from` of the next page",
        (_FROM, limit(100, MAX_RECORDS)),
        "RecordPage",
        errors=(403, 404),
    ),
    Route(
        "GET",
        RECORD,
        "get_record",
        Query(get_record, reads_view=False, asks_kafka=True),
        "one record as it lies on the log",
        (_BYTES,),
        "LoggedRecord",
        errors=ERRORS,
    ),
)
