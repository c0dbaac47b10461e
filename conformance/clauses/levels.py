"""Which kinds of crashes a durability level has to withstand: the part of the table that speaks of presets.

The presets themselves, and what each of them may leave, are in ``conformance.sim.disk.presets``. The stricter ones of
a level are not tried in every run: a default run tries ``posix`` only where that level is asked for by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from conformance.contract import Durability

_LEVELS: Mapping[Durability, tuple[str, ...]] = MappingProxyType(
    {
        "none": (),
        "process-kill": ("kill",),
        "power-loss": ("kill", "ext4", "xfs"),
        "power-loss-strict": ("kill", "ext4", "xfs", "posix"),
    }
)

GATING: tuple[str, ...] = _LEVELS["power-loss-strict"]
"""The presets that gate at some level, from the weakest adversary to the strongest."""


THOROUGH_ONLY = "it takes long, and is tried by the profile ci"
"""Why a check that is left to thorough runs is not made in another one; quicker ones stand for the same clauses."""


def presets_of(durability: Durability) -> tuple[str, ...]:
    """The presets that a durability level has to withstand. Raises ``KeyError`` for another word."""
    return _LEVELS[durability]


def beyond(preset: str, durability: Durability) -> str:
    """Why what only that preset shows fails nobody, as a phrase; "" where the level has to withstand it."""
    return "" if preset in presets_of(durability) else f'durability="{durability}" has not to withstand "{preset}"'


def preset_gap(preset: str, claimed: Durability, asked: Durability | None, *, thorough: bool) -> str:
    """Why crashes of that preset are not tried, as a phrase; "" where they are. One that was asked for always is.

    Args:
        claimed: the backend's own durability. asked: the level that the user wants tried instead, or None.
        thorough: the run tries every preset of the level, also where it was not asked for by name.
    """
    level = asked or claimed
    if preset not in presets_of(level):
        return f'durability="{level}" has not to withstand what only "{preset}" leaves'
    if asked is None and not thorough and preset not in presets_of("power-loss"):
        return f'"{preset}" is tried by the profile ci, or where --durability {level} asks for it'
    return ""
