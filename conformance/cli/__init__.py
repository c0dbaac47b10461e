"""The command line door: ``torntail run | doctor | clauses | init | replay``.

``main`` is what the installed command calls; it loads the rest only then. The commands turn words into ``Settings``,
call the runner, and print what the report package made of its events. Nothing here judges, draws or drives.
"""

from __future__ import annotations


def main() -> None:
    """Run the ``torntail`` command with ``sys.argv``; leaves through ``SystemExit`` with the documented exit code."""
    from conformance.cli.app import torntail

    torntail(prog_name="torntail")
