"""``torntail clauses``: the catalogue for people, as a table or one clause in full.

Everything shown is data of ``conformance.clauses`` and the names of the checks that witness a clause; with a backend
named, the table of applicability says how each clause stands for it. Nothing is run.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import click

from conformance.clauses import AREAS, CLAUSES, Clause, Ruling, in_process_route, ruling, select
from conformance.cli.output import say
from conformance.configuration import split_patterns
from conformance.drivers.registry import load_backend

_WIDTH = 100
_INDENT = 15


@click.command("clauses", short_help="Show what the contract asks for.")
@click.argument("patterns", nargs=-1)
@click.option("--backend", "spec", metavar="BACKEND", help="Say how each clause stands for this backend.")
def command(patterns: tuple[str, ...], spec: str | None) -> None:
    """Show the clauses that match PATTERNS: ids, areas, or ids with '*'. A single clause is shown in full."""
    wanted = split_patterns(patterns)
    found = select(wanted) if wanted else tuple(CLAUSES.values())
    ruled: Callable[[Clause], Ruling] | None = None
    if spec:
        backend, route = load_backend(spec), in_process_route()

        def ruled(clause: Clause) -> Ruling:
            return ruling(clause, backend, route)

    if len(found) == 1 and wanted:
        say(_entry(found[0], ruled, spec or "BACKEND"))
    else:
        say(_table(found, ruled))


def _table(clauses: tuple[Clause, ...], ruled: Callable[[Clause], Ruling] | None) -> str:
    """One clause after the other, area by area, each sentence wrapped behind its id and level."""
    lines: list[str] = []
    area = ""
    for clause in clauses:
        if clause.area != area:
            area = clause.area
            lines += ["", f"{area} · {AREAS[area]}"]
        head = f"  {clause.id:<9} {clause.level:<7} "
        standing = f"[{_told(ruled(clause))}] " if ruled else ""
        lines += textwrap.wrap(
            standing + clause.statement,
            _WIDTH,
            initial_indent=head,
            subsequent_indent=" " * len(head),
            break_on_hyphens=False,
        )
    count = f"{len(clauses)} clauses" if len(clauses) != 1 else "1 clause"
    return "\n".join([*lines[1:], "", f"{count}; torntail clauses ID shows one in full"])


def _entry(clause: Clause, ruled: Callable[[Clause], Ruling] | None, spec: str) -> str:
    """The whole entry of one clause, with the checks that witness it and the commands that run them."""
    lines = [f"{clause.id} · {clause.level} · {clause.area}, {AREAS[clause.area]}", ""]
    lines += [*textwrap.wrap(clause.statement, _WIDTH, initial_indent="  ", subsequent_indent="  "), ""]
    rows = [
        ("reading", clause.reading),
        ("claimed by", clause.claim or ""),
        ("asks for", ", ".join(clause.requires)),
        ("needs", "; ".join(f"{need}: {need.meaning}" for need in sorted(clause.needs))),
        ("narrower than", ", ".join(clause.narrower_than)),
        ("source", clause.source),
        ("since", clause.since),
        (f"for {spec}", _told(ruled(clause)) if ruled else ""),
    ]
    for label, text in rows:
        lines += _row(label, text)
    lines += _checks(clause)
    lines += ["", f"  torntail run {spec} --clause {clause.id}"]
    lines += [f"  pytest --backend={spec} --torntail-clause={clause.id}"]
    return "\n".join(lines)


def _row(label: str, text: str) -> list[str]:
    head = f"  {label:<{_INDENT}}"
    return textwrap.wrap(text, _WIDTH, initial_indent=head, subsequent_indent=" " * len(head)) if text else []


def _checks(clause: Clause) -> list[str]:
    """The scenarios and machines that name the clause, each with what it states."""
    # Imported here: they bring Hypothesis, and a table of clauses does not need it.
    from conformance.checks import SCENARIOS, Scenario
    from conformance.machines import MACHINES, MachineSpec

    checks: list[Scenario | MachineSpec] = [*SCENARIOS, *MACHINES]
    names = [f"{check.item_id}: {check.title}" for check in checks if clause.id in check.clauses]
    if not names:
        return _row("checks", "none yet")
    return [line for number, name in enumerate(names) for line in _row("" if number else "checks", name)]


def _told(found: Ruling) -> str:
    return f"{found.standing.value}: {found.reason}" if found.reason else str(found.standing.value)
