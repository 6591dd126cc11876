"""`headrace worker`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from streams.settings import Settings

OFF = "off"


@click.command("worker")
@click.option(
    "--static",
    is_flag=True,
    help="Join the group with a static id, kept in the state directory for this worker only.",
)
@click.option("--bootstrap", metavar="HOST:PORT", help="Overrides HEADRACE_BOOTSTRAP.")
@click.option(
    "--state-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Overrides HEADRACE_STATE_DIR.",
)
@click.option(
    "--metrics", metavar="HOST:PORT|off", help="Overrides HEADRACE_METRICS; off serves none."
)
def command(static: bool, metrics: str | None, **overrides: Any) -> None:
    """Run a stream worker with all processors, until Ctrl-C or SIGTERM.

    Start at most as many as there are partitions; each needs its own state directory.  --metrics
    serves metrics at /metrics and the worker's state at /readyz.

    \b
    Examples:
      headrace worker --state-dir .headrace/second
      HEADRACE_LOG_FORMAT=json headrace worker --metrics 127.0.0.1:9464
    """
    settings = Settings.load(
        **{name: value for name, value in overrides.items() if value is not None}
    )
    from streams.log.connecting import bootstrap_of
    from streams.telemetry import logs

    logs.configure(settings)
    metrics_address = settings.metrics if metrics is None else metrics
    metrics_address = None if metrics_address == OFF else metrics_address
    settings = replace(settings, bootstrap=bootstrap_of(settings), metrics=metrics_address)
    from streams.engine.worker import run_worker
    from streams.policy import policy_of
    from streams.protocols.commands import RULE_CODES, all_processors, bind_files
    from streams.settings import otlp_export
    from streams.settings.composed import environment_without
    from streams.settings.service import PREFIX

    bind_files(settings)
    run_worker(
        settings,
        all_processors,
        static=static,
        rule_codes=RULE_CODES,
        policy=policy_of(settings).id,
        traces_deliveries=otlp_export.is_on(environment_without(PREFIX)),
    )
