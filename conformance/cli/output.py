"""What the commands leave on the standard streams: results, and what ``torntail run`` shows while it runs.

Results that nobody can be told are no results: where the standard output is closed or cannot be written, that is told
on the standard error stream, and no command ends as if it had said them.
"""

from __future__ import annotations

import os

import click

from conformance.drivers.errors import UsageError
from conformance.report.events import ItemFinished, ReportEvent

_COLOURS = {"passed": "green", "failed": "red", "error": "magenta", "skipped": "bright_black", "not measured": "yellow"}
_WIDTH = 110
_UNFINISHED = "unfinished"


def check_told(ctx: click.Context) -> None:
    """See to it that there is a standard output, before anything is done whose result is only told there.

    Raises:
        UsageError: the command was started without one.
    """
    if "stdout" in (ctx.find_object(frozenset) or ()):
        raise UsageError("the standard output is closed, so that no result could be told")


def say(text: str, *, nl: bool = True, color: bool | None = None) -> None:
    """Write to the standard output.

    Raises:
        UsageError: it cannot be written. BrokenPipeError: nobody reads it any more.
    """
    try:
        click.echo(text, nl=nl, color=color)
    except BrokenPipeError:
        raise
    except OSError as error:
        abandon_output()
        raise UsageError(f"the standard output cannot be written: {error.strerror or error}") from error


def abandon_output() -> None:
    """Lead the standard output to nowhere, or Python would try to write the rest at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


class Progress:
    """One line on the standard error stream for each item that ended; for a terminal, not for a log.

    Args:
        total: how many items there are.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0

    def __call__(self, event: ReportEvent) -> None:
        """Show the end of an item; other events are not shown."""
        if not isinstance(event, ItemFinished):
            return
        self._done += 1
        count = f"[{self._done:>{len(str(self._total))}}/{self._total}]"
        word = click.style(f"{event.outcome:<7}", fg=_COLOURS[event.outcome])
        seconds = f"  {event.seconds:.1f} s" if event.seconds >= 0.1 else ""
        click.echo(f"{count} {word} {event.item}{seconds}", err=True)
