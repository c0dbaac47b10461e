"""The simulated disk: what was done to it, what of that a crash may leave, and the files of each such state.

The fault model. A disk holds inodes and names. An operation changes one inode's content or size (write, truncate,
fallocate), or the entries of a directory (create, link, symlink, unlink, mkdir, rmdir; a rename changes two), or it is
a barrier (fsync and fdatasync of a file, fsync of a directory, sync). Content belongs to the inode, so that it survives
the renaming and the removal of its name while somebody has it open. Closing a file makes nothing durable. Readers see
every operation at once and in order.

What can survive by itself is an *effect*: one change of names (a rename is one, with both its names), one page of a
write, one step of a size (each page edge on the way, and the end). Effects on the same name, page or size form a
*chain*: the newest is what memory holds, so a later one on the disk contains the earlier, and only a prefix of a chain
survives. Sizes and pages are apart: bytes below the size that no page covers read as NUL, pages beyond it are not seen.
A barrier shortens chains from the front; which chains, and which effects cannot survive without others, is what a
*preset* says (`presets`): `kill`, `ordered`, `ext4`, `xfs`, `btrfs`, `posix`, `paranoid`, from the weakest adversary to
the strongest; `btrfs` is for information and `paranoid` for the curious, and no durability level has either. A
killed process syncs nothing: what it wrote stays pending, and what the next one does is appended to the same trace. A
call that failed has done nothing. What was there before the recording began is durable.

The living storage fails too, where a `Fault` says so (`faults` tells how). A refused call has done nothing, with one
exception: where the sync of a file is refused, the pages that were not durable become clean in memory. They can be read
as before, a crash may find them on the disk or not, and no later sync saves them, because there is nothing left that it
would write: only a new write to such a page, and a sync after it, does (with the whole page). The size that ends in
such a page is saved by later syncs where the preset has the block for it, and then shows what was there, or NUL. A
failed sync of a directory loses nothing: its entries stay pending, and the next good one saves them. What a rename on
`ext4` had asked to be written before the sync failed still survives with it; later renames ask in vain. In `ordered` a
failed sync means nothing. A process kill takes nothing of the pages, and what the failed sync left goes on into the
next life, for the trace does.

The presets rest on crash images that were really taken from ext4 and XFS (`tests/data/measured_crashes.json`): each of
them is among the states of its preset, and of `posix`.

From the bottom: `ops` (the operations), `image` (a tree by inode), `faults` (which call fails, and how), `capture`,
`session`, `patching`, `routes_*` and `journal` (the recorder of Python's own input and output), `strace_lines` and
`strace` (the same operations, of any process, read off what ``strace`` wrote), `trace` (what a recording came to),
`presets`, `chains` and `effects` (what is durable and what is not), `graph` (what survives only with what),
`namespace` and `content` (the two factors of a state), `state`, `ordered`, `survival`, `sampling`, `untrusted` and
`states` (all of them, counted, enumerated within a budget, or chosen), `fates` (the same told to people),
`materialise` (a state as plain files), `remains` (what a dead process had open).

Not simulated: modes, owners, times and extended attributes, which are given back as they were, and a sync whose failure
is reported on another descriptor than the one that wrote. Memory mappings, and input and output that C extensions do
by themselves, make a recording doubtful (`Recorder.doubts`), and crashes of that backend *not measured*; what a forked
child does is found by the image check alone. A barrier that was missed leaves no trace in an image: the recorder from
outside is there to be compared with. Memory mappings and io_uring are hidden from both.
"""

from __future__ import annotations

from conformance.sim.disk.capture import Recorder, RecorderError
from conformance.sim.disk.counts import IoCount
from conformance.sim.disk.faults import Fault, Fired
from conformance.sim.disk.image import FileSystem, Tree, difference
from conformance.sim.disk.patching import Patching
from conformance.sim.disk.presets import PRESETS
from conformance.sim.disk.states import Disk, State
from conformance.sim.disk.trace import Trace

__all__ = [
    "PRESETS",
    "Disk",
    "Fault",
    "FileSystem",
    "Fired",
    "IoCount",
    "Patching",
    "Recorder",
    "RecorderError",
    "State",
    "Trace",
    "Tree",
    "difference",
]
