"""What depends on what: the effects that a crash decides about, and which of them survive only with which others.

Promises: every rule of a preset is one of two kinds. *Needs*: this effect survives only with those. *Shows*: where the
size ends at this step, so many versions of that page may be there and no other number, though the size may pass the
step on its way to a later one. So `lose` goes from any wish to a legal state by losing more: where a page may not be as
it is, its next older version that may stand is taken, and where there is none, the step. The enumeration in `states`
gives the same states without walking the graph, and a test holds the two together.

Does not: look at names or contents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from conformance.sim.disk.chains import Effect, FileState
from conformance.sim.disk.effects import Names, Pending


@dataclass(frozen=True, slots=True)
class Shown:
    """One page below one size: its versions, oldest first, and how many of them may survive."""

    versions: tuple[Effect, ...]
    allowed: frozenset[int]


@dataclass(frozen=True, slots=True)
class Sized:
    """The sizes of one file.

    Attributes:
        steps: in order. shown: for each number of steps that survive, none first, the pages that this restricts; None
            where the size never stays there.
    """

    steps: tuple[Effect, ...]
    shown: tuple[tuple[Shown, ...] | None, ...]

    def settle(self, lost: set[Effect]) -> bool:
        """Lose what may not be there beside the latest step that survives; whether there was anything."""
        count = next((at for at in range(len(self.steps), 0, -1) if self.steps[at - 1] not in lost), 0)
        shown = self.shown[count]
        if shown is None:
            lost.add(self.steps[count - 1])
            return True
        changed = False
        for page in shown:
            kept = sum(each not in lost for each in page.versions)
            if kept not in page.allowed:
                older = max((each for each in page.allowed if each < kept), default=None)
                lost.update(page.versions[older:] if older is not None else (self.steps[count - 1],))
                changed = True
        return changed


@dataclass(frozen=True, slots=True)
class Graph:
    """The rules of one moment.

    Attributes:
        needs: effect -> the effects that it survives only with; in the order of the operations.
        sizes: the sizes of each file that restrict anything.
    """

    needs: Mapping[Effect, tuple[Effect, ...]]
    sizes: tuple[Sized, ...]

    def lose(self, wanted: Iterable[Effect]) -> frozenset[Effect]:
        """Everything that is lost where these are."""
        lost = set(wanted)
        settled = False
        while not settled:
            # In the order of the operations nothing needs what comes later: one pass finds all of them.
            for each, needs in self.needs.items():
                if needs and each not in lost and not lost.isdisjoint(needs):
                    lost.add(each)
            settled = True
            for sized in self.sizes:
                if sized.settle(lost):
                    settled = False
        return frozenset(lost).intersection(self.needs)

    def gain(self, wanted: Effect) -> frozenset[Effect]:
        """Everything that survives where this one does, and what must be there where a size ends at it."""
        found: set[Effect] = set()
        pending = [wanted]
        for sized in self.sizes:
            if wanted in sized.steps:
                for page in sized.shown[sized.steps.index(wanted) + 1] or ():
                    pending.extend(page.versions[: min(page.allowed)])
        while pending:
            each = pending.pop()
            if each not in found and each in self.needs:
                found.add(each)
                pending.extend(self.needs[each])
        return frozenset(found)

    def is_legal(self, lost: frozenset[Effect]) -> bool:
        """Whether exactly these may be lost."""
        return self.lose(lost) == lost


def graph_of(pending: Pending) -> Graph:
    """The graph of what is not durable now."""
    needs: dict[Effect, list[Effect]] = {}
    sizes: list[Sized] = []
    for file in pending.files.values():
        if file.is_pending:
            _add_file(file, needs)
            if pending.has_log:
                sizes.append(_sized(pending, file))
    restricting = tuple(each for each in sizes if any(shown != () for shown in each.shown))
    _add_log(pending, needs)
    return Graph({effect: tuple(needs[effect]) for effect in sorted(needs)}, restricting)


def _add_log(pending: Pending, needs: dict[Effect, list[Effect]]) -> None:
    latest: dict[tuple[int, str], Effect] = {}
    before: Effect | None = None
    for meta in pending.log:
        mine = needs.setdefault(meta.effect, [])
        if pending.has_log:
            mine.extend([before] if before is not None else [])
            before = meta.effect
        elif isinstance(meta, Names):
            earlier = [latest[key] for key in sorted(meta.keys) if key in latest]
            mine.extend(dict.fromkeys(earlier))
            latest.update(dict.fromkeys(meta.keys, meta.effect))
        flushed = pending.flushing.get(meta.effect)
        if flushed is not None:
            file = pending.files[flushed.ino]
            mine.extend((op, "page", page) for page, op in flushed.pages if _has_page(file, page, op))
            mine.extend(each.effect for each in file.sizes if each.place == flushed.size)


def _has_page(file: FileState, page: int, op: int) -> bool:
    return any(each.op == op for each in file.pages.get(page, ()))


def _add_file(file: FileState, needs: dict[Effect, list[Effect]]) -> None:
    for page, versions in file.pages.items():
        earlier: Effect | None = None
        for version in versions:
            effect = (version.op, "page", page)
            needs[effect] = [] if earlier is None else [earlier]
            earlier = effect
    before: Effect | None = None
    for step in file.sizes:
        mine = needs.setdefault(step.effect, [])
        mine.extend([before] if before is not None else [])
        before = step.effect


def _sized(pending: Pending, file: FileState) -> Sized:
    """What each size restricts, where there is a log: without one every chain is by itself."""
    cut = [page for page, versions in file.pages.items() if any(each.cut for each in versions)]
    shown: list[tuple[Shown, ...] | None] = []
    for steps in range(len(file.sizes) + 1):
        size = file.sizes[steps - 1].size if steps else file.base_size
        resting = file.resting(steps, pending.preset)
        if resting is None:
            shown.append(None)
            continue
        pages = []
        for page in sorted({*cut, *resting}):
            versions = file.pages[page]
            allowed = file.standing(page, size, file.through(steps), resting.get(page, -1))
            if len(allowed) <= len(versions):
                effects = tuple((each.op, "page", page) for each in versions)
                pages.append(Shown(effects, frozenset(allowed)))
        shown.append(tuple(pages))
    return Sized(tuple(each.effect for each in file.sizes), tuple(shown))
