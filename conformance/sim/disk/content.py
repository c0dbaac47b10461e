"""What a crash may leave of one file: the second factor of every state.

Promises: for one file and one way in which names survive, every size that it may have and every version of the pages
below it, nothing-lost first, each as content with the effects that it takes to lose to get there.

Does not: combine files. Contents are made when they are asked for, counts without any.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from types import MappingProxyType

from conformance.sim.disk.chains import Effect, FileState
from conformance.sim.disk.effects import Flushing, Pending
from conformance.sim.disk.presets import PAGE, SECTOR

Tear = tuple[int, int, int]
"""A torn page: the operation whose page was on its way, the page's number, and how many of its sectors arrived. Where
any of them may, the third is a number whose n-th lowest bit says whether the n-th sector did."""

NO_GARBAGE: Mapping[int, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Content:
    """One content of a file, and what was lost for it."""

    data: bytes
    lost: tuple[Effect, ...] = ()
    tear: Tear | None = None


@dataclass(frozen=True, slots=True)
class Sizing:
    """One size that the file may have.

    Attributes:
        steps: how many steps of it survive. pages: for each page below it whose content is not settled, how many of its
            versions may, the most first.
        ground: the content without these pages.
    """

    steps: int
    size: int
    pages: tuple[tuple[int, tuple[int, ...]], ...]
    ground: bytes


class FileOptions:
    """What may be left of one file, where of its entries in the log those in `kept` survive.

    Attributes:
        whole: how many ways there are without a torn page. torn: how many with one.
        stamp: that of the file, whose every change makes this worthless.
    """

    def __init__(self, pending: Pending, file: FileState, kept: frozenset[Effect]) -> None:
        self.stamp = file.stamp
        self._file = file
        self._logged = pending.has_log
        self._tears = pending.preset.tears == "prefix"
        self._join: Callable[[bytes, bytes, int], bytes] = _mixed if pending.preset.tears == "any" else _torn
        if file.is_pending:
            self._sizings = list(_sizings(pending, file, kept))
        else:
            self._sizings = [Sizing(0, file.base_size, (), bytes(file.data))]
        self._every: tuple[list[Content], list[Content]] | None = None
        self._torn_pages: dict[tuple[int, tuple[int, ...]], list[tuple[int, Tear, bytes]]] = {}
        self.whole = sum(prod([len(allowed) for _, allowed in each.pages]) for each in self._sizings)
        self.torn = self._count_torn() if self._tears and file.pages else 0

    def _count_torn(self) -> int:
        return sum(
            len(self._tears_of(page, allowed)) * _others(sizing, page)
            for sizing in self._sizings
            for page, allowed in sizing.pages
        )

    def every(self) -> tuple[list[Content], list[Content]]:
        """Every content without a torn page and every one with one; distinct, the ones that lose least first."""
        if self._every is None:
            self._every = list(_distinct(self._whole())), list(_distinct(self._torn()))
        return self._every

    def _whole(self) -> Iterator[Content]:
        for sizing in self._sizings:
            for kept in product(*(allowed for _, allowed in sizing.pages)):
                yield self.content(sizing, kept)

    def _torn(self) -> Iterator[Content]:
        if not self._tears:
            return
        for sizing in self._sizings:
            for index, (page, allowed) in enumerate(sizing.pages):
                ranges = [each for _, each in sizing.pages]
                for at, tear, data in self._tears_of(page, allowed):
                    ranges[index] = (at,)
                    for kept in product(*ranges):
                        yield self.content(sizing, kept, (index, tear, data))

    def _tears_of(self, page: int, allowed: tuple[int, ...]) -> list[tuple[int, Tear, bytes]]:
        """(versions that survive, the tear, the page as it is then), where it differs from every whole version."""
        found = self._torn_pages.get((page, allowed))
        if found is None:
            found = self._torn_pages[page, allowed] = list(self._tear(page, allowed[::-1]))
        return found

    def _tear(self, page: int, allowed: tuple[int, ...]) -> Iterator[tuple[int, Tear, bytes]]:
        versions = self._file.pages[page]
        pages = [self._page(page, at).rstrip(b"\0") for at in allowed]
        sectors = [_sectors(each) for each in pages]
        seen = set(pages)
        for old in range(len(pages) - 1):
            for new in range(old + 1, len(pages)):
                pairs = zip(sectors[old], sectors[new], strict=True)
                differing = [number for number, (one, other) in enumerate(pairs) if one != other]
                # A cut behind the last sector that differs is the whole new page.
                for number in reversed(differing[:-1]):
                    torn = _torn(pages[old], pages[new], number + 1)
                    if torn not in seen:
                        seen.add(torn)
                        yield allowed[old], (versions[allowed[new] - 1].op, page, number + 1), torn

    def _page(self, page: int, at: int) -> bytes:
        """A page of which so many versions survive."""
        return self._file.pages[page][at - 1].data if at else self._file.base_pages.get(page, b"")

    def content(
        self,
        sizing: Sizing,
        kept: tuple[int, ...],
        torn: tuple[int, Tear, bytes] | None = None,
        garbage: Mapping[int, int] = NO_GARBAGE,
    ) -> Content:
        """The content of that size, with so many versions of each of its pages.

        Args:
            torn: the place of a page in the sizing, its tear, and what is there in its stead.
            garbage: page -> the operation whose lost page leaves garbage where nothing else is.
        """
        file = self._file
        lost: list[Effect] = []
        if sizing.steps < len(file.sizes):
            step = file.sizes[sizing.steps]
            if not (step.logged and self._logged):
                lost.append(step.effect)
        if not sizing.pages:
            return Content(sizing.ground, tuple(lost))
        data = bytearray(sizing.ground)
        tear: Tear | None = None
        for index, ((page, _), at) in enumerate(zip(sizing.pages, kept, strict=True)):
            versions = file.pages[page]
            if at < len(versions):
                lost.append((versions[at].op, "page", page))
            found = self._page(page, at)
            if torn is not None and torn[0] == index:
                _, tear, found = torn
            if page in garbage:
                found += _garbage(garbage[page], page)[len(found) :]
                lost.append((garbage[page], "garbage", page))
            # A page may hold more than the size shows, or less.
            start = page * PAGE
            shown = min(PAGE, sizing.size - start)
            data[start : start + shown] = found[:shown].ljust(shown, b"\0")
        return Content(bytes(data), tuple(lost), tear)

    def at(self, steps: int, versions: Mapping[int, int], tear: Tear | None, garbage: Mapping[int, int]) -> Content:
        """The content where that many steps of the size survive, and that many versions of each page."""
        sizing = next((each for each in self._sizings if each.steps == steps), self._sizings[-1])
        kept = tuple(versions[page] if versions[page] in allowed else allowed[0] for page, allowed in sizing.pages)
        lost = {
            page: garbage[page]
            for (page, _), at in zip(sizing.pages, kept, strict=True)
            if page in garbage and at < len(self._file.pages[page])
        }
        for index, (page, _) in enumerate(sizing.pages):
            newer = self._file.pages[page][kept[index] :]
            if tear is not None and tear[1] == page and any(each.op == tear[0] for each in newer):
                new = next(each.data for each in newer if each.op == tear[0])
                page_then = self._join(self._page(page, kept[index]), new, tear[2])
                return self.content(sizing, kept, (index, tear, page_then), lost)
        return self.content(sizing, kept, None, lost)


def _others(sizing: Sizing, page: int) -> int:
    """In how many ways the other pages may survive."""
    return prod(len(allowed) for other, allowed in sizing.pages if other != page)


def _sectors(page: bytes) -> list[bytes]:
    """The sectors of a page that has no NUL at its end, without the NUL at their ends."""
    return [page[at : at + SECTOR].rstrip(b"\0") for at in range(0, PAGE, SECTOR)]


def _torn(old: bytes, new: bytes, sectors: int) -> bytes:
    """A page of which the first sectors are the new one's and the others the old one's, without the NUL at its end."""
    edge = sectors * SECTOR
    return (new[:edge].ljust(edge, b"\0") + old[edge:]).rstrip(b"\0")


def _mixed(old: bytes, new: bytes, sectors: int) -> bytes:
    """A page whose n-th sector is the new one's where the n-th lowest bit is set, without the NUL at its end."""
    pages = old.ljust(PAGE, b"\0"), new.ljust(PAGE, b"\0")
    chosen = (pages[sectors >> at & 1][at * SECTOR : (at + 1) * SECTOR] for at in range(PAGE // SECTOR))
    return b"".join(chosen).rstrip(b"\0")


def _garbage(op: int, page: int) -> bytes:
    """A page of bytes that nobody wrote; always the same ones for the same lost page."""
    return hashlib.shake_128(f"{op},{page}".encode()).digest(PAGE)


def _distinct(contents: Iterator[Content]) -> Iterator[Content]:
    seen: set[bytes] = set()
    for each in contents:
        if each.data not in seen:
            seen.add(each.data)
            yield each


def _sizings(pending: Pending, file: FileState, kept: frozenset[Effect]) -> Iterator[Sizing]:
    """The sizes that the file may have, the one that loses least first."""
    least, most = 0, len(file.sizes)
    floors: dict[int, int] = {}
    if pending.has_log:
        least, most = _range_of(file, kept)
        for each in kept:
            if each in pending.flushing:
                least = max(least, _add_flushed(file, pending.flushing[each], floors))
    for steps in range(most, least - 1, -1):
        resting = file.resting(steps, pending.preset)
        if resting is None:
            continue
        size = file.sizes[steps - 1].size if steps else file.base_size
        through = file.through(steps) if pending.has_log else -1
        pages = []
        for page in sorted(file.pages):
            if page * PAGE >= size:
                break
            allowed = file.standing(page, size, through, resting.get(page, -1))
            floor = floors.get(page, 0)
            pages.append((page, allowed if allowed[-1] >= floor else tuple(each for each in allowed if each >= floor)))
        # Where nothing of a page is pending, it is what readers see, and NUL behind that.
        yield Sizing(steps, size, tuple(pages), bytes(file.data[:size]).ljust(size, b"\0"))


def _range_of(file: FileState, kept: frozenset[Effect]) -> tuple[int, int]:
    """The least and the most steps of the size that survive with exactly these entries of the log."""
    least, most = 0, len(file.sizes)
    for number, step in enumerate(file.sizes):
        if step.logged and step.effect in kept:
            least = number + 1
        elif step.logged:
            return least, number
    return least, most


def _add_flushed(file: FileState, flushed: Flushing, floors: dict[int, int]) -> int:
    """Note how many versions of pages survive with a rename at least, and tell how many steps of the size do."""
    for page, upto in flushed.pages:
        count = sum(each.op <= upto for each in file.pages.get(page, ()))
        floors[page] = max(floors.get(page, 0), count)
    return sum(each.place <= flushed.size for each in file.sizes)
