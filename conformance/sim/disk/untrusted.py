"""The disk that lies: `posix` on hardware that keeps none of its promises, as far as samples go.

Promises: a state is a state of effects that no sync saved, where any of a page's sectors may be old and garbage may
stand where a lost page is below the size. Which syncs lied is drawn as one choice, all of them or none; what was lost
then says it effect by effect. Zeros choose that nothing was lost. The same seed gives the same states.

Does not: enumerate. What it gives is never all, and it says so.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace

from conformance.sim.choices import Choices, FixedChoices, SeededChoices
from conformance.sim.disk import ops
from conformance.sim.disk.chains import Effect
from conformance.sim.disk.content import Tear
from conformance.sim.disk.graph import Graph
from conformance.sim.disk.image import FileSystem
from conformance.sim.disk.presets import PAGE, SECTOR, Preset
from conformance.sim.disk.sampling import chosen_losses, lost_pages
from conformance.sim.disk.state import WHAT_A_CRASH_TAKES, Enumeration, State
from conformance.sim.disk.survival import Survival

SAMPLES = 256
"""States of one crash point at most, whatever the budget is."""


class Untrusted:
    """A disk whose syncs may have saved nothing."""

    def __init__(self, base: FileSystem, preset: Preset) -> None:
        self._lying = Survival(base, preset)
        self._honest = Survival(base, replace(preset, lies=False))

    def feed(self, op: ops.DiskOp) -> None:
        """See `Disk`."""
        self._lying.feed(op)
        self._honest.feed(op)

    @property
    def graph(self) -> Graph:
        """The rules of this moment, for a disk whose syncs all lied."""
        return self._lying.graph

    def count(self, most: int) -> tuple[int, bool]:
        """See `Survival`; sectors and garbage are not counted."""
        return self._lying.count(most)[0], False

    def states(self, budget: int, seed: int) -> Enumeration:
        """See `Disk`."""
        most = min(budget, SAMPLES)
        first = self.choose(FixedChoices())
        found: dict[Hashable, State] = {first.key: first}
        choices = SeededChoices(seed)
        for _ in range(2 * most):
            if len(found) >= most:
                break
            state = self.choose(choices)
            found.setdefault(state.key, state)
        return Enumeration(tuple(found.values()), max(self.count(budget)[0], len(found)), False)

    def choose(self, choices: Choices) -> State:
        """See `Disk`."""
        what = choices.draw(4, WHAT_A_CRASH_TAKES)
        graph = (self._lying if choices.flag("syncs lied") else self._honest).graph
        state = self.state(chosen_losses(graph, what, choices) if graph.needs else (), None)
        pages = lost_pages(state)
        if not pages:
            return state
        garbage = [(op, "garbage", page) for op, page in pages if choices.flag("garbage")]
        torn = choices.draw(len(pages) + 1, "torn page")
        # Neither none of the sectors nor all of them.
        which = (*pages[torn - 1], 1 + choices.draw((1 << PAGE // SECTOR) - 2, "sectors")) if torn else None
        return self.state((*state.lost, *garbage), which)

    def state(self, lost: Iterable[Effect], tear: Tear | None) -> State:
        """See `Disk`."""
        return self._lying.state(lost, tear)
