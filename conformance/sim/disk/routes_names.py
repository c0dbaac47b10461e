"""The patched functions that work on paths: opening, making, moving and removing names, listing, looking.

Promises: as in `routes_descriptors`. What only looks, or changes attributes that no operation holds, is counted as
metadata and passed on.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from types import MethodType, TracebackType
from typing import TYPE_CHECKING, Any

from conformance.sim.disk import real
from conformance.sim.disk.paths import Where
from conformance.sim.disk.session import SLOT, Session

if TYPE_CHECKING:
    from _typeshed import StrOrBytesPath

METADATA = (
    "stat lstat fstat access readlink statvfs fstatvfs chmod fchmod chown fchown lchown utime "
    "getxattr setxattr listxattr removexattr"
).split()
"""Functions whose first argument is a path or a descriptor, and which change no name, size or content."""


class NameRoutes:
    """One method for each function of `os`, under its name."""

    NAMES = ("open truncate mkdir rmdir unlink remove rename replace link symlink mkfifo mknod listdir scandir").split()

    def open(self, path: StrOrBytesPath, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """See `os.open`."""
        session = SLOT.session
        if session is None or (where := session.under(path, dir_fd)) is None:
            outside: int = real.open(path, flags, mode, dir_fd=dir_fd)
            if session is not None:
                # Something that is not seen must have closed the number, if it was known.
                session.files.pop(outside, None)
            return outside
        with session.lock:
            error = None if session.armed is None else session.meet("open", where, path)
            fd: int = real.open(path, flags, mode, dir_fd=dir_fd)
            session.opened(fd, where, flags)
            if error is not None:
                # Nobody was given the number.
                session.files.pop(fd, None)
                real.close(fd)
                raise error
        return fd

    def truncate(self, path: StrOrBytesPath | int, length: int) -> None:
        """See `os.truncate`."""
        session = SLOT.session
        if session is None:
            real.truncate(path, length)
            return
        if isinstance(path, int):
            os.ftruncate(path, length)
            return
        where = session.under(path)
        if where is None:
            real.truncate(path, length)
            return
        with session.lock:
            error = None if session.armed is None else session.meet("truncate", where, path)
            real.truncate(path, length)
            session.resized_path(where, length)
            if error is not None:
                raise error

    def mkdir(self, path: StrOrBytesPath, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        """See `os.mkdir`."""
        _change("mkdir", path, dir_fd, lambda: real.mkdir(path, mode, dir_fd=dir_fd), Session.made_directory)

    def rmdir(self, path: StrOrBytesPath, *, dir_fd: int | None = None) -> None:
        """See `os.rmdir`."""
        _change("unlink", path, dir_fd, lambda: real.rmdir(path, dir_fd=dir_fd), Session.removed)

    def unlink(self, path: StrOrBytesPath, *, dir_fd: int | None = None) -> None:
        """See `os.unlink`."""
        _change("unlink", path, dir_fd, lambda: real.unlink(path, dir_fd=dir_fd), Session.removed)

    def remove(self, path: StrOrBytesPath, *, dir_fd: int | None = None) -> None:
        """See `os.remove`."""
        _change("unlink", path, dir_fd, lambda: real.remove(path, dir_fd=dir_fd), Session.removed)

    def mkfifo(self, path: StrOrBytesPath, mode: int = 0o666, *, dir_fd: int | None = None) -> None:
        """See `os.mkfifo`."""
        _change("", path, dir_fd, lambda: real.mkfifo(path, mode, dir_fd=dir_fd), Session.made_special)

    def mknod(self, path: StrOrBytesPath, mode: int = 0o600, device: int = 0, *, dir_fd: int | None = None) -> None:
        """See `os.mknod`."""
        _change("", path, dir_fd, lambda: real.mknod(path, mode, device, dir_fd=dir_fd), Session.made_special)

    def rename(
        self, src: StrOrBytesPath, dst: StrOrBytesPath, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
    ) -> None:
        """See `os.rename`."""
        _move(real.rename, src, dst, src_dir_fd, dst_dir_fd)

    def replace(
        self, src: StrOrBytesPath, dst: StrOrBytesPath, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
    ) -> None:
        """See `os.replace`."""
        _move(real.replace, src, dst, src_dir_fd, dst_dir_fd)

    def link(
        self,
        src: StrOrBytesPath,
        dst: StrOrBytesPath,
        *,
        src_dir_fd: int | None = None,
        dst_dir_fd: int | None = None,
        follow_symlinks: bool = True,
    ) -> None:
        """See `os.link`."""
        options = {"src_dir_fd": src_dir_fd, "dst_dir_fd": dst_dir_fd, "follow_symlinks": follow_symlinks}
        session = SLOT.session
        target = None if session is None else session.under(dst, dst_dir_fd, follow=False)
        if session is None or target is None:
            real.link(src, dst, **options)
            return
        source = session.under(src, src_dir_fd, follow=follow_symlinks)
        with session.lock:
            error = None if session.armed is None else session.meet("link", target, src, dst)
            real.link(src, dst, **options)
            # Whether a link that `src` names was looked through depends on the arguments and on the platform.
            session.linked(source, target, symlink=_kind(dst, dst_dir_fd) == stat.S_IFLNK)
            if error is not None:
                raise error

    def symlink(
        self,
        src: StrOrBytesPath,
        dst: StrOrBytesPath,
        target_is_directory: bool = False,
        *,
        dir_fd: int | None = None,
    ) -> None:
        """See `os.symlink`."""
        session = SLOT.session
        if session is not None:
            session.locator.forget()
        _change(
            "link",
            dst,
            dir_fd,
            lambda: real.symlink(src, dst, target_is_directory, dir_fd=dir_fd),
            lambda session, where: session.made_symlink(os.fsdecode(src), where),
            src,
        )

    def listdir(self, path: Any = None) -> list[Any]:
        """See `os.listdir`."""
        session = SLOT.session
        error = None if session is None or session.armed is None else _met_listing(session, path)
        entries: list[Any] = real.listdir(path)
        if session is not None and session.is_under("." if path is None else path, None):
            session.looked()
            session.listed(len(entries))
        if error is not None:
            raise error
        return entries

    def scandir(self, path: Any = None) -> Any:
        """See `os.scandir`."""
        session = SLOT.session
        if session is None or not session.is_under("." if path is None else path, None):
            return real.scandir(path)
        error = None if session.armed is None else _met_listing(session, path)
        entries = real.scandir(path)
        session.looked()
        if error is not None:
            entries.close()
            raise error
        return _Listing(entries, session)


class _Listing:
    """What `os.scandir` gives, counted entry by entry."""

    def __init__(self, entries: Any, session: Session) -> None:
        self._entries = entries
        self._session = session

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        entry = next(self._entries)
        self._session.listed(1)
        return entry

    def __enter__(self) -> _Listing:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free what the listing holds open."""
        self._entries.close()


