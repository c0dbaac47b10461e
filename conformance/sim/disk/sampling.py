"""Some of the states that a crash may leave: as a row of choices picks one, or near an ordered prefix.

Promises: whatever is given is legal, for every wish goes through the rules of the moment. Zeros choose that nothing was
lost. The same seed gives the same states.

Does not: enumerate; `survival` does.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import combinations, islice

from conformance.sim.choices import Choices, SeededChoices
from conformance.sim.disk.chains import Effect
from conformance.sim.disk.graph import Graph
from conformance.sim.disk.state import WHAT_A_CRASH_TAKES, Enumeration, State
from conformance.sim.disk.survival import Survival


def states_within(rules: Survival, budget: int, seed: int) -> Enumeration:
    """Every state where the budget allows; otherwise some of them, and it is said so."""
    every, legal = rules.every(budget)
    if every is not None:
        return Enumeration(tuple(every), legal, True)
    return Enumeration(tuple(deviating(rules, budget, seed)), legal, False)


def choose(rules: Survival, choices: Choices) -> State:
    """The state that the choices pick."""
    graph = rules.graph
    lost = chosen_losses(graph, choices.draw(4, WHAT_A_CRASH_TAKES), choices) if graph.needs else frozenset()
    state = rules.state(lost, None)
    if rules.preset.tears and lost:
        torn = [(op, page, sectors) for op, page in lost_pages(state) for sectors in (1, 4, 7)]
        chosen = choices.draw(len(torn) + 1, "torn page")
        if chosen:
            return rules.state(state.lost, torn[chosen - 1])
    return state


def chosen_losses(graph: Graph, what: int, choices: Choices) -> frozenset[Effect]:
    """Effects to lose: `what` is the answer to `WHAT_A_CRASH_TAKES`."""
    effects = list(graph.needs)
    lost: set[Effect] = set()
    match what:
        case 1:
            lost.update(effects)
        case 2:
            # An ordered prefix: everything from some operation on is gone.
            lost.update(effects[len(effects) - 1 - choices.draw(len(effects), "lost from the end") :])
        case 3:
            # A long history of which every second effect is lost is an empty disk.
            rarity = choices.pick((2, 8, 64), "how rarely something is lost")
            for each in effects:
                if not lost.isdisjoint(graph.needs[each]) or choices.draw(rarity, "lost") == 1:
                    lost.add(each)
    return frozenset(lost)


def lost_pages(state: State) -> list[tuple[int, int]]:
    """(operation, page) of the pages that a state loses first of their chains."""
    return [(op, page) for op, part, page in state.lost if part == "page"]


def deviating(rules: Survival, budget: int, seed: int) -> Iterator[State]:
    """States near an ordered prefix, then seeded ones; distinct, at most `budget`."""
    found: dict[Hashable, State] = {}
    sampled = budget // 4
    for lost in islice(_near_prefixes(rules.graph), 4 * budget):
        state = rules.state(lost, None)
        found.setdefault(state.key, state)
        if len(found) >= budget - sampled:
            break
    choices = SeededChoices(seed)
    for _ in range(4 * sampled):
        if len(found) >= budget:
            break
        state = choose(rules, choices)
        found.setdefault(state.key, state)
    return iter(found.values())


def _near_prefixes(graph: Graph) -> Iterator[frozenset[Effect]]:
    """What to lose: everything from some operation on, then the same with one effect the other way round, then two."""
    effects = list(graph.needs)
    indexes = sorted({each[0] for each in effects}, reverse=True)
    prefixes = [frozenset[Effect]()]
    prefixes += [frozenset(each for each in effects if each[0] >= index) for index in indexes]
    yield from prefixes
    for deviations in (1, 2):
        for prefix in prefixes:
            for chosen in combinations(effects, deviations):
                yield _deviate(graph, prefix, chosen)


def _deviate(graph: Graph, lost: frozenset[Effect], chosen: Iterable[Effect]) -> frozenset[Effect]:
    """The same with each of the chosen effects lost if it survived, and the other way round."""
    for each in chosen:
        lost = lost - graph.gain(each) if each in lost else lost | {each}
    return lost


__all__ = ["choose", "chosen_losses", "deviating", "lost_pages", "states_within"]
