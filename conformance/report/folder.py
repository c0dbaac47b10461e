"""The folder of ``--report``, the same from both doors.

It holds ``results.jsonl``, written line by line so that a killed run keeps what it had, ``summary.txt``, and
``failures/`` with one runnable program for each failure.
"""

from __future__ import annotations

import re
from pathlib import Path

from conformance.report.events import ReportEvent, RunStarted
from conformance.report.lines import LinesWriter
from conformance.report.program_text import render_failure_program
from conformance.report.summary import Summary
from conformance.report.text import render_terminal

_WIDTH = 110

_OURS = re.compile(r"\d{2,}-[A-Z]+-\d{2}\.py")
"""What the kit has put among the failures; a directory of that name may hold other things."""


class ReportFolder:
    """The folder of ``--report``; what an earlier run left in it under the same names is replaced.

    Raises:
        OSError: the folder cannot be made or written.
    """

    def __init__(self, directory: Path, *, spec: str) -> None:
        self._directory = directory
        self._spec = spec
        directory.mkdir(parents=True, exist_ok=True)
        failures = directory / "failures"
        for each in failures.glob("*.py"):
            if _OURS.fullmatch(each.name):
                each.unlink()
        if failures.is_dir() and not any(failures.iterdir()):
            failures.rmdir()
        self._lines = LinesWriter(directory / "results.jsonl")

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
    also = f", also under {', '.join(started.presets)}" if started.presets else ""
    return f"torntail {started.kit_version}: {name}, profile {started.profile}{also}, seed {started.seed}"
