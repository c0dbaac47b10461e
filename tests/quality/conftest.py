"""Prints what the tests of this folder measured, once, in the process that the user started."""

from __future__ import annotations

import math
from statistics import median
from typing import Any, NamedTuple

DISCOVERY = "discovery"
"""The property of a test's report that holds a ``Discovered``."""


class Discovered(NamedTuple):
    """How a mutant was found: by which machine and how many seeds, the medians of what it took, and what was blamed."""

    mutant: str
    breaks: str
    machine: str
    found: int
    seeds: int
    examples: float
    seconds: float
    blamed: str

    @property
    def time(self) -> float:
        """Seconds; without end where some seed did not find it."""
        return self.seconds if self.found == self.seeds else math.inf

    def line(self) -> str:
        """A row of the table."""
        medians = f"{self.examples:8.0f} {self.seconds:8.2f}" if self.time < math.inf else f"{'-':>8} {'-':>8}"
        what = f"{self.mutant:52} {self.breaks:8} {self.machine:15}"
        return f"{what} {self.found:>4}/{self.seeds} {medians}  {self.blamed or '-'}"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One table: the mutants by how long it took to find them."""
    found = []
    for report in (*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")):
        properties: list[tuple[str, Any]] = getattr(report, "user_properties", [])
        found += [Discovered(*value) for name, value in properties if name == DISCOVERY]
    if not found:
        return
    terminalreporter.section("random histories: medians to the first failing one")
    terminalreporter.write_line(
        f"{'mutant':52} {'breaks':8} {'machine':15} {'found':>6} {'examples':>8} {'seconds':>8}  blamed"
    )
    for each in sorted(found, key=lambda each: (each.time, each.mutant)):
        terminalreporter.write_line(each.line())
    soon = sum(each.time <= 1 for each in found)
    middle = median(each.time for each in found)
    terminalreporter.write_line(f"{soon} of {len(found)} within one second; the median of all is {middle:.2f} s")
