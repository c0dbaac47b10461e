"""What a crash may leave: every legal state of a disk, counted, enumerated within a budget, or chosen.

Promises: `Disk` is fed the operations of a trace and can at any moment tell how many states a crash may leave there,
give them all where the budget allows, or one that a row of choices picks, where the choice 0 everywhere means that
nothing was lost. Where the budget does not allow it, it gives the states that deviate in at most two effects from an
ordered prefix, as far as the budget goes, then seeded ones, and says so; of a disk that lies it gives samples only. The
same arguments give the same list, in every process.

Does not: know what the files mean, or what was promised of them. It knows neither Hypothesis nor any backend.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from conformance.sim.choices import Choices
from conformance.sim.disk import ops
from conformance.sim.disk.chains import Effect
from conformance.sim.disk.content import Tear
from conformance.sim.disk.graph import Graph
from conformance.sim.disk.image import FileSystem
from conformance.sim.disk.ordered import Ordered
from conformance.sim.disk.presets import PRESETS
from conformance.sim.disk.sampling import choose, states_within
from conformance.sim.disk.state import WHAT_A_CRASH_TAKES, Enumeration, State, key_of
from conformance.sim.disk.survival import Survival
from conformance.sim.disk.untrusted import Untrusted

BUDGET = 4096
"""States for each crash point that are enumerated before it comes to sampling."""

Rules: TypeAlias = Survival | Ordered | Untrusted


class Disk:
    """A disk under one preset, told what is done to it.

    Args:
        base: what was there before, all of it durable.
        preset: a name of `PRESETS`.

    Raises:
        KeyError: an unknown preset.
    """

    def __init__(self, base: FileSystem, preset: str) -> None:
        self._rules = _rules(base, preset)
        self._latest: tuple[int, int, Enumeration] | None = None

    def feed(self, op: ops.DiskOp) -> None:
        """The next operation, or marker, of the trace."""
        self._rules.feed(op)
        if not isinstance(op, ops.Marker):
            self._latest = None

    def count(self) -> int:
        """In how many ways effects may survive here; at least as many as there are distinct states."""
        return self._rules.count(BUDGET)[0]

    def states(self, budget: int = BUDGET, seed: int = 0) -> Enumeration:
        """The states of this moment."""
        if self._latest is None or self._latest[:2] != (budget, seed):
            rules = self._rules
            found = states_within(rules, budget, seed) if isinstance(rules, Survival) else rules.states(budget, seed)
            self._latest = budget, seed, found
        return self._latest[2]

    def choose(self, choices: Choices) -> State:
        """The state that the choices pick; 0 everywhere is the one where nothing was lost."""
        rules = self._rules
        return choose(rules, choices) if isinstance(rules, Survival) else rules.choose(choices)

    def graph(self) -> Graph:
        """The rules of this moment, effect by effect; empty in presets that have no effects."""
        return self._rules.graph

    def state(self, lost: Iterable[Effect] = (), tear: Tear | None = None) -> State:
        """The state where these effects are lost, and what survives only with them."""
        return self._rules.state(lost, tear)


def _rules(base: FileSystem, name: str) -> Rules:
    preset = PRESETS[name]
    if preset.lies:
        return Untrusted(base, preset)
    if preset.names in ("log", "chains"):
        return Survival(base, preset)
    return Ordered(base, whole=preset.names == "all")


__all__ = ["BUDGET", "WHAT_A_CRASH_TAKES", "Disk", "Effect", "Enumeration", "State", "Tear", "key_of"]
