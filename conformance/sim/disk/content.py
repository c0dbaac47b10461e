"""What a crash may leave of one file: the second factor of every state.

Promises: for one file and one way in which names survive, every size that it may have and every version of the pages
below it, nothing-lost first, each as content with the effects that it takes to lose to get there.

Does not: combine files. Contents are made when they are asked for, counts without any.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

from conformance.sim.disk.effects import Effect, FileState, PageVersion, Pending
from conformance.sim.disk.graph import NEVER, resting_page, size_effect
from conformance.sim.disk.presets import PAGE, SECTOR

Tear = tuple[int, int, int]
"""A torn page: the operation whose page was on its way, the page's number, and how many of its sectors arrived."""


@dataclass(frozen=True, slots=True)
class Content:
    """One content of a file, and what was lost for it."""

    data: bytes
    lost: tuple[Effect, ...] = ()
    tear: Tear | None = None


@dataclass(frozen=True, slots=True)
class Sizing:
    """One size that the file may have: how many steps of it survive, and (page, least, most) versions of its pages."""

    steps: int
    size: int
    pages: tuple[tuple[int, int, int], ...]


class FileOptions:
    """What may be left of one file, where the operations `kept` of the log survive."""

    def __init__(self, pending: Pending, ino: int, file: FileState, kept: frozenset[int]) -> None:
        self._file = file
        self._logged = pending.preset.names == "log"
        self._tears = pending.preset.tears
        self._sizings = list(_sizings(pending, ino, file, kept))

    def count(self) -> int:
        """How many ways there are without a torn page."""
        return sum(prod(most - least + 1 for _, least, most in each.pages) for each in self._sizings)

    def count_torn(self) -> int:
        """How many ways there are with one."""
        return sum(
            sum(1 for _ in self._tears_of(page, least, most)) * _others(sizing, page)
            for sizing in self._sizings
            for page, least, most in sizing.pages
        )

    def whole(self) -> Iterator[Content]:
        """Every way without a torn page; distinct contents, the ones that lose least first."""
        return _distinct(self._whole())

    def torn(self) -> Iterator[Content]:
        """Every way with one; distinct among themselves."""
        return _distinct(self._torn())

    def _whole(self) -> Iterator[Content]:
        for sizing in self._sizings:
            for kept in product(*(range(most, least - 1, -1) for _, least, most in sizing.pages)):
                yield self.content(sizing, kept)

    def _torn(self) -> Iterator[Content]:
        for sizing in self._sizings:
            for index, (page, least, most) in enumerate(sizing.pages):
                ranges = [range(high, low - 1, -1) for _, low, high in sizing.pages]
                for at, tear, data in self._tears_of(page, least, most):
                    ranges[index] = range(at, at + 1)
                    for kept in product(*ranges):
                        yield self.content(sizing, kept, (index, tear, data))

    def _tears_of(self, page: int, least: int, most: int) -> Iterator[tuple[int, Tear, bytes]]:
        """(versions that survive, the tear, the page as it is then), where it differs from every whole version."""
        if not self._tears or least == most:
            return
        versions = self._file.pages[page]
        pages = [self._page(page, at) for at in range(least, most + 1)]
        sectors = [_sectors(each) for each in pages]
        seen = set(pages)
        for old in range(len(pages) - 1):
            for new in range(old + 1, len(pages)):
                differing = [number for number in range(PAGE // SECTOR) if sectors[old][number] != sectors[new][number]]
                # A cut behind the last sector that differs is the whole new page.
                for number in reversed(differing[:-1]):
                    torn = _torn(pages[old], pages[new], number + 1)
                    if torn not in seen:
                        seen.add(torn)
                        yield least + old, (versions[least + new - 1].op, page, number + 1), torn

    def _page(self, page: int, at: int) -> bytes:
        """A page of which so many versions survive, without the NUL at its end."""
        versions = self._file.pages[page]
        return (versions[at - 1].data if at else self._file.base_pages.get(page, b"")).rstrip(b"\0")

    def content(self, sizing: Sizing, kept: tuple[int, ...], torn: tuple[int, Tear, bytes] | None = None) -> Content:
        """The content of that size, with so many versions of each of its pages, and one page replaced."""
        file = self._file
        data = bytearray(sizing.size)
        pending = {page for page, _, _ in sizing.pages}
        for page in range(-(-sizing.size // PAGE)):
            if page not in pending:
                base = file.base_pages.get(page, b"")
                data[page * PAGE : page * PAGE + len(base)] = base
        lost: list[Effect] = []
        if sizing.steps < len(file.sizes):
            step = file.sizes[sizing.steps]
            if not (step.logged and self._logged):
                lost.append(size_effect(step))
        tear: Tear | None = None
        for index, ((page, _, _), at) in enumerate(zip(sizing.pages, kept, strict=True)):
            versions = file.pages[page]
            if at < len(versions):
                lost.append((versions[at].op, "page", page))
            found = self._page(page, at)
            if torn is not None and torn[0] == index:
                _, tear, found = torn
            data[page * PAGE : page * PAGE + len(found)] = found
        # A page may hold more than the size shows.
        del data[sizing.size :]
        return Content(bytes(data), tuple(lost), tear)

    def at(self, steps: int, versions: dict[int, int], tear: Tear | None) -> Content:
        """The content where that many steps of the size survive, and that many versions of each page."""
        sizing = next((each for each in self._sizings if each.steps == steps), self._sizings[-1])
        kept = tuple(min(max(versions.get(page, most), least), most) for page, least, most in sizing.pages)
        for index, (page, _, _) in enumerate(sizing.pages):
            newer = self._file.pages[page][kept[index] :]
            if tear is not None and tear[1] == page and any(each.op == tear[0] for each in newer):
                data = next(each.data for each in newer if each.op == tear[0])
                return self.content(sizing, kept, (index, tear, _torn(self._page(page, kept[index]), data, tear[2])))
        return self.content(sizing, kept)


def _sectors(page: bytes) -> list[bytes]:
    """The sectors of a page, without the NUL at the ends of those that are cut short."""
    return [page[at : at + SECTOR].rstrip(b"\0") for at in range(0, PAGE, SECTOR)]


def _torn(old: bytes, new: bytes, sectors: int) -> bytes:
    """A page of which the first sectors are the new one's and the others the old one's, without the NUL at its end."""
    edge = sectors * SECTOR
    return (new[:edge].ljust(edge, b"\0") + old[edge:]).rstrip(b"\0")


def _others(sizing: Sizing, page: int) -> int:
    return prod(most - least + 1 for other, least, most in sizing.pages if other != page)


def _distinct(contents: Iterator[Content]) -> Iterator[Content]:
    seen: set[bytes] = set()
    for each in contents:
        if each.data not in seen:
            seen.add(each.data)
            yield each


def _sizings(pending: Pending, ino: int, file: FileState, kept: frozenset[int]) -> Iterator[Sizing]:
    """The sizes that the file may have, the one that loses least first."""
    least, most = 0, len(file.sizes)
    floors: dict[int, int] = {}
    if pending.preset.names == "log":
        least, most = _range_of(file, kept)
        floors = _floors(file, kept)
        for op in kept:
            flushed = pending.flushing.get(op)
            if flushed is not None and flushed.ino == ino:
                least = max(least, sum(each.op <= flushed.size_op for each in file.sizes))
                for page, upto in flushed.pages:
                    count = sum(each.op <= upto for each in file.pages.get(page, ()))
                    floors[page] = max(floors.get(page, 0), count)
    for steps in range(most, least - 1, -1):
        step = file.sizes[steps - 1] if steps else None
        rests = None if step is None or step.logged else resting_page(pending, file, step)
        if rests is NEVER:
            continue
        size = file.base_size if step is None else step.size
        yield Sizing(steps, size, tuple(_pages(file, size, floors, rests)))


def _range_of(file: FileState, kept: frozenset[int]) -> tuple[int, int]:
    """The least and the most steps of the size that survive with exactly these entries of the log."""
    least, most = 0, len(file.sizes)
    for number, step in enumerate(file.sizes):
        if step.logged and step.op in kept:
            least = number + 1
        elif step.logged:
            return least, number
    return least, most


def _floors(file: FileState, kept: frozenset[int]) -> dict[int, int]:
    """Page -> how many of its versions survive at least: those that a surviving truncation made."""
    floors: dict[int, int] = {}
    for page, versions in file.pages.items():
        for number, version in enumerate(versions):
            if version.cut and version.op in kept:
                floors[page] = number + 1
    return floors


def _pages(file: FileState, size: int, floors: dict[int, int], rests: Effect | None) -> Iterator[tuple[int, int, int]]:
    for page in sorted(file.pages):
        versions: list[PageVersion] = file.pages[page]
        if page * PAGE >= size:
            break
        floor = floors.get(page, 0)
        if rests is not None and rests[2] == page:
            floor = max(floor, next(number for number, each in enumerate(versions, 1) if each.op == rests[0]))
        yield page, floor, len(versions)
