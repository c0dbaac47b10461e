"""``torntail replay``: performs the program of a saved failure again and says whether it still fails.

The program goes through the same driver and the same model as in the run that found it. Nothing is drawn and nothing
is shrunk.
"""

from __future__ import annotations

from pathlib import Path

import click

from conformance.cli.output import check_told, say
from conformance.drivers.errors import UsageError
from conformance.drivers.execution import run_program
from conformance.drivers.registry import load_backend, partner_for
from conformance.drivers.watchdog import Watchdog
from conformance.drivers.workspace import Workspace
from conformance.model.history_forms import event_to_json
from conformance.report.cases import Case, CaseError, load_case
from conformance.report.events import FailureFound
from conformance.report.program_text import render_failure_program
from conformance.report.text import render_failure


@click.command("replay", short_help="Perform a saved failure again.")
@click.argument("case", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--backend", metavar="BACKEND", help="Perform it on this backend.  [default: the case's own]")
@click.option("--program", is_flag=True, help="Print the case as a Python program instead of performing it.")
@click.pass_context
def command(ctx: click.Context, case: Path, backend: str | None, program: bool) -> None:
    """Perform the saved failure CASE again: exit 1 where it still fails, 0 where it does not any more."""
    check_told(ctx)
    try:
        saved = load_case(case)
    except CaseError as error:
        raise UsageError(str(error)) from error
    spec = backend or saved.backend
    if program:
        say(render_failure_program(_failure_of(saved), backend_spec=spec), nl=False)
        return
    found = load_backend(spec)
    with Workspace() as workspace, Watchdog() as watchdog:
        root = workspace.fresh_root()
        result = run_program(found, saved.operations(), root, partner=partner_for(found), watchdog=watchdog)
    if result.violation is None:
        say(f"{saved.clause} holds now: {len(saved.program)} calls on {spec}, no violation")
        return
    violation = result.violation
    again = FailureFound(
        item=saved.item,
        clause=violation.clause,
        expected=violation.expected,
        observed=violation.observed,
        note=violation.note,
        program=saved.program,
        history=tuple(event_to_json(event) for event in result.told_history()),
        call=violation.call,
        client=violation.client,
        step=violation.step,
        reference_answer=result.reference_answer,
        fingerprint=saved.fingerprint,
        case=str(case),
        reproduce=f"torntail replay {case}" + (f" --backend {backend}" if backend else ""),
    )
    if violation.clause != saved.clause:
        say(f"saved as a failure of {saved.clause}; it breaks {violation.clause} now\n")
    say(render_failure(again))
    ctx.exit(1)


def _failure_of(saved: Case) -> FailureFound:
    return FailureFound(
        item=saved.item,
        clause=saved.clause,
        expected=saved.expected,
        observed=saved.observed,
        note=saved.note,
        program=saved.program,
        history=saved.history,
        call=saved.call,
        client=saved.client,
        step=saved.step,
    )
