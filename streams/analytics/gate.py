"""The gate of SQL that others wrote: one statement, which only reads.

DuckDB's own settings keep a query from other files and from the network, but not from writing: a
CTE may be a COPY over a file that may be read, and some table functions run text, or change the
process.  So the syntax tree of a query is looked at before it runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from streams.analytics.errors import SqlInvalid, SqlRefused
from streams.errors import needs_extra

with needs_extra("analytics", "headrace sql"):
    import duckdb

_NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
_RUN_TEXT = frozenset({"query", "query_table", "json_execute_serialized_sql"})
REFUSED_TABLE_FUNCTIONS = _RUN_TEXT | {
    # They take addresses of memory, or objects of Python.
    "arrow_scan",
    "arrow_scan_dumb",
    "pandas_scan",
    "python_arrow_scan",
    "python_map_function",
    "seq_scan",
    # They change the process, or what it logs.
    "add_grammar_extension",
    "remove_grammar_extension",
    "checkpoint",
    "force_checkpoint",
    "create_external_resource",
    "destroy_external_resource",
    "register_external_resource",
    "register_external_resource_type",
    "deregister_external_resource",
    "disable_logging",
    "enable_logging",
    "disable_profiling",
    "enable_profiling",
    "truncate_duckdb_logs",
}
"""Table functions that a query may not call."""
_REFUSED_FUNCTIONS = _RUN_TEXT | {"write_log"}
_ADVICE = "Give one SELECT, WITH, FROM, VALUES, DESCRIBE, SUMMARIZE or SHOW TABLES."


def check(sql: str) -> None:
    """Check that a text is one statement that only reads.

    Raises SqlRefused, which names what is not allowed, and SqlInvalid for what is no SQL.
    """
    with duckdb.connect(":memory:") as connection:
        try:
            statements = connection.extract_statements(sql)
            if len(statements) != 1:
                count = f"{len(statements)} statements" if statements else "no statement"
                raise SqlRefused(f"the query has {count}, not one", advice=_ADVICE)
            if (kind := statements[0].type) != duckdb.StatementType.SELECT:
                raise SqlRefused(f"a query may not be {kind.name}", advice=_ADVICE)
            row = connection.execute("SELECT json_serialize_sql(?)", [sql]).fetchone()
        except duckdb.Error as exc:
            raise SqlInvalid.of(str(exc)) from exc
    tree = json.loads(row[0]) if row else {}
    if tree.get("error") is not False or len(tree.get("statements", ())) != 1:
        raise SqlRefused(f"the query cannot be looked at: {tree.get('error_message')}")
    for refused in _refused(tree["statements"]):
        raise SqlRefused(f"a query may not have {refused}", advice=_ADVICE)


def _refused(tree: Any) -> Iterator[str]:
    """Yield what a query may not have.  The tree is walked without recursion: queries nest."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            waiting += node.values()
            kind = str(node.get("type", ""))
            if kind.endswith("_NODE") and kind not in _NODES:
                yield kind.removesuffix("_NODE").removesuffix("_QUERY")
            function = str(node.get("function_name", "")).lower()
            if function in _REFUSED_FUNCTIONS:
                yield f"the function {function}"
            if kind == "TABLE_FUNCTION":
                called = str(node["function"].get("function_name", "")).lower()
                if called in REFUSED_TABLE_FUNCTIONS:
                    yield f"the function {called}"
