"""What runs many programs: rule machines with long random histories, and sweeps of crashes and faults."""

from __future__ import annotations

from conformance.machines.crashing import CRASHING
from conformance.machines.damaging import damage_sweeps
from conformance.machines.failing import FAILING
from conformance.machines.faulting import fault_sweeps
from conformance.machines.harming import HARMING
from conformance.machines.job import Finding, Job, MachineSpec
from conformance.machines.overlapping import OVERLAPPING, OVERLAPPING_CRASHES, OVERLAPPING_FAULTS
from conformance.machines.publishing import PUBLISHING, PUBLISHING_FAULTS, PUBLISHING_OVERLAPS
from conformance.machines.sequential import SEQUENTIAL
from conformance.machines.sweep import Tier, sweeps

MACHINES: tuple[MachineSpec, ...] = (
    SEQUENTIAL,
    OVERLAPPING,
    PUBLISHING,
    PUBLISHING_OVERLAPS,
    OVERLAPPING_FAULTS,
    OVERLAPPING_CRASHES,
    PUBLISHING_FAULTS,
    HARMING,
    CRASHING,
    FAILING,
)
"""Every machine, in the order in which they run."""

__all__ = ["MACHINES", "Finding", "Job", "MachineSpec", "Tier", "damage_sweeps", "fault_sweeps", "sweeps"]
