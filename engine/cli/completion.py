"""`offbeat completion`: the script by which a shell completes this command line (click's own)."""

import click
from click.shell_completion import get_completion_class

from engine.cli.options import example

_VARIABLE = "_OFFBEAT_COMPLETE"
"""What click looks for in the environment of a program named offbeat."""


@click.command(
    "completion",
    epilog=example(
        'eval "$(offbeat completion bash)"',
        "offbeat completion fish > ~/.config/fish/completions/offbeat.fish",
    ),
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, *, shell: str) -> None:
    """Print the completion for SHELL, to be run by its start-up file.

    It knows commands, options and choices, and asks the engine for the names of schedules.
    """
    complete = get_completion_class(shell)
    assert complete is not None, "click has all three"
    click.echo(complete(context.find_root().command, {}, "offbeat", _VARIABLE).source())
