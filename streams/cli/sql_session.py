"""The session of `headrace sql`: its export, what it prints, and the shell."""

from __future__ import annotations

import atexit
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import click

from streams.analytics import formats
from streams.analytics.connection import open_export
from streams.analytics.folder import Folder
from streams.analytics.query import running
from streams.analytics.refreshing import folder_of, refresh
from streams.analytics.views import VIEWS, macros
from streams.cli import common
from streams.errors import HeadraceError
from streams.settings import Settings

MOST_ROWS = 1000
"""The most rows of a table."""
_SHELL_FORMS = {"table", *formats.FORMATS} - formats.BINARY
_HELP = """\
.views          the documented views, and the exported topics
.schema NAME    the columns of one
.macros         the table macros
.format F       table, csv, json, jsonl, markdown
.refresh        bring the export up to date
.explain QUERY  the plan of a query
.quit           end; so does Ctrl-D
A query ends with a semicolon.  Ctrl-C stops it."""


class Session:
    """An open export, and how queries over it are shown.

    path: of the export; None: the one under the state directory.
    """

    def __init__(
        self, path: Path | None, settings: Settings, form: str, timeout_s: float, memory_mib: int
    ) -> None:
        self.settings, self.form = settings, form
        self.is_own = path is None
        self._path = path or folder_of(settings)
        self._timeout_s, self._memory_mib = timeout_s, memory_mib
        self._connection: Any = None

    def __enter__(self) -> Self:
        self._connection = open_export(self._path, self._memory_mib)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def refresh(self, after: str | None = None) -> None:
        """Bring the export under the state directory up to date, and open it anew if it is open.

        after: position of a record whose verdict has to be in it.
        """
        is_open = self._connection is not None
        self._close()
        if after is None:
            with common.connect(self.settings) as log:
                refresh(log, self.settings, _warn)
        else:
            with common.open_log_and_view(self.settings, after) as (log, _):
                refresh(log, self.settings, _warn)
        if is_open:
            self.__enter__()

    def run(self, sql: str, out: Path | None = None, plan: bool = False) -> None:
        """Run one query and print its rows, or write them to a file.

        Raises SqlRefused, SqlInvalid, SqlAccess, SqlMemory, SqlTimeout.
        """
        started = time.monotonic()
        columnar = self.form in formats.BINARY and not plan
        with running(
            self._connection, sql, self._timeout_s, plan=plan, columnar=columnar
        ) as result:
            if plan:
                for _, text in result.fetchall():
                    common.echo_block(text)
            elif out is not None:
                count = self._write_file(result, out)
                common.echo(f"wrote {_counted(count)} to {out}", err=True)
            elif self.form == "table":
                self._show(result, started)
            else:
                formats.FORMATS[self.form](result, click.get_binary_stream("stdout"))

    def _write_file(self, result: Any, out: Path) -> int:
        form = "csv" if self.form == "table" else self.form
        with out.open("wb") as file:
            return formats.FORMATS[form](result, file)

    def _show(self, result: Any, started: float) -> None:
        titles = tuple(formats.names(result))
        rows = list(formats.rows(result, MOST_ROWS + 1))
        first = rows[:MOST_ROWS]
        common.show_table(titles, [tuple(formats.cell(v) for v in row) for row in first])
        count = _counted(len(first))
        if len(rows) > MOST_ROWS:
            count = f"the first {count}; the other forms of --format have all"
        manifest = Folder(self._path).manifest() or {}
        until = manifest.get("started_at") or "-"
        elapsed = time.monotonic() - started
        common.echo(f"{count}; records up to {until}; {elapsed:.1f} s")

    def names(self) -> list[str]:
        """Return the names of all views and exported topics, the documented views first."""
        rows = self._connection.execute(
            "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY view_name"
        ).fetchall()
        known = [str(name) for (name,) in rows]
        documented = [name for name in VIEWS if name in known]
        return documented + [name for name in known if name not in VIEWS]


def _counted(rows: int) -> str:
    return f"{rows:,} row{'' if rows == 1 else 's'}"


def _warn(line: str) -> None:
    common.echo(line, err=True)


def run_shell(session: Session) -> None:
    """Run what a person types until `.quit` or Ctrl-D."""
    _prepare_line(session)
    common.echo("headrace sql: .help shows the commands, Ctrl-D ends")
    text = ""
    while True:
        try:
            text += input("sql> " if not text else "...> ") + "\n"
        except EOFError:
            common.echo()
            return
        except KeyboardInterrupt:
            common.echo()
            text = ""
            continue
        line = text.strip()
        if line in (".quit", ".exit"):
            return
        if not line.startswith(".") and not line.endswith(";"):
            text = text if line else ""
            continue
        text = ""
        try:
            _run_line(session, line)
        except KeyboardInterrupt:
            common.echo("stopped", err=True)
        except HeadraceError as exc:
            common.echo_block(str(exc), err=True)


def _run_line(session: Session, line: str) -> None:
    word, _, argument = line.partition(" ")
    argument = argument.strip()
    match word:
        case ".help":
            common.echo_block(_HELP)
        case ".views":
            common.echo_block("\n".join(session.names()))
        case ".macros":
            common.echo_block("\n".join(each.name for each in macros()))
        case ".schema":
            session.run(f'DESCRIBE "{argument.replace(chr(34), chr(34) * 2)}"')
        case ".format" if argument in _SHELL_FORMS:
            session.form = argument
        case ".refresh" if session.is_own:
            session.refresh()
        case ".refresh":
            common.echo("the export of --from stays as it is", err=True)
        case ".explain":
            session.run(argument.rstrip(";"), plan=True)
        case _ if word.startswith("."):
            common.echo(f"no command {line}; .help shows all", err=True)
        case _:
            session.run(line)


def _prepare_line(session: Session) -> None:
    """Complete names with Tab and keep what was typed, where the terminal library is there."""
    try:
        import readline
    except ImportError:  # a Python without it
        return
    history = session.settings.state_dir / "sql_history"
    with suppress(OSError):
        readline.read_history_file(history)
    words = [*session.names(), *(each.name.partition("(")[0] for each in macros())]

    def complete(text: str, index: int) -> str | None:
        fitting = [word for word in words if word.startswith(text)]
        return fitting[index] if index < len(fitting) else None

    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")

    def keep() -> None:
        with suppress(OSError):
            history.parent.mkdir(parents=True, exist_ok=True)
            history.touch(0o600)
            readline.write_history_file(history)

    atexit.register(keep)
