"""What of the operations so far is durable, and what else could survive: effects in chains, kept up op by op.

Promises: `Pending.feed` takes one operation after the other and keeps, for one preset, the durable state and the
effects that are not durable yet. An *effect* is what can survive by itself: one change of names (a rename is one, with
its two names), one page of a write, one step of a size. Effects on one name, one page or one size form a *chain*: the
newest is what memory holds, so that a later one on the disk contains the earlier, and only a prefix of a chain
survives. A sync shortens the chains from the front.

Does not: choose what survives; `states` does. It keeps page contents as they were after each operation, so that no
later operation is needed to read a state.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from conformance.sim.disk import ops
from conformance.sim.disk.image import Directory, File, FileSystem, Symlink
from conformance.sim.disk.presets import PAGE, PRESETS, Preset

Effect: TypeAlias = tuple[int, str, int]
"""One effect: the index of its operation, its part ("entry", "size" or "page"), and the step or page number."""

Key: TypeAlias = tuple[int, str]
"""A name: the inode of the directory, and the name in it."""


@dataclass(frozen=True, slots=True)
class Names:
    """One change of names that may survive or not: `entries` are (directory, name, inode or None), in order."""

    op: int
    entries: tuple[tuple[int, str, int | None], ...]


@dataclass(frozen=True, slots=True)
class Resize:
    """One truncation or reservation, which stands in the log of metadata too."""

    op: int
    ino: int


@dataclass(frozen=True, slots=True)
class Flushing:
    """A rename that brings data with it: it survives only with these versions of pages and this step of the size."""

    ino: int
    pages: tuple[tuple[int, int], ...]
    size_op: int


Meta: TypeAlias = Names | Resize


@dataclass(frozen=True, slots=True)
class SizeStep:
    """One step of a size.

    Attributes:
        number: which step of its operation. logged: it stands in the log of metadata.
        page: the page the new size ends in, -1 for size 0.
    """

    op: int
    number: int
    size: int
    logged: bool

    @property
    def page(self) -> int:
        """The number of the page that the size ends in; -1 for an empty file."""
        return (self.size - 1) // PAGE


@dataclass(frozen=True, slots=True)
class PageVersion:
    """A page as it was after one operation: at most 4096 bytes, NUL behind them. `cut`: a truncation made it."""

    op: int
    data: bytes
    cut: bool


@dataclass(slots=True)
class FileState:
    """One file: its content now, what of it is durable, and the chains of what is not.

    Attributes:
        data: the content that readers see.
        base_size, base_pages: what is durable; pages beyond the size may be there too.
        sizes: steps of the size that are not durable, in order. pages: page -> its versions that are not durable.
        allocated: pages that have blocks on the disk.
        changed, data_changed: index of the latest operation that a sync, or a data-only sync, has to commit.
    """

    data: bytearray
    base_size: int = 0
    base_pages: dict[int, bytes] = field(default_factory=dict)
    sizes: list[SizeStep] = field(default_factory=list)
    pages: dict[int, list[PageVersion]] = field(default_factory=dict)
    allocated: set[int] = field(default_factory=set)
    changed: int = -1
    data_changed: int = -1

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

    def page_now(self, page: int) -> bytes:
        """The content of a page as readers see it."""
        return bytes(self.data[page * PAGE : (page + 1) * PAGE])

    def save_page(self, page: int, upto: int) -> None:
        """The versions of a page up to that operation are durable."""
        versions = self.pages.get(page, [])
        count = bisect_right(versions, upto, key=lambda each: each.op)
        if count:
            self.base_pages[page] = versions[count - 1].data
            self.allocated.add(page)
            del versions[:count]
            if not versions:
                del self.pages[page]

    def save_size(self, upto: int) -> None:
        """The steps of the size up to that operation are durable."""
        count = bisect_right(self.sizes, upto, key=lambda each: each.op)
        if count:
            self.base_size = self.sizes[count - 1].size
            del self.sizes[:count]

    def save(self) -> None:
        """All of its data and its size are durable."""
        for page, versions in self.pages.items():
            self.base_pages[page] = versions[-1].data
            self.allocated.add(page)
        self.pages.clear()
        if self.sizes:
            self.base_size = self.sizes[-1].size
            self.sizes.clear()


class Pending:
    """Everything that a power loss decides about, under one preset that has a log or chains.

    Args:
        base: the disk before the first operation; all of it is durable.
        preset: a name of `PRESETS`.

    Attributes:
        count: operations and markers so far; the next one has this index.
        files: every file by inode. directories: directory -> the names in it that are durable.
        symlinks: inode -> target. specials: inodes of any other kind.
        log: changes of names, and in presets with a log truncations and reservations too, that are not durable.
        flushing: index of a rename in the log -> what it survives only with.
    """

    def __init__(self, base: FileSystem, preset: str) -> None:
        self.preset: Preset = PRESETS[preset]
        self.count = 0
        self.files: dict[int, FileState] = {}
        self.directories: dict[int, dict[str, int]] = {}
        self.symlinks: dict[int, str] = {}
        self.specials: set[int] = set()
        self.log: list[Meta] = []
        self.flushing: dict[int, Flushing] = {}
        self._committed = 0
        self._changed: dict[int, int] = {}
        for ino, node in base.nodes.items():
            if isinstance(node, File):
                self.files[ino] = FileState.durable(node.data)
            elif isinstance(node, Directory):
                self.directories[ino] = {name: child.ino for name, child in node.entries.items()}
            elif isinstance(node, Symlink):
                self.symlinks[ino] = node.target
            else:
                self.specials.add(ino)

    def feed(self, op: ops.DiskOp) -> None:
        """Take the next operation."""
        handler = _HANDLERS.get(type(op))
        if handler is not None:
            handler(self, op)
        self.count += 1

    def _named(self, *entries: tuple[int, str, int | None]) -> None:
        self.log.append(Names(self.count, entries))
        for directory, _, _ in entries:
            self._changed[directory] = self.count

    def _create(self, op: ops.Create) -> None:
        self.files[op.ino] = FileState(bytearray(), changed=self.count, data_changed=self.count)
        self._named((op.directory, op.name, op.ino))

    def _create_unnamed(self, op: ops.CreateUnnamed) -> None:
        self.files[op.ino] = FileState(bytearray(), changed=self.count, data_changed=self.count)

    def _mkdir(self, op: ops.Mkdir) -> None:
        self.directories[op.ino] = {}
        self._named((op.directory, op.name, op.ino))
        self._changed[op.ino] = self.count

    def _symlink(self, op: ops.Symlink) -> None:
        self.symlinks[op.ino] = op.target
        self._named((op.directory, op.name, op.ino))

    def _link(self, op: ops.Link) -> None:
        self._named((op.directory, op.name, op.ino))
        self._touch(op.ino)

    def _unlink(self, op: ops.Unlink | ops.Rmdir) -> None:
        self._named((op.directory, op.name, None))
        self._touch(op.ino)

    def _rename(self, op: ops.Rename) -> None:
        file = self.files.get(op.ino)
        if self.preset.replace_flushes and op.replaced is not None and file is not None:
            last = max(file.allocated, default=-1)
            delayed = tuple((page, versions[-1].op) for page, versions in file.pages.items() if page > last)
            if delayed:
                self.flushing[self.count] = Flushing(op.ino, delayed, file.sizes[-1].op if file.sizes else -1)
        self._named((op.directory, op.name, None), (op.to_directory, op.to_name, op.ino))
        self._touch(op.ino)

    def _touch(self, ino: int) -> None:
        file = self.files.get(ino)
        if file is not None:
            file.changed = self.count
        elif ino in self.directories:
            self._changed[ino] = self.count

    def _write(self, op: ops.Write) -> None:
        file = self.files[op.ino]
        old, end = len(file.data), op.offset + len(op.data)
        if op.offset > old:
            file.data.extend(bytes(op.offset - old))
        file.data[op.offset : end] = op.data
        touched = range(op.offset // PAGE, -(-end // PAGE))
        for page in touched:
            file.pages.setdefault(page, []).append(PageVersion(self.count, file.page_now(page), False))
        self._grow(file, old, end, logged=False)
        if end > old or any(page not in file.allocated for page in touched):
            file.changed = file.data_changed = self.count

    def _grow(self, file: FileState, old: int, new: int, *, logged: bool) -> None:
        """Add the steps of a growth: one for each page edge on the way, and the end."""
        if new <= old:
            return
        edges = range((old // PAGE + 1) * PAGE, new, PAGE) if not logged else range(0)
        for number, size in enumerate((*edges, new)):
            file.sizes.append(SizeStep(self.count, number, size, logged))

    def _truncate(self, op: ops.Truncate) -> None:
        file = self.files[op.ino]
        if op.new == op.old:
            return
        if op.new < op.old:
            del file.data[op.new :]
            first = op.new // PAGE
            known = {*file.base_pages, *file.pages}
            for page in sorted(page for page in known if page >= first):
                file.pages.setdefault(page, []).append(PageVersion(self.count, file.page_now(page), True))
            file.allocated = {page for page in file.allocated if page * PAGE < op.new}
        else:
            file.data.extend(bytes(op.new - op.old))
        self._resized(op.ino, file, op.new)

    def _fallocate(self, op: ops.Fallocate) -> None:
        file = self.files[op.ino]
        end = op.offset + op.length
        file.allocated.update(range(op.offset // PAGE, -(-end // PAGE)))
        file.changed = file.data_changed = self.count
        if not op.keep_size and end > len(file.data):
            file.data.extend(bytes(end - len(file.data)))
            self._resized(op.ino, file, end)

    def _resized(self, ino: int, file: FileState, size: int) -> None:
        file.sizes.append(SizeStep(self.count, 0, size, True))
        file.changed = file.data_changed = self.count
        if self.preset.names == "log":
            self.log.append(Resize(self.count, ino))

    def _fsync(self, op: ops.Fsync | ops.Fdatasync) -> None:
        file = self.files[op.ino]
        self._commit_for(file.changed if isinstance(op, ops.Fsync) else file.data_changed)
        file.save()

    def _fsync_directory(self, op: ops.FsyncDirectory) -> None:
        if self.preset.names == "chains":
            self._commit_chains({each.op for each in self.log if _is_in(each, op.ino)})
        else:
            self._commit_for(self._changed.get(op.ino, -1))

    def _sync_all(self, op: ops.SyncAll) -> None:
        self._commit(self.count)
        for file in self.files.values():
            file.save()

    def _commit_for(self, change: int) -> None:
        """Save of the log what a sync of an inode saves whose latest change was at that operation."""
        if self.preset.names == "log" and change >= self._committed:
            self._commit(self.count if self.preset.commits == "all" else change)

    def _commit(self, upto: int) -> None:
        """The log up to that operation is durable."""
        count = bisect_right(self.log, upto, key=lambda each: each.op)
        for each in self.log[:count]:
            self._apply(each)
        del self.log[:count]
        self._committed = max(self._committed, upto + 1)

    def _commit_chains(self, wanted: set[int]) -> None:
        """These changes of names are durable, and what stands before them in their chains."""
        keys: set[Key] = set()
        kept: list[Meta] = []
        saved: list[Meta] = []
        for each in reversed(self.log):
            names = _keys(each)
            if each.op in wanted or keys & names:
                keys |= names
                saved.append(each)
            else:
                kept.append(each)
        for each in reversed(saved):
            self._apply(each)
        self.log = kept[::-1]

    def _apply(self, meta: Meta) -> None:
        if isinstance(meta, Resize):
            file = self.files[meta.ino]
            for page in [
                page for page, versions in file.pages.items() if any(_cuts(each, meta.op) for each in versions)
            ]:
                file.save_page(page, meta.op)
            file.save_size(meta.op)
            return
        flushed = self.flushing.pop(meta.op, None)
        if flushed is not None:
            file = self.files[flushed.ino]
            for page, upto in flushed.pages:
                file.save_page(page, upto)
            file.save_size(flushed.size_op)
        for directory, name, ino in meta.entries:
            if ino is None:
                self.directories[directory].pop(name, None)
            else:
                self.directories[directory][name] = ino


def _cuts(version: PageVersion, op: int) -> bool:
    return version.cut and version.op == op


def _is_in(meta: Meta, directory: int) -> bool:
    return isinstance(meta, Names) and any(entry[0] == directory for entry in meta.entries)


def _keys(meta: Meta) -> set[Key]:
    """The names that a change concerns."""
    return {(entry[0], entry[1]) for entry in meta.entries} if isinstance(meta, Names) else set()


_HANDLERS: dict[type, Callable[[Pending, Any], None]] = {
    ops.Create: Pending._create,
    ops.CreateUnnamed: Pending._create_unnamed,
    ops.Write: Pending._write,
    ops.Truncate: Pending._truncate,
    ops.Fallocate: Pending._fallocate,
    ops.Rename: Pending._rename,
    ops.Link: Pending._link,
    ops.Symlink: Pending._symlink,
    ops.Unlink: Pending._unlink,
    ops.Rmdir: Pending._unlink,
    ops.Mkdir: Pending._mkdir,
    ops.Fsync: Pending._fsync,
    ops.Fdatasync: Pending._fsync,
    ops.FsyncDirectory: Pending._fsync_directory,
    ops.SyncAll: Pending._sync_all,
}
