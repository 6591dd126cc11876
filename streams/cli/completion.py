"""`headrace completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from streams.errors import UsageError

PROGRAM = "headrace"
VARIABLE = "_HEADRACE_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a script that completes commands, options, topics and kinds in a shell.

    \b
    Examples:
      eval "$(headrace completion bash)"      in ~/.bashrc (bash 4.4 or later)
      eval "$(headrace completion zsh)"       in ~/.zshrc
      headrace completion fish > ~/.config/fish/completions/headrace.fish
    """
    from streams.cli import main

    completion = get_completion_class(shell)
    if completion is None:
        raise UsageError(f"there is no completion for {shell}")
    click.echo(completion(main, {}, PROGRAM, VARIABLE).source())
