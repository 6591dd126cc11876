"""`headrace sap cache`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import click

from streams.cli import common
from streams.errors import InvalidInput, NotFound, UsageError
from streams.settings import Settings

_COLUMNS = ("version", "storedAt", "ageSec", "taskId", "recordSha256")


@click.command("cache")
@click.argument("key", metavar="[KEY]", required=False)
@click.option("--version", type=click.IntRange(1), metavar="V", help="This version.")
@click.option("--versions", is_flag=True, help="All versions, the newest first.")
@click.option(
    "--key-of",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="TASKFILE",
    help="The key of a task in a file, offline.",
)
@click.option("--verify", is_flag=True, help="Check the hashes of KEY, or of all keys.")
@click.option("--json", "as_json", is_flag=True, help="Print the response as JSON.")
@common.read_options
@common.as_of_option
@click.pass_context
def command(
    ctx: click.Context,
    key: str | None,
    version: int | None,
    versions: bool,
    key_of: Path | None,
    verify: bool,
    as_json: bool,
    after: str | None,
    as_of: str | None,
) -> None:
    """Show cached results by key, prove that none was changed, or compute a task's key.

    --verify exits with 1 when a record does not match its hash, or is missing.

    \b
    Examples:
      headrace sap cache 591a42479351258326c4e1b6dd4c01bb5314daebe28167c1c5ee45dbb49b303f --versions
      headrace sap cache --key-of task.json
      headrace sap cache --verify
    """
    modes = [version is not None, versions, key_of is not None, verify]
    if sum(modes) > 1:
        raise UsageError("give one of --version, --versions, --key-of and --verify")
    if key_of is not None:
        if key is not None:
            raise UsageError("--key-of computes the key; leave KEY out")
        _show_key(key_of, as_json)
        return
    if verify:
        if as_of is not None:
            raise UsageError("--verify checks what is there now; leave --as-of out")
        if not _verify_records(key, as_json, after):
            ctx.exit(1)
        return
    if key is None:
        raise UsageError("give a KEY, --key-of TASKFILE or --verify")
    newest = not versions and version is None
    params = {name: value for name, value in (("after", after), ("as_of", as_of)) if value}
    path = f"/v1/sap/cache/{quote(key, safe='')}{'' if newest else '/versions'}"
    answer = common.ask(path, urlencode(params), Settings.load())
    if version is not None:
        common.show_json(_select_version(answer, version))
    elif newest or as_json:
        common.show_json(answer)
    else:
        rows = [_version_row(record) for record in answer["versions"]]
        common.show_table(_COLUMNS, rows)


def _version_row(record: Mapping[str, Any]) -> tuple[Any, ...]:
    if "refused" in record:
        return (record["version"], f"refused: {record['refused']}", "-", "-", "-")
    return tuple(record[name] for name in _COLUMNS)


def _select_version(answer: Any, version: int) -> Any:
    record = next((each for each in answer["versions"] if each["version"] == version), None)
    if record is None:
        raise NotFound(f"{answer['cacheKey']} has no version {version}")
    return record


def _show_key(path: Path, as_json: bool) -> None:
    from schemas import sap
    from schemas.sap import rules
    from streams.protocols.sap.constitution import load

    task = common.read_value(path, rules.BAD_JSON.code)
    if problems := sap.validate_task(task):
        raise InvalidInput(problems)
    cache_key = sap.cache_key(task, load(Settings.load().sap_constitution).volatile_keys)
    answer = {
        "cacheKey": cache_key.key,
        "fingerprint": cache_key.fingerprint,
        "removedKeys": list(cache_key.removed),
        "hashed": cache_key.hashed,
    }
    if as_json:
        common.show_json(answer)
    else:
        common.show_members(answer)


def _verify_records(key: str | None, as_json: bool, after: str | None) -> bool:
    from streams.protocols.sap.queries.knowledge import cached_versions

    keys: set[str] = set()
    records, first_bad, refused = 0, None, []
    with common.open_log_and_view(Settings.load(), after) as (_, view):
        for each in cached_versions(view, key):
            keys.add(each.cache_key)
            records += 1
            place = {"cacheKey": each.cache_key, "version": each.number}
            if not each.holds and first_bad is None:
                first_bad = place
            if each.refusal is not None:
                refused.append({**place, "reason": each.refusal})
    if key is not None and not keys:
        raise NotFound(f"there is no answer under {key}")
    answer = {"keys": len(keys), "records": records, "firstBad": first_bad, "refused": refused}
    if as_json:
        common.show_json(answer)
    else:
        rendered = "none" if first_bad is None else _place_text(first_bad)
        common.show_members({"keys": len(keys), "records": records, "first bad": rendered})
        for row in refused:
            common.echo(f"{_place_text(row)} is refused: {row['reason']}")
    return first_bad is None


def _place_text(row: Mapping[str, Any]) -> str:
    return f"{row['cacheKey']}, version {row['version']}"
