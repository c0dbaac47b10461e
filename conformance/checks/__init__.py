"""Named scenarios: one readable function for each rule or corner, grouped by clause area.

They run before anything random does, so that each gating clause is witnessed on every run. A scenario drives the
backend through ``Script`` and asserts nothing; the model judges.
"""

from __future__ import annotations

from conformance.checks import (
    appending,
    busy_crashes,
    cancelling,
    closing,
    cost,
    crashes,
    damage,
    fault_ends,
    faults,
    headers,
    identity,
    live,
    live_ends,
    live_faults,
    live_many,
    long_logs,
    many,
    materialisation,
    overlapping,
    ownership,
    reading,
    replacing,
    revision,
    service,
    values,
    vocabulary,
)
from conformance.checks.registry import Scenario, scenario

_MODULES = (
    service,
    headers,
    ownership,
    appending,
    reading,
    revision,
    materialisation,
    closing,
    many,
    cost,
    values,
    identity,
    vocabulary,
    crashes,
    busy_crashes,
    damage,
    replacing,
    faults,
    fault_ends,
    overlapping,
    cancelling,
    long_logs,
    live,
    live_ends,
    live_faults,
    live_many,
)

SCENARIOS: tuple[Scenario, ...] = tuple(
    found for module in _MODULES for found in vars(module).values() if isinstance(found, Scenario)
)
"""Every scenario, by module and then in the order of its file."""

__all__ = ["SCENARIOS", "Scenario", "scenario"]
