"""The command line, from the commands that click knows."""

from collections.abc import Iterator
from inspect import cleandoc

import click

from engine.cli.root import COMMANDS, EXIT_CODES, load
from pages.markdown import code, one_line, opening, table

PROSE = """\
Data is on stdout, talk on stderr. On a terminal tables fit its width and instants are shown from
now; otherwise both are plain. What stands here is what a command's `--help` (`-h`) says."""


def page() -> str:
    parts = [opening("The command line", "the commands (`engine/cli/`)", PROSE)]
    parts += ["## Exit codes\n", table(("code", "meaning"), _exit_codes())]
    parts += ["## Commands\n", table(("command", "what it does"), _listing())]
    for name in COMMANDS:
        parts += _command((name,), load(name))
    return "\n".join(filter(None, parts))


def _exit_codes() -> Iterator[tuple[str, str]]:
    return ((code(number), meaning) for number, meaning in EXIT_CODES.items())


def _listing() -> Iterator[tuple[str, str]]:
    return ((code(f"offbeat {name}"), says) for name, (_, says) in COMMANDS.items())


def _command(path: tuple[str, ...], command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=path[-1])
    called = f"offbeat {' '.join(path)}"
    usage = " ".join((called, *command.collect_usage_pieces(context)))
    yield f"{'#' * (len(path) + 1)} {code(called)}\n"
    yield f"```\n{usage}\n```\n"
    yield f"{cleandoc(command.help or '')}\n"
    yield table(("option", "default", "meaning"), _options(command, context))
    yield f"```sh\n{_example(command)}\n```\n"
    if isinstance(command, click.Group):
        for name, verb in command.commands.items():
            yield from _command((*path, name), verb)


def _options(command: click.Command, context: click.Context) -> Iterator[tuple[str, str, str]]:
    for option in command.params:
        if isinstance(option, click.Option):
            [(names, _)] = [option.get_help_record(context) or ("", "")]
            yield code(names), _default(option), one_line(option.help or "")


def _default(option: click.Option) -> str:
    if option.required:
        return "required"
    return code(option.default) if option.show_default else ""


def _example(command: click.Command) -> str:
    """The lines of the epilog, without its heading and its indent."""
    lines = (command.epilog or "").splitlines()[2:]
    return "\n".join(line.strip() for line in lines)
