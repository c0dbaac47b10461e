"""The simulated disk: what was done to it, and (to come) what a crash may leave of that.

The fault model. A disk holds inodes and names. An operation changes one inode's content or size (write, truncate,
fallocate), or one directory's entries (create, link, symlink, unlink, mkdir, rmdir; a rename changes two), or it is a
barrier (fsync and fdatasync of a file, fsync of a directory, sync). Content belongs to the inode, so it survives the
renaming and the removal of its name while somebody has it open. Closing a file makes nothing durable. What readers
see is every operation at once and in order; what is durable is only what a barrier covered, and a crash may take any
of the rest, within what the file system promises: names and content apart, pages of one write apart, the size apart
from both. A call that failed has done nothing. What was there before the recording began is durable.

What there is so far is the first half, `Recorder`: it sees a backend's ordinary Python input and output under one
root without a change to the backend, counts it for each API call, keeps it as operations, and checks by its own image
of the tree that no write was missed.

Not built yet: crash states, in any preset; faults of the living disk (a failed fsync, a full disk); the recorder for
other processes. Not simulated at all: modes, owners, times and extended attributes; memory mappings and input and
output that C extensions do by themselves, which make a recording doubtful (`Recorder.doubts`); what a forked child
does, which is not recorded in the child and found in the parent by the image check alone.
"""

from __future__ import annotations

from conformance.sim.disk.capture import Recorder, RecorderError
from conformance.sim.disk.counts import IoCount
from conformance.sim.disk.image import FileSystem, Tree, difference
from conformance.sim.disk.patching import Patching

__all__ = ["FileSystem", "IoCount", "Patching", "Recorder", "RecorderError", "Tree", "difference"]
