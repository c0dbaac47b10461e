"""What ``torntail run`` leaves on the terminal while it runs, and in the folder of ``--report``.

Both are sinks of report events. The folder holds ``results.jsonl``, written line by line so that a killed run keeps
what it had, ``summary.txt``, and ``failures/`` with one runnable program for each failure.
"""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import click

from conformance import __version__
from conformance.drivers.errors import UsageError
from conformance.drivers.journal import Journal
from conformance.report.cases import Case
from conformance.report.events import ItemFinished, ReportEvent, RunStarted, WarningRaised
from conformance.report.fingerprints import fingerprint
from conformance.report.lines import LinesWriter
from conformance.report.program_text import render_failure_program
from conformance.report.summary import Summary
from conformance.report.text import render_terminal
from conformance.runner import Plan

_COLOURS = {"passed": "green", "failed": "red", "error": "magenta", "skipped": "bright_black"}
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


class ReportFolder:
    """The folder of ``--report``; what an earlier run left in it under the same names is replaced.

    Raises:
        UsageError: the folder cannot be made or written.
    """

    def __init__(self, directory: Path, *, spec: str) -> None:
        self._directory = directory
        self._spec = spec
        failures = directory / "failures"
        try:
            directory.mkdir(parents=True, exist_ok=True)
            if failures.is_dir():
                shutil.rmtree(failures)
            self._lines = LinesWriter(directory / "results.jsonl")
        except OSError as error:
            raise UsageError(f"report={str(directory)!r} cannot be written: {error.strerror or error}") from error

    def write(self, event: ReportEvent) -> None:
        """Add one event to the stream."""
        self._lines(event)

    def finish(self, summary: Summary) -> None:
        """Write the summary and the programs of the failures."""
        self._lines.close()
        title = f"{header(summary.header)}\n\n" if summary.header else ""
        (self._directory / "summary.txt").write_text(title + render_terminal(summary, width=_WIDTH), "utf-8")
        for number, failure in enumerate(summary.failures, 1):
            if failure.program:
                place = self._directory / "failures" / f"{number:02}-{failure.clause}.py"
                place.parent.mkdir(exist_ok=True)
                place.write_text(render_failure_program(failure, backend_spec=self._spec), "utf-8")


def header(started: RunStarted) -> str:
    """What is run, on one line: kit, backend, profile and the seed that repeats the random choices."""
    name = started.spec if started.spec == started.backend else f"{started.backend} ({started.spec})"
    return f"torntail {started.kit_version}: {name}, profile {started.profile}, seed {started.seed}"


def keep_unfinished(plan: Plan) -> list[WarningRaised]:
    """What to say of runs that died in the middle of a program; each such program is saved as a case first.

    The dead run's seed is not known, so the case carries this run's. Its backend is known by name: where that is the
    name of this run's, the case gets the spec as well, by which it is found again.
    """
    settings = plan.settings
    warnings = []
    for left in Journal.unfinished(settings.state):
        case = Case(
            kit_version=__version__,
            backend=settings.backend if left.backend == plan.backend.name else left.backend,
            clause=_UNFINISHED,
            item=left.item,
            seed=settings.seed,
            program=tuple(left.program.to_json()),
            fingerprint=fingerprint(_UNFINISHED, left.program),
        )
        place = case.save(settings.state / "cases")
        text = (
            f"an earlier run died in {left.item} of {left.backend}, in the last of"
            f" {len(left.program.operations)} calls; to make them again: torntail replay {shlex.quote(str(place))}"
        )
        warnings.append(WarningRaised(text=text))
    return warnings
