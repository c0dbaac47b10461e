"""Hypothesis rule machines: long random histories, shrunk to short ones where they break a clause."""

from __future__ import annotations

from conformance.machines.job import Finding, Job, MachineSpec
from conformance.machines.sequential import SEQUENTIAL

MACHINES: tuple[MachineSpec, ...] = (SEQUENTIAL,)
"""Every machine, in the order in which they run."""

__all__ = ["MACHINES", "Finding", "Job", "MachineSpec"]
