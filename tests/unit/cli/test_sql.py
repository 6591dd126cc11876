"""Tests of `headrace sql` over an export: forms, shell, errors and their exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from tests.unit.analytics.lake import TOPIC, append, new_log, run

ENDLESS = "SELECT count(*) FROM range(100000000000) a, range(1000)"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("pyarrow", reason="needs pip install 'headrace[analytics]'")
    log, path = new_log(), tmp_path_factory.mktemp("sql") / "lake"
    for index in range(3):
        append(log, 0, index)
    run(log, path, TOPIC)
    return path


def sql(lake: Path, *arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(main, ["sql", "--from", str(lake), *arguments], input=text)


def test_a_table_ends_with_its_rows_and_how_new_they_are(lake: Path) -> None:
    result = sql(lake, "SELECT _offset, turn.metadata.task_id AS task FROM saop_log ORDER BY 1")
    assert result.exit_code == 0, result.stderr
    header, *rows, end = result.stdout.splitlines()
    assert header.split() == ["_offset", "task"]
    assert [row.split() for row in rows] == [[str(n), "task-1"] for n in range(3)]
    started_at = json.loads((lake / "headrace.json").read_text())["started_at"]
    assert end.startswith(f"3 rows; records up to {started_at}; ")


def test_a_table_has_a_thousand_rows_at_most_and_says_so(lake: Path) -> None:
    result = sql(lake, "SELECT * FROM range(1001)")
    assert len(result.stdout.splitlines()) == 1 + 1000 + 1
    assert "the first 1,000 rows" in result.stdout
    assert len(sql(lake, "--format", "csv", "FROM range(1001)").stdout.splitlines()) == 1002


def test_a_table_shows_no_control_characters(lake: Path) -> None:
    result = sql(lake, "SELECT chr(27) || '[31m' AS x")
    assert "\x1b" not in result.stdout
    assert "\\x1b[31m" in result.stdout


def test_a_query_comes_from_an_argument_a_file_or_standard_input(
    lake: Path, tmp_path: Path
) -> None:
    (tmp_path / "q.sql").write_text("SELECT 42 AS n")
    for result in (
        sql(lake, "--format", "jsonl", "SELECT 42 AS n"),
        sql(lake, "--format", "jsonl", "-f", str(tmp_path / "q.sql")),
        sql(lake, "--format", "jsonl", text="SELECT 42 AS n"),
    ):
        assert json.loads(result.stdout) == {"n": 42}


def test_rows_go_to_a_file(lake: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    out = tmp_path / "x.parquet"
    result = sql(lake, "--format", "parquet", "--out", str(out), "SELECT * FROM saop_log")
    assert result.stdout == ""
    assert result.stderr == f"wrote 3 rows to {out}\n"
    assert pq.read_table(out)["_offset"].to_pylist() == [0, 1, 2]


def test_explain_shows_the_plan_of_what_the_gate_lets_through(lake: Path) -> None:
    result = sql(lake, "--explain", "SELECT count(*) FROM saop_log")
    assert "READ_PARQUET" in result.stdout.upper()
    refused = sql(lake, "--explain", f"COPY (SELECT 1) TO '{lake / 'x'}'")
    assert (refused.exit_code, (lake / "x").exists()) == (1, False)


@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [
        (("SELECT nope",), "sql_invalid", 1),
        (("DROP VIEW saop_log",), "sql_refused", 1),
        (("SELECT * FROM read_text('/etc/passwd')",), "sql_access", 1),
        (("--memory", "64", "SELECT list(i) FROM range(4000000000) t(i)"), "sql_memory", 1),
        (("--timeout", "0.1", ENDLESS), "sql_timeout", 1),
        (("--after", "apc.packets/0/0", "SELECT 1"), "--from asks an export as it is", 2),
        (("--no-refresh", "SELECT 1"), "--from asks an export as it is", 2),
        (("-f", __file__, "SELECT 1"), "a query or --file", 2),
        (("--format", "xml", "SELECT 1"), "'xml' is not one of", 2),
    ],
)
def test_what_is_wrong_is_told_by_its_code(
    lake: Path, arguments: tuple[str, ...], code: str, exit_code: int
) -> None:
    result = sql(lake, *arguments)
    assert (result.exit_code, result.stdout) == (exit_code, "")
    assert code in result.stderr


def test_a_folder_without_an_export_is_told(tmp_path: Path) -> None:
    result = sql(tmp_path, "SELECT 1")
    assert result.exit_code == 1
    assert result.stderr.startswith("headrace: export_missing: there is no export in")


def test_without_duckdb_it_names_the_extra(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    for name in ("gate", "connection", "query"):
        monkeypatch.delitem(sys.modules, f"streams.analytics.{name}", raising=False)
    monkeypatch.delitem(sys.modules, "streams.cli.sql_session", raising=False)
    result = sql(lake, "SELECT 1")
    assert result.exit_code == 2
    assert result.stderr.startswith("headrace: extra_missing: headrace sql needs")


def test_the_shell_runs_queries_and_its_own_commands(
    lake: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from streams.cli.sql_session import Session, run_shell
    from streams.settings import Settings

    typed: Iterator[str | type[BaseException]] = iter(
        [
            ".help", ".views", ".macros", ".schema saop_log", ".format jsonl", "SELECT 1",
            "  AS one;", "SELECT nope;", "DROP VIEW saop_log;", ".refresh", ".what", ".explain FROM"
            " saop_log;", KeyboardInterrupt, "SELECT 2 AS two;", ".quit",
        ]
    )  # fmt: skip

    def read(prompt: str) -> str:
        line = next(typed)
        if not isinstance(line, str):
            raise line
        return line

    monkeypatch.setattr("builtins.input", read)
    settings = Settings(state_dir=tmp_path)
    with Session(lake, settings, form="table", timeout_s=60, memory_mib=256) as session:
        run_shell(session)
    printed = capsys.readouterr()
    assert '{"one":1}' in printed.out
    assert '{"two":2}' in printed.out
    assert {"saop_log", "turn", ".schema NAME"} <= set(printed.out.replace("  ", "\n").split("\n"))
    for text in ("sql_invalid", "sql_refused", "stays as it is", "no command .what"):
        assert text in printed.err
