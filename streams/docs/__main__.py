"""`python -m streams.docs [--check]`."""

from __future__ import annotations

import sys

import click

from streams.docs import dashboard, drift, guides, policy_files, write


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when a page differs.")
def main(check: bool) -> None:
    """Write docs/reference, the guides' tables, the dashboard and the files about policies."""
    if not check:
        write()
        guides.write()
        dashboard.write()
        policy_files.write()
    elif stale := drift() + guides.drift() + dashboard.drift() + policy_files.drift():
        click.echo(f"stale: {', '.join(stale)}; run `python -m streams.docs`", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
