"""What ``torntail run`` leaves on the terminal while it runs: a sink of report events."""

from __future__ import annotations

import click

from conformance.report.events import ItemFinished, ReportEvent

_COLOURS = {"passed": "green", "failed": "red", "error": "magenta", "skipped": "bright_black", "not measured": "yellow"}
_WIDTH = 110
_UNFINISHED = "unfinished"


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