def _met_listing(session: Session, path: Any) -> OSError | None:
    """See `Session.meet`, for a listing of a path, a descriptor, or the working directory."""
    if isinstance(path, int):
        return session.meet("look", session.files.get(path))
    return session.meet("look", session.under("." if path is None else path), "." if path is None else path)


def _change(
    kind: str,
    path: object,
    dir_fd: int | None,
    change: Callable[[], None],
    report: Callable[[Session, Where], None],
    *source: object,
) -> None:
    """Do a change of one name, which a fault of that kind may meet; "" is met by none."""
    session = SLOT.session
    if session is None or (where := session.under(path, dir_fd, follow=False)) is None:
        change()
        return
    with session.lock:
        error = None if session.armed is None or not kind else session.meet(kind, where, *source, path)
        change()
        report(session, where)
        if error is not None:
            raise error


def _move(
    move: Callable[..., None],
    src: StrOrBytesPath,
    dst: StrOrBytesPath,
    src_dir_fd: int | None,
    dst_dir_fd: int | None,
) -> None:
    session = SLOT.session
    if session is None:
        move(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        return
    source = session.under(src, src_dir_fd, follow=False)
    target = session.under(dst, dst_dir_fd, follow=False)
    if source is None and target is None:
        move(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        if _kind(dst, dst_dir_fd) != stat.S_IFREG:
            session.locator.forget()
        return
    with session.lock:
        error = None if session.armed is None else session.meet("rename", source or target, src, dst)
        move(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        session.renamed(source, target)
        if error is not None:
            raise error


def _kind(path: StrOrBytesPath, dir_fd: int | None) -> int:
    try:
        return stat.S_IFMT(real.lstat(path, dir_fd=dir_fd).st_mode)
    except OSError:
        # Another thread or process was quicker; what was done is done all the same.
        return 0


def _looked_at(session: Session, target: object, options: dict[str, Any]) -> Where | None:
    """The place of a path that is asked about; None for a descriptor, and outside the root."""
    if isinstance(target, int):
        return None
    return session.under(target, options.get("dir_fd"), follow=options.get("follow_symlinks", True))


def metadata_route(name: str) -> Callable[..., Any]:
    """The patched twin of a function in `METADATA`."""

    denied = name == "access"

    def route(names: NameRoutes, *args: Any, **options: Any) -> Any:
        session = SLOT.session
        if session is None:
            return getattr(real, name)(*args, **options)
        target = args[0] if args else options.get("path", options.get("fd"))
        error: OSError | None = None
        if session.armed is not None and (where := _looked_at(session, target, options)) is not None:
            if denied:
                if session.denied(where):
                    return False
            else:
                error = session.meet("look", where, target)
        result = getattr(real, name)(*args, **options)
        if session.is_under(target, options.get("dir_fd")):
            session.looked()
        if error is not None:
            raise error
        return result

    route.__name__ = route.__qualname__ = name
    return MethodType(route, NAME_ROUTES)


NAME_ROUTES = NameRoutes()
