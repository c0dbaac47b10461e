"""The operating system's functions as they were before anything was patched.

The recorder's own modules take them from here, and their names are the only ones that patching leaves alone. A
function that this platform lacks is `None`, and nobody can call what has no patched twin either.
"""

from __future__ import annotations

import io
import mmap as _mmap
import os
from typing import Any


def _of(name: str) -> Any:
    return getattr(os, name, None)


try:
    import fcntl as _fcntl
except ImportError:  # no such module on Windows, and nothing to patch
    _fcntl = None  # type: ignore[assignment]

fcntl: Any = getattr(_fcntl, "fcntl", None)
F_SETFL: int = getattr(_fcntl, "F_SETFL", -1)
F_FULLFSYNC: int = getattr(_fcntl, "F_FULLFSYNC", -1)
F_DUPLICATE: frozenset[int] = frozenset(
    getattr(_fcntl, name) for name in ("F_DUPFD", "F_DUPFD_CLOEXEC") if hasattr(_fcntl, name)
)

FileIO = io.FileIO
io_open = io.open
open_code = io.open_code
mmap = _mmap.mmap

open = _of("open")
close = _of("close")
closerange = _of("closerange")
dup = _of("dup")
dup2 = _of("dup2")
read = _of("read")
readv = _of("readv")
pread = _of("pread")
preadv = _of("preadv")
write = _of("write")
writev = _of("writev")
pwrite = _of("pwrite")
pwritev = _of("pwritev")
sendfile = _of("sendfile")
copy_file_range = _of("copy_file_range")
splice = _of("splice")
ftruncate = _of("ftruncate")
truncate = _of("truncate")
posix_fallocate = _of("posix_fallocate")
fsync = _of("fsync")
fdatasync = _of("fdatasync")
sync = _of("sync")
rename = _of("rename")
replace = _of("replace")
link = _of("link")
symlink = _of("symlink")
unlink = _of("unlink")
remove = _of("remove")
mkdir = _of("mkdir")
rmdir = _of("rmdir")
mkfifo = _of("mkfifo")
mknod = _of("mknod")
listdir = _of("listdir")
scandir = _of("scandir")
stat = _of("stat")
lstat = _of("lstat")
fstat = _of("fstat")
access = _of("access")
readlink = _of("readlink")
statvfs = _of("statvfs")
fstatvfs = _of("fstatvfs")
chmod = _of("chmod")
fchmod = _of("fchmod")
chown = _of("chown")
fchown = _of("fchown")
lchown = _of("lchown")
utime = _of("utime")
getxattr = _of("getxattr")
setxattr = _of("setxattr")
listxattr = _of("listxattr")
removexattr = _of("removexattr")
