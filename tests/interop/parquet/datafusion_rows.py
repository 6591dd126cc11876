"""Print rows of Parquet files as DataFusion reads them, as JSON.  Run where that is installed."""

import json
import sys

from datafusion import SessionConfig, SessionContext

OPTION = "datafusion.execution.listing_table_ignore_subdirectory"
QUERY = """
    SELECT _partition, _offset,
      packet['payload']['TransferPayload']['sender_score'] AS score,
      array_length(packet['recipients']) AS recipients
    FROM facts
"""

context = SessionContext(SessionConfig().set(OPTION, "false"))
context.register_parquet("facts", sys.argv[1])
columns = context.sql(QUERY).to_pydict()
rows = zip(
    *(columns[name] for name in ("_partition", "_offset", "score", "recipients")), strict=True
)
print(json.dumps(list(rows)))
