"""One query over an export: the gate, a bound on its time, and its errors in words."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from streams.analytics.errors import SqlAccess, SqlInvalid, SqlMemory, SqlTimeout
from streams.analytics.gate import check
from streams.errors import needs_extra

with needs_extra("analytics", "headrace sql"):
    import duckdb

TIMEOUT_S = 60.0


@contextmanager
def running(
    connection: Any,
    sql: str,
    timeout_s: float = TIMEOUT_S,
    *,
    plan: bool = False,
    columnar: bool = False,
) -> Iterator[Any]:
    """Run a query, and yield its result while the time lasts.

    timeout_s: for the query and for fetching its rows.  plan: run `EXPLAIN` of it instead.
    columnar: the result is fetched as Arrow batches, not as rows.

    Raises SqlRefused, SqlInvalid, SqlAccess, SqlMemory, SqlTimeout.
    """
    check(sql)
    late = threading.Event()

    def interrupt() -> None:
        late.set()
        connection.interrupt()

    timer = threading.Timer(timeout_s, interrupt)
    timer.daemon = True
    with _errors(late, timeout_s):
        timer.start()
        try:
            if columnar:
                yield connection.sql(sql)
            else:
                yield connection.execute(f"EXPLAIN {sql}" if plan else sql)
        finally:
            timer.cancel()


@contextmanager
def _errors(late: threading.Event, timeout_s: float) -> Iterator[None]:
    try:
        yield
    except duckdb.InterruptException as exc:
        if late.is_set():
            raise SqlTimeout(f"the query took longer than {timeout_s:g} s") from exc
        raise KeyboardInterrupt from exc
    except duckdb.OutOfMemoryException as exc:
        raise SqlMemory(_first_line(exc)) from exc
    except duckdb.PermissionException as exc:
        raise SqlAccess(_first_line(exc)) from exc
    except duckdb.Error as exc:
        raise SqlInvalid.of(str(exc)) from exc


def _first_line(exc: duckdb.Error) -> str:
    return str(exc).partition("\n")[0]
