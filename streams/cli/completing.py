"""Shell completions for names of topics, kinds and settings."""

from __future__ import annotations

import click


def topic(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from topology.topics import BY_NAME

    return [name for name in ("rtes", *BY_NAME) if name.startswith(incomplete)]


def sent_topic(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from streams.ingress.edges import EDGES

    return [name for name in EDGES if name.startswith(incomplete)]


def kind(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from streams.ingress.kinds import KINDS

    return [name for name in KINDS if name.startswith(incomplete)]


def setting(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from streams.settings import BY_ENV, PREFIX, SECRET_FILES

    variables = [*BY_ENV, *SECRET_FILES]
    names = [*variables, *(name.removeprefix(PREFIX) for name in variables)]
    return [f"{name}=" for name in dict.fromkeys(names) if name.startswith(incomplete)]
