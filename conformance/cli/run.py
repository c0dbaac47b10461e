"""``torntail run``: every selected check against one backend, and the report of it.

Options become ``Settings``, the runner does the rest; what comes back is shown as it happens on a terminal, folded into
the summary at the end and, with ``--report``, written down as files.
"""

from __future__ import annotations

import logging
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import click

from conformance.cli.output import Progress, check_told, say
from conformance.configuration import parse_budget, split_patterns
from conformance.contract import Durability
from conformance.drivers.errors import UsageError
from conformance.drivers.registry import known_backends
from conformance.report.events import ReportEvent, RunStarted
from conformance.report.folder import ReportFolder, header
from conformance.report.summary import Summary, summarise
from conformance.report.text import ansi, plain, render_terminal
from conformance.runner import PROFILES, Settings, make_plan, run
from conformance.unfinished import keep_unfinished

_MAX_WIDTH = 120


def _seconds(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """The budget as seconds; click calls it on what the command line or the project file says."""
    if value is None:
        return None
    try:
        return parse_budget(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from error


def _folder(directory: Path, backend: str, told: Path) -> ReportFolder:
    try:
        return ReportFolder(directory, spec=backend)
    except OSError as error:
        raise UsageError(f"report={str(told)!r} cannot be written: {error.strerror or error}") from error


def _tell(summary: Summary, colour: bool | None, report: Path | None) -> None:
    """Print the summary; where that fails, it is enough that it stands in a report."""
    in_colour = sys.stdout.isatty() if colour is None else colour
    width = min(shutil.get_terminal_size((100, 24)).columns, _MAX_WIDTH)
    try:
        say(render_terminal(summary, width=width, style=ansi if in_colour else plain), nl=False, color=in_colour)
    except UsageError as error:
        if report is None:
            raise
        click.echo(f"torntail: {error}; the results are in {report}", err=True)


@click.command("run", short_help="Check a backend and report, clause by clause.")
@click.argument("backend", required=False)
@click.option("--profile", type=click.Choice(list(PROFILES)), default="default", show_default=True, help="How much.")
@click.option(
    "--budget",
    metavar="TIME",
    callback=_seconds,
    help="Wall-clock time for the whole run: 90, 90s, 5m, 2h.  [default: profile's]",
)
@click.option("--seed", type=click.IntRange(min=0), help="Repeat the random choices of an earlier run.")
@click.option(
    "--clause", "clause", multiple=True, metavar="PATTERN", help="Only these: SEQ-02, SEQ, 'OWN-1*'; repeatable."
)
@click.option("--max-examples", type=click.IntRange(min=1), help="Random histories for each machine.")
@click.option("--durability", type=click.Choice(get_args(Durability)), help="Check this level, claimed or not.")
@click.option(
    "--preset",
    multiple=True,
    metavar="NAME",
    help="Sweep this kind of crash too, say btrfs; beyond the durability it is reported only. Repeatable.",
)
@click.option("--strict", is_flag=True, help="Should clauses fail the run too.")
@click.option("--require-measured", is_flag=True, help="A gating clause that cannot be measured here fails the run.")
@click.option(
    "--report", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Write the results here."
)
@click.option("--colour/--no-colour", default=None, help="Colours in the report.  [default: on a terminal]")
@click.pass_context
def command(
    ctx: click.Context,
    *,
    backend: str | None,
    profile: str,
    budget: float | None,
    seed: int | None,
    clause: tuple[str, ...],
    max_examples: int | None,
    durability: str | None,
    preset: tuple[str, ...],
    strict: bool,
    require_measured: bool,
    report: Path | None,
    colour: bool | None,
) -> None:
    """Check BACKEND: a registered name, module:attribute, or path/to/file.py:attribute.

    Every setting but --colour may also stand in [tool.torntail] of ./pyproject.toml, BACKEND as "backend".
    """
    if backend is None:
        raise UsageError(
            'no backend: torntail run BACKEND, or backend = "..." in [tool.torntail] of pyproject.toml. '
            f"Registered: {', '.join(known_backends())}"
        )
    if report is None:
        check_told(ctx)
    settings = Settings(
        backend=backend,
        profile=profile,
        budget=budget,
        seed=random.SystemRandom().randrange(2**32) if seed is None else seed,
        clauses=split_patterns(clause),
        max_examples=max_examples,
        durability=durability,
        presets=split_patterns(preset),
        strict=strict,
        require_measured=require_measured,
    )
    plan = make_plan(settings)
    events: list[ReportEvent] = []
    sinks: list[Callable[[ReportEvent], object]] = [events.append]
    if sys.stderr.isatty():
        sinks.append(Progress(total=len(plan.items)))
    folder = _folder(settings.home / report, backend, report) if report else None
    if folder:
        sinks.append(folder.write)
    # The seed is what a user needs to see the same run again, and it is worth having before a run is cut short.
    say(header(plan.started()))
    unfinished = keep_unfinished(plan)

    def sink(event: ReportEvent) -> None:
        for each in sinks:
            each(event)
        if isinstance(event, RunStarted):
            # The header comes first in every stream; what was left behind belongs to this run's report.
            for warning in unfinished:
                sink(warning)

    # A backend logs what is done to its storage here a thousand times over; who wants to read that adds a handler.
    logging.getLogger().addHandler(logging.NullHandler())
    code = run(plan, sink)
    summary = summarise(events)
    if folder:
        folder.finish(summary)
    _tell(summary, colour, report)
    ctx.exit(code)
