"""The mapping between the JSON of SAP's tasks, results and signals and their Avro records."""

from __future__ import annotations

from schemas.json_mapping.mapping import Codes, JsonMapping, OpenJson
from schemas.sap.constants import NAMESPACE
from schemas.sap.models import SHAPES

OBJECTS = frozenset(f"{NAMESPACE}.{record}" for record in SHAPES)
"""The objects of SAP, whose unknown members are kept in `extra_json`."""

MAPPING = JsonMapping(
    namespaces=(NAMESPACE,),
    sparse=OBJECTS,
    open=OpenJson(quoted=True, pointed=True),
    null_is_absent=True,
    codes=Codes(
        {
            "member_type": "bad_type",
            "root_type": "bad_type",
            "member_missing": "missing_field",
            "json_invalid": "bad_json",
            "number_range": "out_of_range",
            "format_time": "bad_timestamp",
        }
    ),
)
