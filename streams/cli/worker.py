"""`headrace worker`."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from streams.cli import common
from streams.settings import Settings


@click.command("worker")
@click.option(
    "--static",
    is_flag=True,
    help="Join under an id kept in the state directory, which only this worker may use.",
)
@click.option("--bootstrap", metavar="HOST:PORT", help="Instead of HEADRACE_BOOTSTRAP.")
@click.option(
    "--state-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Instead of HEADRACE_STATE_DIR.",
)
def command(static: bool, **given: Any) -> None:
    """Run a stream worker with all processors, until Ctrl-C or SIGTERM.

    Start as many as there are partitions; each needs a state directory of its own.

    \b
    Example:
      headrace worker --state-dir .headrace/second
    """
    settings = Settings.load(**{name: value for name, value in given.items() if value is not None})
    logging.basicConfig(level="WARNING", format="%(asctime)s %(levelname)s %(message)s")
    settings = replace(settings, bootstrap=common.bootstrap_of(settings))
    from streams.engine.worker import run_worker
    from streams.processors import all_processors, bind_files

    bind_files(settings)
    run_worker(settings, all_processors, static=static)
