"""What a file system promises at a power loss, and what a process kill leaves: the presets, as data.

Promises: a preset says which operations a sync saves and which effects cannot survive without others; the states
themselves are made from that in `states`. The presets are named from the weakest adversary to the strongest.

* ``kill``: the process dies and the machine lives. Every completed operation is there, unsynced as it was; a write
  that was in flight may be cut at a page edge of the file.
* ``ordered``: a prefix of all operations since the latest sync of anything, the last write cut at 512 bytes. No file
  system is that tidy: it is there for comparison, and to shrink towards. A failed sync costs it nothing.
* ``ext4`` (data=ordered, delayed allocation): names, truncations and reservations are one log of which a prefix
  survives; pages survive one by one. A size may grow within an allocated block before its data (a NUL tail), and into
  a new block with data of its last page only. Where a truncation survives, no page shows what stood behind the cut.
  Renaming onto an existing name writes the new file's unallocated pages first. A sync commits the log only where that
  inode has an uncommitted change of its own, the blocks that its data still need included.
* ``xfs``: the same log; a size grows with the written page only; a rename writes nothing; a sync commits the log up to
  the last change of that inode or directory.
* ``btrfs``: reported, and gates at no level. The same log, out of which a sync takes what it saves: of a file its own
  names and the new directories that they need, of a directory its entries, and nothing that came before them. A size
  passes no page that is not there; it may grow within an allocated block as in ``ext4``. A rename writes nothing.
* ``posix``: what the standard allows. Every chain by itself; a sync of a file saves its data and size and no name of
  it, a sync of a directory its entries; one page may be torn at a sector of 512 bytes.
* ``paranoid``: asked for by name only, and part of no level. ``posix`` on hardware that lies: a rename may survive in
  one of its two names, a sync may save nothing, any of a page's sectors may be old, and where data is lost below the
  size there may be garbage. Its states are samples, never all of them.

After the failed sync of a file all of them but the first two agree: the pages that were not durable are there or not,
whatever is synced later, until they are written again and synced. They differ in the size that ends in such a page:
``ext4`` and ``btrfs`` save it where its block is there, ``xfs`` and ``posix`` only with the page.

Does not: say which presets a durability has to withstand; ``conformance.clauses.levels`` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from conformance.clauses.levels import presets_of

PAGE = 4096
"""Bytes of a page, and of a block."""

SECTOR = 512
"""Bytes that a disk writes whole."""

Names = Literal["all", "prefix", "log", "chains"]


@dataclass(frozen=True, slots=True)
class Preset:
    """The rules of one kind of crash.

    Attributes:
        names: how names survive. ``all``: everything does. ``prefix``: operations of every kind in order. ``log``: a
            prefix of one log of metadata. ``chains``: each name by itself.
        commits: what of the log a sync of a changed inode saves: "all" of it, up to its "own" last change, or the
            entries that are "named" by it wherever they stand.
        allocated_tail: a size may grow within an allocated block ahead of its data.
        sized_by_page: a size grows only together with the page it ends in.
        in_order: a size passes no page that was written on its way and is lost.
        replace_flushes: a rename onto an existing name writes the new file's unallocated pages first.
        tears: how one page may be torn: as a "prefix" of its sectors, or in "any" of them.
        splits: each name of a rename survives by itself.
        garbage: where a page is lost below the size, anything may stand.
        lies: a sync may save nothing, and be reported done.
    """

    name: str
    names: Names
    commits: Literal["all", "own", "named", ""] = ""
    allocated_tail: bool = False
    sized_by_page: bool = False
    in_order: bool = False
    replace_flushes: bool = False
    tears: Literal["prefix", "any", ""] = ""
    splits: bool = False
    garbage: bool = False
    lies: bool = False

    @property
    def is_power_loss(self) -> bool:
        """Whether what was not synced may be gone."""
        return self.names != "all"


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        each.name: each
        for each in (
            Preset("kill", "all"),
            Preset("ordered", "prefix"),
            Preset("ext4", "log", commits="all", allocated_tail=True, replace_flushes=True),
            Preset("xfs", "log", commits="own", sized_by_page=True),
            Preset("btrfs", "log", commits="named", allocated_tail=True, in_order=True),
            Preset("posix", "chains", tears="prefix"),
            Preset("paranoid", "chains", tears="any", splits=True, garbage=True, lies=True),
        )
    }
)
"""Every preset by name, from the weakest adversary to the strongest."""

__all__ = ["PAGE", "PRESETS", "SECTOR", "Preset", "presets_of"]
