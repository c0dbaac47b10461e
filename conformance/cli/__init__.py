"""The command line door: ``torntail run | doctor | clauses | init | replay``.

``main`` is what the installed command calls; it loads the rest only then. The commands turn words into ``Settings``,
call the runner, and print what the report package made of its events. Nothing here judges, draws or drives.
"""

from __future__ import annotations


def main() -> None:
    """Run the ``torntail`` command with ``sys.argv``; leaves through ``SystemExit`` with the documented exit code."""
    from conformance.drivers.children import end_at_exit, noting
    from conformance.drivers.leaving import fill_streams, interrupt_by, leave_in_time, running, tell_exits

    missing = fill_streams()
    before = running()
    tell_exits()
    end_at_exit()
    # Whoever cancels a job finds nothing left of it, as behind an interrupt.
    interrupt_by("SIGINT", "SIGTERM", "SIGHUP")
    from conformance.cli.app import torntail

    try:
        with noting():
            torntail(prog_name="torntail", obj=missing)
    except SystemExit as end:
        leave_in_time(end.code if isinstance(end.code, int) else 1 if end.code else 0, before)
        raise
