"""One file: its content now, what of it is durable, and the chains of what is not.

Promises: pages and sizes are kept as they were after each operation, so that no later operation is needed to read a
state. Two rules say which pages may stand below which size. *Resting*: where a write's growth of the size ends, there
is a page without which the size does not stay there. *Standing*: where a truncation survives, no page shows what stood
behind the cut; a page that shows nothing there may be as old as it likes. Pages that a failed sync *dropped* stay
undecided until a newer version of the whole page is saved, and so does a size that stands on them alone.

Does not: know names, the log, or which operations a sync belongs to; `effects` does.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TypeAlias

from conformance.sim.disk.presets import PAGE, Preset

Effect: TypeAlias = tuple[int, str, int]
"""One effect: the index of its operation, its part ("entry", "size" or "page"), and the step or page number."""


@dataclass(frozen=True, slots=True)
class SizeStep:
    """One step of a size.

    Attributes:
        number: which step of its operation. logged: a truncation or reservation made it, not a write.
        held: when it was made, the block that the size ends in was on the disk.
    """

    op: int
    number: int
    size: int
    logged: bool
    held: bool

    @property
    def page(self) -> int:
        """The number of the page that the size ends in; -1 for an empty file."""
        return (self.size - 1) // PAGE

    @property
    def place(self) -> tuple[int, int]:
        """Where it stands in the order of the steps."""
        return self.op, self.number

    @property
    def effect(self) -> Effect:
        """The effect that it is."""
        return self.op, "size", self.number


@dataclass(frozen=True, slots=True)
class PageVersion:
    """A page as it was after one operation: at most 4096 bytes, NUL behind them. `cut`: a truncation made it."""

    op: int
    data: bytes
    cut: bool


@dataclass(slots=True)
class FileState:
    """One file.

    Attributes:
        data: the content that readers see.
        base_size, base_pages: what is durable.
        sizes: steps of the size that are not durable, in order. pages: page -> its versions that are not durable.
        allocated: pages that have blocks on the disk; reserved: those of them whose blocks were never written.
        flushed: pages whose blocks a rename asked for.
        dropped: page -> index of the operation up to which no sync saves its versions any more; whether such a page has
            blocks on the disk nobody knows.
        cut_through: index of the latest durable truncation.
        changed, data_changed: index of the latest operation that a sync, or a data-only sync, has to commit.
        stamp: another number after each change of anything here.
    """

    data: bytearray
    base_size: int = 0
    base_pages: dict[int, bytes] = field(default_factory=dict)
    sizes: list[SizeStep] = field(default_factory=list)
    pages: dict[int, list[PageVersion]] = field(default_factory=dict)
    allocated: set[int] = field(default_factory=set)
    reserved: set[int] = field(default_factory=set)
    flushed: set[int] = field(default_factory=set)
    dropped: dict[int, int] = field(default_factory=dict)
    cut_through: int = -1
    changed: int = -1
    data_changed: int = -1
    stamp: int = 0

    @classmethod
    def durable(cls, data: bytes | bytearray) -> FileState:
        """A file all of which is durable."""
        count = -(-len(data) // PAGE)
        pages = {page: bytes(data[page * PAGE : (page + 1) * PAGE]) for page in range(count)}
        return cls(bytearray(data), len(data), pages, allocated=set(range(count)))

    @property
    def is_pending(self) -> bool:
        """Whether anything of it is not durable."""
        return bool(self.sizes or self.pages)

    @property
    def needs_blocks(self) -> bool:
        """Whether writing what is not durable needs blocks, or turns reserved blocks into written ones."""
        return any(versions[-1].data and self._lacks_block(page) for page, versions in self.pages.items())

    def _lacks_block(self, page: int) -> bool:
        """Whether writing a page changes metadata for certain."""
        return (page not in self.allocated or page in self.reserved) and page not in self.dropped

    def page_now(self, page: int) -> bytes:
        """The content of a page as readers see it."""
        return bytes(self.data[page * PAGE : (page + 1) * PAGE])

    def write(self, op: int, offset: int, data: bytes) -> bool:
        """Take a write; whether it changes the size or needs blocks."""
        old, end = len(self.data), offset + len(data)
        if offset > old:
            self.data.extend(bytes(offset - old))
        self.data[offset:end] = data
        touched = range(offset // PAGE, -(-end // PAGE))
        for page in touched:
            self.pages.setdefault(page, []).append(PageVersion(op, self.page_now(page), False))
        if end > old:
            # One step for each page edge on the way, and the end.
            for number, size in enumerate((*range((old // PAGE + 1) * PAGE, end, PAGE), end)):
                self.sizes.append(SizeStep(op, number, size, False, (size - 1) // PAGE in self.allocated))
        self.stamp += 1
        return end > old or any(self._lacks_block(page) for page in touched)

    def resize(self, op: int, size: int) -> None:
        """Take a truncation, or what a reservation does to the size."""
        if size < len(self.data):
            del self.data[size:]
            for page in sorted(page for page in {*self.base_pages, *self.pages} if (page + 1) * PAGE > size):
                self.pages.setdefault(page, []).append(PageVersion(op, self.page_now(page), True))
            for pages in (self.allocated, self.reserved, self.flushed):
                pages.difference_update([page for page in pages if page * PAGE >= size])
            self.dropped = {page: op for page, op in self.dropped.items() if page * PAGE < size}
        else:
            self.data.extend(bytes(size - len(self.data)))
        self.sizes.append(SizeStep(op, 0, size, True, True))
        self.stamp += 1

    def reserve(self, pages: range) -> None:
        """Blocks for these pages are asked for; those that have some keep them."""
        self.reserved.update(page for page in pages if page not in self.allocated)
        self.allocated.update(pages)
        self.stamp += 1

    def flush(self) -> tuple[int, ...]:
        """The pages that a rename onto an existing name writes: what lies behind the last block that there is."""
        last = max(self.allocated | self.flushed | self.dropped.keys(), default=-1)
        delayed = tuple(page for page in self.pages if page > last)
        self.flushed.update(delayed)
        return delayed

    def save_page(self, page: int, upto: int) -> None:
        """The versions of a page up to that operation are durable."""
        versions = self.pages.get(page, [])
        count = bisect_right(versions, upto, key=lambda each: each.op)
        if count:
            self._settle_page(page, versions[count - 1].data)
            del versions[:count]
            if not versions:
                del self.pages[page]
            self.stamp += 1

    def _settle_page(self, page: int, data: bytes) -> None:
        self.reserved.discard(page)
        if data:
            self.base_pages[page] = data
            self.allocated.add(page)
        else:
            self.base_pages.pop(page, None)

    def save_size(self, upto: tuple[int, int]) -> None:
        """The steps of the size up to that place are durable."""
        self._save_steps(bisect_right(self.sizes, upto, key=lambda each: each.place))

    def _save_steps(self, count: int) -> None:
        if count:
            self.cut_through = self.through(count)
            self.base_size = self.sizes[count - 1].size
            del self.sizes[:count]
            self.stamp += 1

    def save_resize(self, op: int) -> None:
        """A truncation or reservation is durable."""
        self.cut_through = max(self.cut_through, op)
        self.stamp += 1
        self.save_size((op, 0))
        self.settle()

    def settle(self) -> None:
        """Pages of which no older version may stand below the durable size are durable."""
        for page in list(self.pages):
            if any(each.cut and each.op <= self.cut_through for each in self.pages[page]):
                least = self.standing(page, self.base_size, self.cut_through)[-1]
                while least < len(self.pages[page]) and self._is_cut_base(page, least):
                    least += 1
                if least:
                    self.save_page(page, self.pages[page][least - 1].op)

    def _is_cut_base(self, page: int, kept: int) -> bool:
        """Whether the next version is what a durable truncation makes of the oldest that may stand."""
        version = self.pages[page][kept]
        return version.cut and version.op <= self.cut_through

    def save(self, preset: Preset) -> None:
        """All of its data and its size are durable, but for what was dropped and what stands on that alone."""
        lost = {page for page, upto in self.dropped.items() if page in self.pages and self.pages[page][-1].op <= upto}
        steps = self.steps_without(lost, preset)
        for page in [page for page in self.pages if page not in lost]:
            self._settle_page(page, self.pages.pop(page)[-1].data)
            self.dropped.pop(page, None)
        self._save_steps(steps)
        if preset.names == "log":
            self.settle()
        self.stamp += 1

    def drop(self) -> None:
        """A sync failed: what is not durable of the pages is clean in memory, and written no more."""
        self.dropped.update({page: versions[-1].op for page, versions in self.pages.items()})
        self.stamp += 1

    def steps_without(self, lost: Collection[int], preset: Preset) -> int:
        """How many steps of the size a sync saves where it does not save these pages.

        Where every chain is by itself a size may stand without its page, but nobody says that it is saved without it.
        """
        for steps in range(len(self.sizes) if lost else 0, 0, -1):
            step = self.sizes[steps - 1]
            block = self._block_of(step) if preset.allocated_tail else self._written_with(step)
            if step.logged or (block is not None and (block < 0 or step.page not in lost)):
                return steps
        return 0 if lost else len(self.sizes)

    def through(self, steps: int) -> int:
        """Index of the latest truncation that survives where that many steps of the size do."""
        logged = (each.op for each in reversed(self.sizes[:steps]) if each.logged)
        return next(logged, self.cut_through)

    def standing(self, page: int, size: int, through: int, least: int = -1) -> tuple[int, ...]:
        """How many versions of a page may survive below a size, the most first.

        Args:
            through: index of the latest truncation that survives; -1 where a page is cut by itself.
            least: index of an operation whose version survives, or a later one.
        """
        versions = self.pages[page]
        most = len(versions)
        floor = 0 if least < 0 else next((at for at, each in enumerate(versions, 1) if each.op >= least), most)
        if not any(each.cut and each.op <= through for each in versions):
            return tuple(range(most, floor - 1, -1))
        allowed: list[int] = []
        limit = PAGE
        for kept in range(most, floor - 1, -1):
            shown = (versions[kept - 1].data if kept else self.base_pages.get(page, b""))[: max(0, size - page * PAGE)]
            if len(shown) <= limit or not shown[limit:].strip(b"\0"):
                allowed.append(kept)
            if kept and versions[kept - 1].cut and versions[kept - 1].op <= through:
                limit = min(limit, len(versions[kept - 1].data))
        return tuple(allowed)

    def resting(self, steps: int, preset: Preset) -> dict[int, int] | None:
        """Page -> the operation whose version of it must survive for the size to stay at a step; None: it never does.

        Args:
            steps: how many steps of the size survive.
        """
        found: dict[int, int] = {}
        step = self.sizes[steps - 1] if steps else None
        if step is None or step.logged:
            return found
        if preset.sized_by_page:
            written = self._written_with(step)
            return None if written is None else {step.page: written}
        if preset.allocated_tail:
            block = self._block_of(step)
            if block is None:
                return None
            if block >= 0:
                found[step.page] = block
        if preset.in_order:
            for passed in takewhile(lambda each: not each.logged, reversed(self.sizes[: steps - 1])):
                written = self._written_with(passed)
                if written is not None:
                    found[passed.page] = max(written, found.get(passed.page, -1))
        return found

    def _written_with(self, step: SizeStep) -> int | None:
        """The operation that wrote the page in which a step ends, its own or a later one; None: nobody did."""
        for version in self.pages.get(step.page, ()):
            if version.op >= step.op:
                return None if version.cut else version.op
        return None

    def _block_of(self, step: SizeStep) -> int | None:
        """The operation whose page brought the block in which a step ends; -1: it was there; None: nobody did."""
        if step.held:
            return -1
        found = -1 if self.base_pages.get(step.page) else None
        for version in self.pages.get(step.page, ()):
            if version.cut and not version.data:
                if version.op > step.op:
                    break
                # What stood there before is gone from the disk, and gives the size no block.
                found = None
            elif found is None:
                found = version.op
        return found
