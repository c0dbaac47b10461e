"""What of the operations so far is durable, and what else could survive: effects in chains, kept up op by op.

Promises: `Pending.feed` takes one operation after the other and keeps, for one preset, the durable state and the
effects that are not durable yet. An *effect* is what can survive by itself: one change of names (a rename is one, with
its two names, where the disk does not lie), one page of a write, one step of a size. Effects on one name, one page or
one size form a *chain*: the newest is what memory holds, so that a later one on the disk contains the earlier, and only
a prefix of a chain survives. A sync shortens the chains from the front. A sync of a file that failed takes its pages
as they are out of all later syncs; of a later write to such a page there is a newer version of the whole of it.

Does not: choose what survives; `states` does. What becomes of one file's content is in `chains`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from conformance.sim.disk import ops
from conformance.sim.disk.chains import Effect, FileState
from conformance.sim.disk.image import Directory, File, FileSystem, Symlink
from conformance.sim.disk.presets import PAGE, Preset

Key: TypeAlias = tuple[int, str]
"""A name: the inode of the directory, and the name in it."""


@dataclass(frozen=True, slots=True)
class Names:
    """One change of names that may survive or not.

    Attributes:
        ino: the inode whose names they are. entries: (directory, name, inode or None), in order.
        keys: the names that it concerns.
    """

    effect: Effect
    ino: int
    entries: tuple[tuple[int, str, int | None], ...]
    keys: frozenset[Key]

    @property
    def op(self) -> int:
        """The index of its operation."""
        return self.effect[0]


@dataclass(frozen=True, slots=True)
class Resize:
    """One truncation or reservation, which stands in the log of metadata too."""

    effect: Effect
    ino: int

    @property
    def op(self) -> int:
        """The index of its operation."""
        return self.effect[0]


@dataclass(frozen=True, slots=True)
class Flushing:
    """A rename that brings data with it: it survives only with these versions of pages and this step of the size.

    Attributes:
        pages: (page, operation whose version it is). size: (operation, number) of the step; before all of them where
            it brings none.
    """

    ino: int
    pages: tuple[tuple[int, int], ...]
    size: tuple[int, int]


Meta: TypeAlias = Names | Resize


class Pending:
    """Everything that a power loss decides about, under one preset that has a log or chains.

    Args:
        base: the disk before the first operation; all of it is durable.

    Attributes:
        count: operations and markers so far; the next one has this index.
        files: every file by inode. directories: directory -> the names in it that are durable.
        symlinks: inode -> target. specials: inodes of any other kind.
        log: changes of names, and in presets with a log truncations and reservations too, that are not durable.
        log_stamp: another number after each change of the log; durable_stamp: after each of the durable names.
        flushing: a rename in the log -> what it survives only with.
    """

    def __init__(self, base: FileSystem, preset: Preset) -> None:
        self.preset = preset
        self.count = 0
        self.files: dict[int, FileState] = {}
        self.directories: dict[int, dict[str, int]] = {}
        self.symlinks: dict[int, str] = {}
        self.specials: set[int] = set()
        self.log: list[Meta] = []
        self.log_stamp = 0
        self.durable_stamp = 0
        self.flushing: dict[Effect, Flushing] = {}
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

    @property
    def has_log(self) -> bool:
        """Whether names survive as a prefix of a log."""
        return self.preset.names == "log"

    def deciding(self) -> dict[int, set[Effect]]:
        """File -> the entries of the log that decide something about its content."""
        found: dict[int, set[Effect]] = {}
        for meta in self.log if self.has_log else ():
            if isinstance(meta, Resize):
                found.setdefault(meta.ino, set()).add(meta.effect)
            elif meta.effect in self.flushing:
                found.setdefault(self.flushing[meta.effect].ino, set()).add(meta.effect)
        return found

    def feed(self, op: ops.DiskOp) -> None:
        """Take the next operation."""
        handler = _HANDLERS.get(type(op))
        if handler is not None and not (self.preset.lies and isinstance(op, ops.Sync)):
            handler(self, op)
        self.count += 1

    def _named(self, ino: int, *entries: tuple[int, str, int | None]) -> None:
        for number, together in enumerate([(each,) for each in entries] if self.preset.splits else [entries]):
            keys = frozenset([entry[:2] for entry in together])
            self.log.append(Names((self.count, "entry", number), ino, together, keys))
        self.log_stamp += 1
        for directory, _, _ in entries:
            self._changed[directory] = self.count

    def _create(self, op: ops.Create) -> None:
        self.files[op.ino] = FileState(bytearray(), changed=self.count, data_changed=self.count)
        self._named(op.ino, (op.directory, op.name, op.ino))

    def _create_unnamed(self, op: ops.CreateUnnamed) -> None:
        self.files[op.ino] = FileState(bytearray(), changed=self.count, data_changed=self.count)

    def _mkdir(self, op: ops.Mkdir) -> None:
        self.directories[op.ino] = {}
        self._named(op.ino, (op.directory, op.name, op.ino))
        self._changed[op.ino] = self.count

    def _symlink(self, op: ops.Symlink) -> None:
        self.symlinks[op.ino] = op.target
        self._named(op.ino, (op.directory, op.name, op.ino))

    def _link(self, op: ops.Link) -> None:
        self._named(op.ino, (op.directory, op.name, op.ino))
        self._touch(op.ino)

    def _unlink(self, op: ops.Unlink | ops.Rmdir) -> None:
        self._named(op.ino, (op.directory, op.name, None))
        self._touch(op.ino)

    def _rename(self, op: ops.Rename) -> None:
        file = self.files.get(op.ino)
        if self.preset.replace_flushes and op.replaced is not None and file is not None:
            delayed = file.flush()
            if delayed:
                pages = tuple((page, file.pages[page][-1].op) for page in delayed)
                steps = file.steps_without(file.dropped, self.preset)
                size = file.sizes[steps - 1].place if steps else (-1, 0)
                self.flushing[self.count, "entry", 0] = Flushing(op.ino, pages, size)
        self._named(op.ino, (op.directory, op.name, None), (op.to_directory, op.to_name, op.ino))
        self._touch(op.ino)
        if op.replaced is not None:
            self._touch(op.replaced)

    def _touch(self, ino: int) -> None:
        file = self.files.get(ino)
        if file is not None:
            file.changed = self.count
        elif ino in self.directories:
            self._changed[ino] = self.count

    def _write(self, op: ops.Write) -> None:
        file = self.files[op.ino]
        # A write of nothing changes nothing, wherever it is.
        if op.data and file.write(self.count, op.offset, op.data):
            file.changed = file.data_changed = self.count

    def _truncate(self, op: ops.Truncate) -> None:
        if op.new != op.old:
            self._resized(op.ino, op.new)

    def _fallocate(self, op: ops.Fallocate) -> None:
        file = self.files[op.ino]
        end = op.offset + op.length
        file.reserve(range(op.offset // PAGE, -(-end // PAGE)))
        file.changed = file.data_changed = self.count
        if not op.keep_size and end > len(file.data):
            self._resized(op.ino, end)

    def _resized(self, ino: int, size: int) -> None:
        file = self.files[ino]
        file.resize(self.count, size)
        file.changed = file.data_changed = self.count
        if self.has_log:
            self.log.append(Resize((self.count, "size", 0), ino))
            self.log_stamp += 1

    def _fsync(self, op: ops.Fsync | ops.Fdatasync) -> None:
        file = self.files[op.ino]
        if self.preset.commits == "named":
            self._commit_named(op.ino)
        elif self.preset.commits == "all" and file.needs_blocks:
            # Writing the data allocates, and that is a change of metadata at this moment.
            self._commit_for(self.count)
        else:
            self._commit_for(file.changed if isinstance(op, ops.Fsync) else file.data_changed)
        file.save(self.preset)

    def _sync_failed(self, op: ops.SyncFailed) -> None:
        """Nothing becomes durable, and the log stays as it is; of the pages no later sync knows any more.

        What a rename has asked for before was on its way before: it survives with the rename, as it would have.
        """
        self.files[op.ino].drop()

    def _fsync_directory(self, op: ops.FsyncDirectory) -> None:
        if self.preset.commits in ("all", "own"):
            self._commit_for(self._changed.get(op.ino, -1))
        else:
            self._commit_chains({each.effect for each in self.log if isinstance(each, Names) and _is_in(each, op.ino)})

    def _sync_all(self, op: ops.SyncAll) -> None:
        self._commit(self.count)
        for file in self.files.values():
            file.save(self.preset)

    def _commit_for(self, change: int) -> None:
        """Save of the log what a sync of an inode saves whose latest change was at that operation."""
        if self.has_log and change >= self._committed:
            self._commit(self.count if self.preset.commits == "all" else change)

    def _commit(self, upto: int) -> None:
        """The log up to that operation is durable."""
        count = bisect_right(self.log, upto, key=lambda each: each.op)
        self._committed = max(self._committed, upto + 1)
        if count:
            saved, self.log = self.log[:count], self.log[count:]
            self.log_stamp += 1
            for each in saved:
                self._apply(each)

    def _commit_named(self, ino: int) -> None:
        """The names of an inode are durable, the directories that are new on the way to them, and its own sizes."""
        wanted: set[Effect] = set()
        inodes = [ino]
        for each in inodes:
            for meta in self.log:
                if isinstance(meta, Names) and meta.ino == each:
                    wanted.add(meta.effect)
                    inodes.extend(parent for parent, _, child in meta.entries if child and parent not in inodes)
        self.log = [each for each in self.log if not (isinstance(each, Resize) and each.ino == ino)]
        self.log_stamp += 1
        self._commit_chains(wanted)

    def _commit_chains(self, wanted: set[Effect]) -> None:
        """These changes of names are durable, and what stands before them in their chains."""
        keys: set[Key] = set()
        kept: list[Meta] = []
        saved: list[Meta] = []
        for each in reversed(self.log):
            names = each.keys if isinstance(each, Names) else frozenset()
            if each.effect in wanted or keys & names:
                keys |= names
                saved.append(each)
            else:
                kept.append(each)
        if saved:
            self.log = kept[::-1]
            self.log_stamp += 1
            for each in reversed(saved):
                self._apply(each)

    def _apply(self, meta: Meta) -> None:
        if isinstance(meta, Resize):
            self.files[meta.ino].save_resize(meta.op)
            return
        flushed = self.flushing.pop(meta.effect, None)
        if flushed is not None:
            file = self.files[flushed.ino]
            for page, upto in flushed.pages:
                file.save_page(page, upto)
            file.save_size(flushed.size)
            file.settle()
        self.durable_stamp += 1
        for directory, name, ino in meta.entries:
            if ino is None:
                self.directories[directory].pop(name, None)
            else:
                self.directories[directory][name] = ino


def _is_in(meta: Names, directory: int) -> bool:
    return any(entry[0] == directory for entry in meta.entries)


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
    ops.SyncFailed: Pending._sync_failed,
    ops.SyncAll: Pending._sync_all,
}
