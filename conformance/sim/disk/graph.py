"""What depends on what: the effects that a crash decides about, and which of them survive only with which others.

Promises: every rule of a preset is one of two kinds of edges. *Needs*: this effect survives only with that one. *Rests
on*: a size stays at this step only where that page survives, though it may pass the step on its way to a later one. So
`lose` and `gain` go from any wish to a legal state by losing what depends on what is lost. The enumeration in `states`
gives the same states without walking the graph, and a test holds the two together.

Does not: look at names or contents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from conformance.sim.disk.effects import Effect, FileState, Meta, Names, PageVersion, Pending, SizeStep

NEVER: Effect = (-1, "never", 0)
"""An effect that does not survive, whatever else does: a size does not rest on it in any state."""


@dataclass(frozen=True, slots=True)
class Graph:
    """The rules of one moment.

    Attributes:
        needs: effect -> the effects that it survives only with; in the order of the operations.
        rests: a step of a size -> the page without which the size does not stay there.
        sizes: the steps of each file's size, in order.
    """

    needs: Mapping[Effect, tuple[Effect, ...]]
    rests: Mapping[Effect, Effect]
    sizes: tuple[tuple[Effect, ...], ...]

    def lose(self, wanted: Iterable[Effect]) -> frozenset[Effect]:
        """Everything that is lost where these are."""
        lost = set(wanted)
        settled = False
        while not settled:
            # In the order of the operations nothing needs what comes later: one pass finds all of them.
            for each, needs in self.needs.items():
                if needs and not lost.isdisjoint(needs):
                    lost.add(each)
            settled = True
            for steps in self.sizes:
                last = next((each for each in reversed(steps) if each not in lost), None)
                page = None if last is None else self.rests.get(last)
                if last is not None and page is not None and (page is NEVER or page in lost):
                    lost.add(last)
                    settled = False
        return frozenset(lost).intersection(self.needs)

    def gain(self, wanted: Effect) -> frozenset[Effect]:
        """Everything that survives where this one does, and what it rests on."""
        found: set[Effect] = set()
        pending = [wanted, self.rests.get(wanted, wanted)]
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
    rests: dict[Effect, Effect] = {}
    for file in pending.files.values():
        if file.is_pending:
            _add_file(pending, file, needs, rests)
    _add_log(pending, needs)
    sizes = tuple(tuple(map(size_effect, file.sizes)) for file in pending.files.values() if file.sizes)
    return Graph({effect: tuple(needs[effect]) for effect in sorted(needs)}, rests, sizes)


def effect_of(meta: Meta) -> Effect:
    """The effect that an entry of the log is."""
    return meta.op, "entry" if isinstance(meta, Names) else "size", 0


def size_effect(step: SizeStep) -> Effect:
    """The effect that a step of a size is."""
    return step.op, "size", step.number


def _add_log(pending: Pending, needs: dict[Effect, list[Effect]]) -> None:
    latest: dict[tuple[int, str], Effect] = {}
    before: Effect | None = None
    for meta in pending.log:
        effect = effect_of(meta)
        mine = needs.setdefault(effect, [])
        if pending.preset.names == "log":
            mine.extend([before] if before is not None else [])
            before = effect
        elif isinstance(meta, Names):
            for directory, name, _ in meta.entries:
                earlier = latest.get((directory, name))
                if earlier is not None and earlier not in mine:
                    mine.append(earlier)
                latest[directory, name] = effect
        flushed = pending.flushing.get(meta.op)
        if flushed is not None:
            file = pending.files[flushed.ino]
            mine.extend((op, "page", page) for page, op in flushed.pages if _has_page(file, page, op))
            mine.extend(size_effect(each) for each in file.sizes if each.op == flushed.size_op)


def _has_page(file: FileState, page: int, op: int) -> bool:
    return any(each.op == op for each in file.pages.get(page, ()))


def _add_file(
    pending: Pending, file: FileState, needs: dict[Effect, list[Effect]], rests: dict[Effect, Effect]
) -> None:
    for page, versions in file.pages.items():
        earlier: Effect | None = None
        for version in versions:
            effect = (version.op, "page", page)
            needs[effect] = [] if earlier is None else [earlier]
            earlier = effect
    before: Effect | None = None
    for step in file.sizes:
        effect = size_effect(step)
        mine = needs.setdefault(effect, [])
        mine.extend([before] if before is not None else [])
        before = effect
        if step.logged and pending.preset.names == "log":
            mine.extend((step.op, "page", page) for page, versions in file.pages.items() if _is_cut(versions, step.op))
        elif not step.logged:
            page_needed = resting_page(pending, file, step)
            if page_needed is not None:
                rests[effect] = page_needed


def _is_cut(versions: list[PageVersion], op: int) -> bool:
    return any(each.cut and each.op == op for each in versions)


def resting_page(pending: Pending, file: FileState, step: SizeStep) -> Effect | None:
    """The page without which a size does not stay at a write's step; None where it needs none."""
    page = step.page
    versions = file.pages.get(page, [])
    if pending.preset.sized_by_page:
        return next(((each.op, "page", page) for each in versions if each.op == step.op), NEVER)
    if not pending.preset.allocated_tail or page in file.allocated:
        return None
    # What stood there before the latest truncation is gone from the disk, and gives the size no block.
    written: list[PageVersion] = []
    for each in versions:
        if each.op > step.op:
            break
        written = [] if each.cut else [*written, each]
    return (written[0].op, "page", page) if written else NEVER
