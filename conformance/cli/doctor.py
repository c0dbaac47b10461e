"""``torntail doctor``: what this machine offers, and whether a backend loads, starts and makes one round trip.

It looks and does not judge, save for the one round trip: open, create, append, flush, close, and read back by a fresh
instance, in a scratch root that is removed again.
"""

from __future__ import annotations

import importlib.util
import platform
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import get_args

import click
from hypothesis import find, settings

from conformance import __version__
from conformance.clauses import Standing, in_process_route, rulings
from conformance.cli.output import check_told, say
from conformance.contract import SEAMS, Backend, Capabilities, Durability, SessionHeader
from conformance.drivers.calibration import recording_gap
from conformance.drivers.execution import run_program
from conformance.drivers.factory import takes_env
from conformance.drivers.outside import Comparison, compare
from conformance.drivers.registry import known_backends, load_backend
from conformance.drivers.watchdog import Watchdog
from conformance.drivers.workspace import Workspace, scratch_parent
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    Create,
    Flush,
    OpenInstance,
    OpenSession,
    Program,
    Read,
)

_LABEL = 16
_WIDTH = 110
_SESSION = "torntail-doctor"


@click.command("doctor", short_help="Show what this machine and a backend offer.")
@click.argument("backend", required=False)
@click.option("--durability", type=click.Choice(get_args(Durability)), help="Rule as if this level were claimed.")
@click.pass_context
def command(ctx: click.Context, backend: str | None, durability: Durability | None) -> None:
    """Show what this machine offers and, with BACKEND, how the backend loads, what it claims, and that it starts."""
    check_told(ctx)
    for line in _machine():
        say(line)
    if backend is None:
        say("\nBackends registered here")
        for name, dotted in known_backends().items():
            say(_row(name, dotted))
        return
    here = Path.cwd()
    found = load_backend(backend)
    for line in _backend(backend, found, durability):
        say(line)
    gap = _recording_gap(found)
    say(_row("crashes", gap or _recorded(found)))
    if not gap:
        say(_row("barriers", _barriers(compare(backend, here, here))))
    violation = _round_trip(found)
    say(_row("round trip", violation or "open, create, append, flush, close, open again, read: ok"))
    if violation:
        ctx.exit(1)


def _row(label: str, text: str) -> str:
    head = f"  {label:<{_LABEL}} "
    rest = " " * (len(head) + len(text) - len(text.lstrip()))
    # A path that is broken in two cannot be copied.
    wrapper = textwrap.TextWrapper(_WIDTH, head, rest, break_long_words=False, break_on_hyphens=False)
    return "\n".join(wrapper.wrap(text)) or head


def _machine() -> Iterator[str]:
    """The facts that decide what can be measured here."""
    yield "This machine"
    yield _row("torntail", __version__)
    yield _row("python", f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}")
    yield _row("hypothesis", version("hypothesis"))
    yield _row("pytest", version("pytest"))
    yield _row("platform", platform.platform())
    scratch = scratch_parent()
    yield _row("scratch roots", f"{scratch} ({_file_system(scratch)})")
    yield _row("kernel locks", "flock" if importlib.util.find_spec("fcntl") else "no flock on this system")
    yield _row("strace", shutil.which("strace") or "not found")
    if not sys.platform.startswith("linux"):
        yield _row("not here", "crash recording, strace and kernel locks are for Linux; clauses that need them are")
        yield _row("", "not measured on this system, and reports say so")


def _file_system(path: Path) -> str:
    """The type of the file system that holds ``path``, where the system tells it."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return "the type of its file system is not told here"
    best, kind = Path(), "unknown file system"
    for line in mounts.read_text("utf-8", "replace").splitlines():
        _, place, found, *_ = line.split(" ")
        point = Path(place.replace("\\040", " "))
        # A later mount on the same place hides the earlier one.
        if path.is_relative_to(point) and len(point.parts) >= len(best.parts):
            best, kind = point, found
    return kind


def _backend(spec: str, backend: Backend, durability: Durability | None) -> Iterator[str]:
    """How the backend was found, what it claims and gives, and what that means for the clauses."""
    yield f"\nBackend {backend.name}"
    yield _row("found as", known_backends().get(spec, spec))
    yield _row("methods", "plain functions, run in threads" if backend.sync else "coroutines")
    defaults = Capabilities()
    for field in fields(Capabilities):
        value = getattr(backend.capabilities, field.name)
        mark = "" if value == getattr(defaults, field.name) else "   (not the default)"
        yield _row("claims" if field.name == "durability" else "", f"{field.name} = {value!r}{mark}")
    given = [seam for seam in SEAMS if backend.gives(seam)]
    yield _row("seams given", ", ".join(given) or "none")
    yield _row("not given", ", ".join(seam for seam in SEAMS if seam not in given) or "none")
    ruled = rulings(backend, in_process_route(), durability=durability).values()
    counts = Counter(each.standing for each in ruled)
    yield _row(
        "clauses", ", ".join(f"{counts[standing]} {standing.value}" for standing in Standing if counts[standing])
    )
    reasons = Counter((each.standing, each.reason) for each in ruled if each.reason)
    for (standing, reason), count in sorted(reasons.items(), key=lambda item: (item[0][0].value, -item[1], item[0][1])):
        if standing is not Standing.NOT_BUILT:
            yield _row("", f"{count} {standing.value}: {reason}")


def _recording_gap(backend: Backend) -> str:
    """Why no crash of the backend can be made here; "" where they can."""
    if backend.capabilities.storage != "files":
        return f'none: storage="{backend.capabilities.storage}" keeps no files that a crash could leave'
    gap = recording_gap(backend)
    return f"not measured: {gap}" if gap else ""


def _recorded(backend: Backend) -> str:
    """How crashes of the backend are made."""
    once = "equal states are opened once" if takes_env(backend) else "each state is opened: the factory takes no env"
    return f"what it does to its files can be recorded; {once}"


def _barriers(found: Comparison) -> str:
    """Whether a recorder outside the process sees the same of the backend."""
    if found.gap:
        return f"seen in process only: {found.gap}"
    if found.difference:
        return f"crashes are not measured: {found.reason}"
    return f"strace saw the same {found.operations} disk operations, {found.syncs} of them syncs"


def _round_trip(backend: Backend) -> str:
    """One session's life on a scratch root; "" where it went well, else what the model said.

    Raises:
        SetupError: the backend could not start.
    """
    kind, data = "turn/start", {"turn": 1}
    if backend.events is not None:
        # A backend with a vocabulary of its own may know no other type; the simplest event it names will do.
        kind, data = find(backend.events, lambda _: True, settings=settings(database=None))
    event = {"type": kind, "seq": 0, "time": 0, "data": data}
    survives = backend.capabilities.storage != "memory"
    operations = [
        OpenInstance(0),
        Create(0, 0, SessionHeader(id=_SESSION, created_at=0)),
        Append(0, [event]),
        Flush(0),
        Close(0),
        *([CloseInstance(0), OpenInstance(1)] if survives else []),
        OpenSession(1 if survives else 0, 1, _SESSION, "read"),
        Read(1),
        Close(1),
        CloseInstance(1 if survives else 0),
    ]
    with Workspace() as workspace, Watchdog() as watchdog:
        result = run_program(backend, Program(tuple(operations)), workspace.fresh_root(), watchdog=watchdog)
    if result.violation is None:
        return ""
    found = result.violation
    return f"breaks {found.clause}: expected {found.expected}; observed {found.observed}"
