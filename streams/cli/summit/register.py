"""`headrace summit register`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from streams.cli import common, text
from streams.cli.summit.common import (
    SummitCommand,
    exit_if_rejected,
    open_routes,
    refusal_of,
    send_envelopes,
    show_verdicts,
    verdicts_of,
)
from streams.cli.summit.importing import imported
from streams.cli.summit.versions import bumped
from streams.errors import InvalidInput
from streams.settings import Settings

_CONFLICT = "manifest.version_conflict"
_CONFLICT_ADVICE = "the server changed under its version: give --bump, or another --version"
_TITLES = ("agentId", "version", "manifestHash", "verdict", "rule")


@click.command("register", cls=SummitCommand)
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--from-mcp", metavar="SERVER", help="Import this MCP server: URL or command line.")
@click.option("--name", metavar="AGENT", help="The agent's name.  [default: the server's]")
@click.option("--version", metavar="X.Y.Z", help="Its version.  [default: the server's, or 0.1.0]")
@click.option("--bump", is_flag=True, help="Take the next version where its own is taken.")
@click.option("--tools", metavar="A,B", help="Take these tools only, by their names in MCP.")
@click.option("--env", metavar="NAME", multiple=True, help="Pass this variable to the command.")
@click.option("--print", "only_print", is_flag=True, help="Print the manifest, register nothing.")
@text.options
@click.pass_context
def command(
    ctx: click.Context, /, files: tuple[Path, ...], from_mcp: str | None, **options: Any
) -> None:
    """Register agents by their manifests, YAML or JSON, and wait for the verdicts.

    All files are checked first; if one is invalid, none is sent.  Exits with 1 when one is
    rejected, 2 when one is invalid, 3 when a verdict does not arrive in time, 4 when the service
    or the MCP server is not reached.  An import also says what becomes of each tool.

    \b
    Examples:
      headrace summit register agent.yaml
      headrace summit register --from-mcp "npx -y @modelcontextprotocol/server-everything" --print
    """
    if bool(files) == (from_mcp is not None) or (from_mcp is None and any(options.values())):
        raise click.UsageError("Give files, or --from-mcp and its options.")
    if from_mcp is None:
        _register(ctx, [_manifest(path) for path in files])
        return
    if options["bump"] and options["version"] is not None:
        raise click.UsageError("Give --version or --bump, not both.")
    manifest = imported(ctx, from_mcp, options)
    if options["only_print"]:
        common.show_json(_print_form(manifest, options["bump"]))
        return
    _register(ctx, [manifest], bump=options["bump"], advice=_CONFLICT_ADVICE)


def _print_form(manifest: Any, bump: bool) -> Any:
    if not bump:
        return manifest
    with open_routes(Settings.load()) as routes:
        return bumped(manifest, routes)


def _register(
    ctx: click.Context, manifests: list[Any], *, bump: bool = False, advice: str | None = None
) -> None:
    """Send manifests and show the verdicts.

    bump: give each the version that `--bump` does.  advice: shown below a version conflict.
    """
    with open_routes(Settings.load()) as routes:
        if bump:
            manifests = [bumped(each, routes) for each in manifests]
        answer = send_envelopes(routes, "POST", "/v1/summit/manifests", manifests)
    verdicts = verdicts_of(ctx, answer)
    rows = [_row(*each) for each in zip(manifests, verdicts, strict=True)]
    show_verdicts(answer, _TITLES, rows, [*map(refusal_of, verdicts)])
    if advice is not None and any(each["rule"] == _CONFLICT for each in verdicts):
        common.echo(f"headrace: {advice}", err=True)
    exit_if_rejected(ctx, verdicts)


def _manifest(path: Path) -> Any:
    """Read and check a manifest.

    Raises InvalidInput; the paths of its problems begin with the file's name.
    """
    from schemas import ShapeError
    from schemas.summit import check_manifest, read_manifest

    try:
        value = read_manifest(path.read_bytes())
        problems = check_manifest(value)
    except ShapeError as exc:
        problems = [exc.problem]
    if problems:
        raise InvalidInput([p._replace(path=f"{path} {p.path}".strip()) for p in problems])
    return value


def _row(manifest: Any, fact: Any) -> tuple[str, ...]:
    from schemas.summit import manifest_form, manifest_hash

    metadata = manifest["metadata"]
    own_hash = manifest_hash(manifest_form(manifest))
    return (metadata["name"], metadata["version"], own_hash, fact["verdict"], fact["rule"])
