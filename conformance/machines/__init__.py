"""What runs many programs: rule machines with long random histories, and crash sweeps with every short one."""

from __future__ import annotations

from conformance.machines.crashing import CRASHING
from conformance.machines.job import Finding, Job, MachineSpec
from conformance.machines.sequential import SEQUENTIAL
from conformance.machines.sweep import Tier, sweeps

MACHINES: tuple[MachineSpec, ...] = (SEQUENTIAL, CRASHING)
"""Every machine, in the order in which they run."""

__all__ = ["MACHINES", "Finding", "Job", "MachineSpec", "Tier", "sweeps"]
