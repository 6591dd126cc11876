"""The closed set of rule codes of spans (OTel guide, 3)."""

from __future__ import annotations

from schemas import rules as common
from schemas.rules import Rule, Stage, Where, rules_of

# Shape, in the order of checking.
JSON_INVALID = Rule("json_invalid", "the text is not I-JSON", Stage.SCHEMA, Where.EDGE)
SCHEMA_INVALID = Rule(
    "schema_invalid",
    "a required member is missing, or of the wrong JSON type",
    Stage.SCHEMA,
    Where.BOTH,
)
TRACE_ID_INVALID = Rule(
    "trace_id_invalid",
    "trace_id is not 16 bytes in lower-case hexadecimal digits, or all zero",
    Stage.SCHEMA,
    Where.BOTH,
)
SPAN_ID_INVALID = Rule(
    "span_id_invalid",
    "span_id is not 8 bytes in lower-case hexadecimal digits, or all zero",
    Stage.SCHEMA,
    Where.BOTH,
)
PARENT_ID_INVALID = Rule(
    "parent_id_invalid",
    "parent_span_id is not 8 bytes in lower-case hexadecimal digits, or all zero",
    Stage.SCHEMA,
    Where.BOTH,
)
TIME_INVALID = Rule(
    "time_invalid",
    "the start is 0, the end is before the start, or a time is above 2^63 - 1 ns",
    Stage.SCHEMA,
    Where.BOTH,
)
TEXT_INVALID = Rule("text_invalid", "a string has a lone surrogate", Stage.SCHEMA, Where.BOTH)
ATTRIBUTES_TOO_MANY = Rule(
    "attributes_too_many",
    "the span, its resource, an event or a link has more than 1,024 attributes",
    Stage.SCHEMA,
    Where.BOTH,
)
NESTING_TOO_DEEP = Rule(
    "nesting_too_deep",
    "the value of an attribute is nested more than 64 deep",
    Stage.SCHEMA,
    Where.BOTH,
)

# Log.
KEY_MISMATCH = Rule("key_mismatch", "the record key is not trace_id", Stage.LOG, Where.PROCESSOR)
PARTITION_MISMATCH = common.PARTITION_MISMATCH
SPAN_DUPLICATE = Rule("span_duplicate", "this span was accepted before", Stage.LOG, Where.PROCESSOR)
SPAN_CONFLICT = Rule(
    "span_conflict",
    "another span of these ids was accepted before",
    Stage.LOG,
    Where.PROCESSOR,
)
OUTPUT_TOO_LARGE = Rule(
    "output_too_large",
    "what the span would write is over its topic's bound",
    Stage.LOG,
    Where.PROCESSOR,
)
SPAN_RECORDED = Rule(
    "span_recorded", "recorded: nothing is against it", Stage.POLICY, Where.PROCESSOR
)

ALL = rules_of(dict(globals()))
"""Every rule code, in the order of declaration."""
