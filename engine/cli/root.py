"""The command `offbeat` itself: finds commands by name, and turns errors into exit codes.

An error is a line on stderr, one for each of its reasons, and never a traceback; data alone is on
stdout.
"""

import os
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module

import click

from engine import __version__
from engine.cli.output import sentences_of
from engine.core.errors import (
    ConfigError,
    Conflict,
    DataDirectoryLocked,
    Invalid,
    LimitReached,
    Malformed,
    NoServer,
    NotFound,
    OffbeatError,
    PreconditionFailed,
)

COMMANDS = {
    "run": ("run:command", "Start the engine (--demo: with a receiver and examples)."),
    "status": ("status:command", "Whether all is well: backlog, rate, verdict, next herd."),
    "apply": ("apply:command", "Put schedules from TOML, JSON or YAML files."),
    "diff": ("diff:command", "What apply would change; exit code 6 when something differs."),
    "export": ("export:command", "All schedules as a file for apply."),
    "import": ("imports:command", "Read other schedulers' files: crontab, kubernetes."),
    "schedules": ("schedules:command", "List, show, pause, resume, trigger and delete schedules."),
    "runs": ("runs:command", "List, cancel and replay runs, delete failed ones."),
    "next": ("next:command", "When a cron expression occurs and fires; needs no server."),
    "explain": ("explain:command", "When a schedule will fire, or did, and why then."),
    "forecast": ("forecast:command", "What will fire, how late, and whether that will do."),
    "what-if": ("what_if:command", "The same with other jitter, rate, burst or more schedules."),
    "attribution": ("attribution:command", "Where the runs' delay came from, by component."),
    "flows": ("flows:command", "List flows, and set their limits."),
    "tenant": ("tenants:command", "Make, list and delete tenants, with their quotas."),
    "key": ("keys:command", "Create, list and revoke API keys."),
    "secrets": ("secrets:command", "The tenant's signing secrets; rotate and retire them."),
    "notices": ("notices:command", "Who is told of failures: set, show, off."),
    "sink": ("sink:command", "A receiver that verifies signatures and can misbehave."),
    "sign": ("signing:sign", "The headers that a delivery of a body carries."),
    "verify": ("signing:verify", "Check a delivery's headers against its body."),
    "audit": ("audit:command", "Whether everything that was owed ran or was counted."),
    "backup": ("backup:command", "Copy the database, beside a running engine or not."),
    "check": ("check:command", "Check a data directory's database, or a backup."),
    "completion": ("completion:command", "A shell's completion of this command line."),
}

EXIT_CODES = {
    0: "done",
    1: "failed",
    2: "usage or invalid input",
    3: "no server",
    4: "not found",
    5: "conflict",
    6: "differences",
}
"""What they mean, for every command."""

_EXIT_CODE_OF: tuple[tuple[type[OffbeatError], int], ...] = (
    (Invalid, 2),
    (Malformed, 2),
    (ConfigError, 2),
    (NoServer, 3),
    (NotFound, 4),
    (Conflict, 5),
    (LimitReached, 5),
    (PreconditionFailed, 5),
    (DataDirectoryLocked, 5),
    (OffbeatError, 1),
)


def load(name: str) -> click.Command:
    """The command of this name, imported now."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    command: click.Command = getattr(import_module(f"engine.cli.{module}"), attribute)
    return command


def execute(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; nothing escapes as an exception."""
    try:
        # Not standalone: click's own handler prints usage blocks; here an error is one line.
        return _offbeat.main(list(arguments), "offbeat", standalone_mode=False, color=_color()) or 0
    except SystemExit:
        # So click ends a completion, and what nobody reads on: `| head` has had what it wanted. Of
        # an engine whose log nobody reads that is not so.
        return 1 if arguments[:1] == ["run"] else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "offbeat"
        return _say(f"{_usage(error)} (see {path} --help)", 2)
    except click.ClickException as error:
        return _say(_one_line(error.format_message()), 2)
    except OffbeatError as error:
        code = next(code for kind, code in _EXIT_CODE_OF if isinstance(error, kind))
        for sentence in sentences_of(error):
            _say(_one_line(sentence), code)
        return code
    except (KeyboardInterrupt, click.Abort):
        return 130  # 128 + SIGINT, as shells count.
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _say(_one_line(f"{place}{error.strerror or error}"), 1)
    except Exception as error:  # The last line of defence: a bug is one line, too.
        return _say(f"a bug in offbeat: {type(error).__name__}: {_one_line(str(error))}", 1)


class _Commands(click.Group):
    """Commands by name, each imported when it is used; the listing needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return load(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and (near := get_close_matches(args[0], COMMANDS, 1)):
            ctx.fail(f"no command {args[0]!r}: did you mean {near[0]}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, sentence) for name, (_, sentence) in COMMANDS.items()])


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="\b\nExample:\n  offbeat run --demo\n\nExit codes: "
    + ", ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items()),
)
@click.version_option(__version__, prog_name="offbeat", message="%(prog)s %(version)s")
def _offbeat() -> None:
    """Offbeat sends signed webhooks on time, spreads the herd, and says when everything fires."""


def _color() -> bool | None:
    """False: no styles, as somebody wants (no-color.org) or a terminal knows none; None: where
    there is a terminal."""
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None


def _usage(error: click.UsageError) -> str:
    """What click says; of --json, as many programs have it, what this one has."""
    said = error.format_message()
    if isinstance(error, click.NoSuchOption) and error.option_name == "--json" and error.ctx:
        own = {name for parameter in error.ctx.command.params for name in parameter.opts}
        said += " Did you mean '-o json'?" if "-o" in own else ""
    return _one_line(said)


def _say(sentence: str, code: int) -> int:
    click.echo(f"offbeat: {sentence}", err=True)
    return code


def _one_line(text: str) -> str:
    return " ".join(text.split())
