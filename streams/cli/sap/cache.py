"""`headrace sap cache`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import click

from streams.cli import common, lists, text
from streams.cli.cells import Row
from streams.errors import InvalidInput, NotFound, UsageError
from streams.settings import Settings

_COLUMNS = ("version", "storedAt", "ageSec", "taskId", "recordSha256")
_KEYS = lists.columns(
    *("cacheKey", "version", "capability", "territory", "storedAt", "alignment", "producer"),
    "refused",
)
_CHAIN = ("", "version", "stored at", "producer", "alignment", "task", "hash", "before")
_APART = ("cacheKey", "version", "verified", "output")
"""Members of a version that stand apart from the others."""


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
@click.option("--capability", metavar="C", help="List the keys of this capability.")
@click.option("--territory", metavar="T", help="List those of this territory; '' for none.")
@click.option("--cursor", metavar="CURSOR", help="Cursor of the page of a list, from the previous.")
@click.option("--limit", type=click.IntRange(1, lists.MAX_LIMIT), help="Most rows of a list.")
@text.options
@common.read_options
@common.as_of_option
def command(
    key: str | None,
    version: int | None,
    versions: bool,
    key_of: Path | None,
    verify: bool,
    after: str | None,
    as_of: str | None,
    **filters: Any,
) -> None:
    """Show cached results by key, prove that none was changed, or compute a task's key.

    Without KEY, list the keys, each with its newest version.  Text shows all versions of KEY as a
    chain, each with a sign: whether its hash holds and it follows the version before it.  --verify
    exits with 1 when a record does not match its hash, or is missing.

    \b
    Examples:
      headrace sap cache --capability consult.align
      headrace sap cache 591a42479351258326c4e1b6dd4c01bb5314daebe28167c1c5ee45dbb49b303f --versions
      headrace sap cache --key-of task.json
      headrace sap cache --verify
    """
    modes = [version is not None, versions, key_of is not None, verify]
    if sum(modes) > 1:
        raise UsageError("give one of --version, --versions, --key-of and --verify")
    is_list = key is None and not any(modes)
    if not is_list and any(value is not None for value in filters.values()):
        raise UsageError("--capability, --territory, --limit and --cursor are of the list of keys")
    if key_of is not None:
        if key is not None:
            raise UsageError("--key-of computes the key; leave KEY out")
        _show_key(key_of)
        return
    if verify:
        if as_of is not None:
            raise UsageError("--verify checks what is there now; leave --as-of out")
        if not _verify_records(key, after):
            raise SystemExit(1)
        return
    if key is None:
        if not is_list:
            raise UsageError("--version and --versions are of one key; give a KEY")
        if as_of is not None:
            raise UsageError("--as-of shows one key as it was; give a KEY")
        table = _KEY_TABLE
        lists.show("/v1/sap/cache", "cached keys", _KEYS, text_table=table, after=after, **filters)
        return
    params = {name: value for name, value in (("after", after), ("as_of", as_of)) if value}
    _show_versions(key, version, versions, urlencode(params))


def _key_row(item: Mapping[str, Any], page: text.Page) -> Row:
    refused = item["refused"]
    return Row(
        [
            page.id(item["cacheKey"]),
            page.number(item["version"]),
            page.message(item["capability"]),
            page.plain(item["territory"]),
            page.plain(item["alignment"]),
            page.message(item["producer"]),
            page.time(item["storedAt"]),
        ],
        note=page.joined("refused:", page.plain(refused), style="red") if refused else None,
    )


_KEY_TABLE = lists.TextTable(
    ("key", "version", "capability", "territory", "alignment", "producer", "stored at"), _key_row
)


def _show_versions(key: str, version: int | None, versions: bool, query: str) -> None:
    """Print one version or all; without a choice, a pipe gets the newest and text the chain."""
    is_chain = version is None and (versions or text.form() is text.Form.TEXT)
    is_newest = version is None and not is_chain
    path = f"/v1/sap/cache/{quote(key, safe='')}{'' if is_newest else '/versions'}"
    answer = common.ask(path, query, Settings.load())
    if version is not None:
        render = partial(_render_version, answer["cacheKey"])
        text.show(_select_version(answer, version), render)
    elif is_chain:
        text.show(answer, _render_chain, _pipe_chain)
    else:
        common.show_json(answer)


def _render_chain(answer: Any, page: text.Page) -> None:
    records = answer["versions"]
    page.line(page.plain("key", "dim"), page.plain(answer["cacheKey"], "bold"))
    page.table(_CHAIN, [_link(record, page) for record in records])
    verified = sum(record["verified"] is True for record in records)
    total = text.plural(len(records), "version")
    page.line(page.check(verified == len(records)), f"{verified:,} of {total} hold")


def _link(record: Mapping[str, Any], page: text.Page) -> Row:
    if "refused" in record:
        place = [page.check(False), page.plain(record["version"])]
        reason = page.joined("refused:", page.plain(record["refused"]), style="red")
        return Row([*place, *[page.plain(None)] * (len(_CHAIN) - len(place))], note=reason)
    return Row(
        [
            page.check(record["verified"]),
            page.plain(record["version"]),
            page.time(record["storedAt"]),
            page.id(record["producer"]),
            page.plain(record["alignment"]),
            page.id(record["taskId"]),
            page.id(record["recordSha256"]),
            page.id(_before(record)),
        ]
    )


def _before(record: Mapping[str, Any]) -> str | None:
    """Return the hash of the version before; None of the first one."""
    sha256: str = record["previousSha256"]
    return sha256 if sha256.strip("0") else None


def _render_version(key: str, record: Mapping[str, Any], page: text.Page) -> None:
    title = page.joined("version", page.plain(record["version"]), "of", page.id(key))
    if "refused" in record:
        page.line(page.check(False), title, page.joined("refused:", page.plain(record["refused"])))
        return
    verified = record["verified"]
    page.line(page.check(verified), title, "holds" if verified else "does not hold")
    others = {name: value for name, value in record.items() if name not in _APART}
    lists.show_member_lines(page, others, indent=2)
    page.line(page.plain("output", "bold"))
    page.line(page.message(record["output"]), indent=2)


def _pipe_chain(answer: Any) -> None:
    common.show_table(_COLUMNS, [_version_row(record) for record in answer["versions"]])


def _version_row(record: Mapping[str, Any]) -> tuple[Any, ...]:
    if "refused" in record:
        return (record["version"], f"refused: {record['refused']}", "-", "-", "-")
    return tuple(record[name] for name in _COLUMNS)


def _select_version(answer: Any, version: int) -> Any:
    record = next((each for each in answer["versions"] if each["version"] == version), None)
    if record is None:
        raise NotFound(f"{answer['cacheKey']} has no version {version}")
    return record


def _show_key(path: Path) -> None:
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
    text.show(answer, lambda body, page: page.members(body), common.show_members)


def _verify_records(key: str | None, after: str | None) -> bool:
    """Check every version of KEY, or of all keys; print and return whether they hold."""
    checked = _check_all(after) if key is None else {key: _check_key(key, after)}
    places = [
        {"cacheKey": name, "version": check["firstBad"]}
        for name, check in checked.items()
        if check["firstBad"] is not None
    ]
    first_bad = places[0] if places else None
    refused = [
        {"cacheKey": name, **row} for name, check in checked.items() for row in check["refused"]
    ]
    records = sum(check["versions"] for check in checked.values())
    answer = {"keys": len(checked), "records": records, "firstBad": first_bad, "refused": refused}
    text.show(answer, _render_verified, _pipe_verified)
    return first_bad is None


def _check_all(after: str | None) -> dict[str, Any]:
    """Return the check of the versions of every key, by key."""
    rows = lists.every_item("/v1/sap/cache", verify=True, after=after)
    return {row["cacheKey"]: row["checked"] for row in rows}


def _check_key(key: str, after: str | None) -> Any:
    """Return the check of one key's versions.  Raises NotFound."""
    path = f"/v1/sap/cache/{quote(key, safe='')}/versions"
    answer = common.ask(path, common.query_of({"after": after}), Settings.load())
    versions = answer["versions"][::-1]
    return {
        "versions": len(versions),
        "firstBad": next((each["version"] for each in versions if not each["verified"]), None),
        "refused": [
            {"version": each["version"], "reason": each["refused"]}
            for each in versions
            if "refused" in each
        ],
    }


def _render_verified(answer: Any, page: text.Page) -> None:
    first_bad = answer["firstBad"]
    page.line(
        page.check(first_bad is None),
        f"{text.plural(answer['records'], 'record')} under {text.plural(answer['keys'], 'key')}"
        + (" hold" if first_bad is None else ""),
    )
    if first_bad is not None:
        page.line(page.joined("first bad:", *_place(first_bad, page), style="red"), indent=3)
    for row in answer["refused"]:
        reason = page.joined("refused:", page.plain(row["reason"]), style="red")
        page.line(page.joined(*_place(row, page)), reason, indent=3)


def _place(row: Mapping[str, Any], page: text.Page) -> list[Any]:
    return [page.id(row["cacheKey"]), "version", page.plain(row["version"])]


def _pipe_verified(answer: Any) -> None:
    first_bad = answer["firstBad"]
    rendered = "none" if first_bad is None else _place_text(first_bad)
    members = {name: answer[name] for name in ("keys", "records")}
    common.show_members({**members, "first bad": rendered})
    for row in answer["refused"]:
        common.echo(f"{_place_text(row)} is refused: {row['reason']}")


def _place_text(row: Mapping[str, Any]) -> str:
    return f"{row['cacheKey']}, version {row['version']}"
