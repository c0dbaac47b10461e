"""The ``torntail`` command itself: finds the subcommand, reads the project's settings, turns errors into exit codes.

Exit codes: 0 conforms, 1 a violation, 2 usage or a backend that could not start, 3 gating clauses not exercised,
4 an error of the kit, 130 interrupted. A subcommand's module is loaded when it is asked for, so that
``torntail clauses SEQ`` does not pay for Hypothesis.
"""

from __future__ import annotations

import importlib
import traceback
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from conformance import __version__
from conformance.clauses import UnknownClauseError
from conformance.cli.output import abandon_output
from conformance.configuration import read_configuration
from conformance.drivers.errors import KitError, UsageError

EXIT_KIT = 4
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
"""As a shell says it of a program that the signal ended."""

_COMMANDS = {
    "run": "conformance.cli.run",
    "doctor": "conformance.cli.doctor",
    "clauses": "conformance.cli.explain",
    "replay": "conformance.cli.replay",
    "init": "conformance.cli.scaffold",
}


class PlainError(click.ClickException):
    """A usage or set-up error: its message alone, without click's usage line, and exit code 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print the message to the standard error stream."""
        click.echo(f"torntail: {self.format_message()}", err=True, file=file)


class CommandGroup(click.Group):
    """A group that loads its subcommands by need and knows what each kind of error exits with."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The subcommands, in the order in which a newcomer meets them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand of that name, loaded now; None where there is none."""
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(_COMMANDS[cmd_name]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, with near misses in the message."""
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            near = get_close_matches(args[0], _COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else f" There are: {', '.join(_COMMANDS)}."
            raise click.UsageError(f"No such command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand; what it raises leaves as one of the documented exit codes."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("torntail: interrupted", err=True)
            ctx.exit(EXIT_INTERRUPTED)
        except (UsageError, UnknownClauseError) as error:
            raise PlainError(str(error)) from error
        except BrokenPipeError:
            # Whoever read the output went away: that is no verdict, and there is nobody to tell it to.
            abandon_output()
            ctx.exit(EXIT_BROKEN_PIPE)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KitError as error:
            click.echo(f"torntail: an error of the kit, not of the backend: {error}", err=True)
            ctx.exit(EXIT_KIT)
        except (Exception, SystemExit):  # noqa: BLE001 - whatever is left is the kit's own, and Python's exit code 1 would read as a violation
            click.echo(f"torntail: an error of the kit, not of the backend\n{traceback.format_exc()}", err=True)
            ctx.exit(EXIT_KIT)


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 conforms, 1 a violation, 2 usage or set-up, 3 gating clauses not exercised, "
    "4 an error of the kit, 130 interrupted.",
)
@click.version_option(__version__, prog_name="torntail")
@click.pass_context
def torntail(ctx: click.Context) -> None:
    """Check a session-log backend against the contract, clause by clause."""
    try:
        here = Path.cwd()
    except FileNotFoundError as error:
        raise UsageError("the working directory was removed; run this in one that is there") from error
    settings = read_configuration(here)
    few = {key: value for key, value in settings.items() if key in ("backend", "durability")}
    ctx.default_map = {"run": settings, "doctor": few}
