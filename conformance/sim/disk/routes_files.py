"""The patched ways to a file object: `open`, `io.FileIO`, `io.open_code`, and memory mappings.

`io.open` makes its layers in C and never looks at what `os` holds, so a file under the root gets a raw layer of our
own: a `FileIO` whose reads, writes and truncations are reported. The buffered and text layers above it are the usual
ones; they call the raw layer's methods, and so what a buffer holds back is not on the disk yet.

Promises: the same file objects, errors and warnings as the real functions give. Files outside the root get the real
thing, unchanged.
"""

from __future__ import annotations

import io
import mmap
import warnings
import weakref
from abc import ABCMeta
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from conformance.sim.disk import real
from conformance.sim.disk.paths import OpenFile
from conformance.sim.disk.routes_descriptors import met_write
from conformance.sim.disk.routes_names import NAME_ROUTES
from conformance.sim.disk.session import SLOT, Session

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

_NO_LINES = "line buffering (buffering=1) isn't supported in binary mode, the default buffer size will be used"


class _FileIOType(ABCMeta):
    """Lets `RecordedFileIO` stand in for `io.FileIO`: the real one's instances are its own too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, real.FileIO) if cls is RecordedFileIO else super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, real.FileIO) if cls is RecordedFileIO else super().__subclasscheck__(subclass)

    def __call__(
        cls, file: Any, mode: str = "r", closefd: bool = True, opener: Callable[[Any, int], int] | None = None
    ) -> Any:
        if cls is RecordedFileIO and not _is_ours(file, opener):
            return real.FileIO(file, mode, closefd, opener)
        return super().__call__(file, mode, closefd, opener)


class RecordedFileIO(real.FileIO, metaclass=_FileIOType):
    """A raw file whose input and output are reported while its descriptor lies under the root of a recording."""

    # Messages and reports name the class that the caller knows.
    __module__ = "_io"
    __qualname__ = "FileIO"

    def __init__(
        self,
        file: Any,
        mode: str = "r",
        closefd: bool = True,
        opener: Callable[[Any, int], int] | None = None,
    ) -> None:
        opened: list[int] = []

        def recorded(path: Any, flags: int) -> int:
            fd = NAME_ROUTES.open(path, flags, 0o666) if opener is None else opener(path, flags)
            opened.append(fd)
            return fd

        try:
            super().__init__(file, mode, closefd, opener if isinstance(file, int) else recorded)
        except BaseException:
            # It found a directory, or could not seek, and has closed the descriptor by itself.
            if SLOT.session is not None:
                for fd in opened:
                    SLOT.session.files.pop(fd, None)
            raise
        if SLOT.session is not None and self.closefd:
            SLOT.session.owners[self.fileno()] = weakref.ref(self)

    def _recorded(self) -> tuple[Session, OpenFile] | None:
        session = SLOT.session
        file = None if session is None else session.files.get(self.fileno())
        return None if session is None or file is None else (session, file)

    def read(self, size: int | None = -1, /) -> Any:
        """See `io.FileIO.read`."""
        recorded = self._recorded()
        error = None if recorded is None or recorded[0].armed is None else recorded[0].meet("read", recorded[1])
        data = super().read(-1 if size is None else size)
        if recorded is not None:
            recorded[0].read(len(data or b""))
            if error is not None:
                raise error
        return data

    def readall(self) -> Any:
        """See `io.FileIO.readall`."""
        recorded = self._recorded()
        error = None if recorded is None or recorded[0].armed is None else recorded[0].meet("read", recorded[1])
        data = super().readall()
        if recorded is not None:
            recorded[0].read(len(data or b""))
            if error is not None:
                raise error
        return data

    def readinto(self, buffer: WriteableBuffer, /) -> Any:
        """See `io.FileIO.readinto`."""
        recorded = self._recorded()
        error = None if recorded is None or recorded[0].armed is None else recorded[0].meet("read", recorded[1])
        count = super().readinto(buffer)
        if recorded is not None:
            recorded[0].read(count or 0)
            if error is not None:
                raise error
        return count

    def write(self, data: ReadableBuffer, /) -> Any:
        """See `io.FileIO.write`."""
        recorded = self._recorded()
        if recorded is None:
            return super().write(data)
        session, file = recorded
        with session.lock:
            if session.armed is not None:
                return met_write(session, self.fileno(), file, (data,), lambda parts: real.FileIO.write(self, *parts))
            count = super().write(data)
            session.wrote(self.fileno(), file, count or 0, (data,))
        return count

    def truncate(self, size: int | None = None, /) -> int:
        """See `io.FileIO.truncate`."""
        recorded = self._recorded()
        if recorded is None:
            return super().truncate(size)
        session, file = recorded
        with session.lock:
            error = None if session.armed is None else session.meet("truncate", file)
            length = super().truncate(size)
            session.resized(file, length)
            if error is not None:
                raise error
        return length

    def close(self) -> None:
        """See `io.FileIO.close`."""
        session = SLOT.session
        error: OSError | None = None
        if session is not None and not self.closed and self.closefd:
            file = session.files.pop(self.fileno(), None)
            error = None if session.armed is None else session.meet("close", file)
        super().close()
        if error is not None:
            raise error


RecordedFileIO.__name__ = "FileIO"


def _is_ours(file: Any, opener: object) -> bool:
    """Whether opening that may give a descriptor under the root of a recording. An opener may open anything."""
    session = SLOT.session
    return session is not None and (opener is not None or session.is_under(file, None))


class FileRoutes:
    """The patched `io.open` and `io.open_code`."""

    def open(
        self,
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Callable[[Any, int], int] | None = None,
    ) -> Any:
        """See `io.open`."""
        if not _is_ours(file, opener) or not _is_sound(mode, buffering, (encoding, errors, newline)):
            return real.io_open(file, mode, buffering, encoding, errors, newline, closefd, opener)
        binary = "b" in mode
        if not binary:
            encoding = io.text_encoding(encoding, 3)
        elif buffering == 1:
            warnings.warn(_NO_LINES, RuntimeWarning, stacklevel=2)
        raw = RecordedFileIO(file, mode.replace("b", "").replace("t", ""), closefd, opener)
        outermost: Any = raw
        try:
            terminal = buffering == 1 or (buffering < 0 and raw.isatty())
            if buffering == 0:
                if binary:
                    return raw
                raise ValueError("can't have unbuffered text I/O")
            size = _buffer_size(raw) if buffering < 0 or buffering == 1 else buffering
            outermost = buffered = _layer(mode)(raw, size)
            if binary:
                return buffered
            text: Any = io.TextIOWrapper(buffered, encoding, errors, newline, terminal)
            text.mode = mode
            return text
        except BaseException:
            outermost.close()
            raise

    def open_code(self, path: str) -> Any:
        """See `io.open_code`."""
        return self.open(path, "rb") if _is_ours(path, None) else real.open_code(path)


def _is_sound(mode: object, buffering: object, text_options: tuple[object, ...]) -> bool:
    """Whether the real `open` would go as far as opening the file. What is not sound is its to refuse."""
    if not isinstance(mode, str) or not isinstance(buffering, int) or len(set(mode)) != len(mode):
        return False
    letters = set(mode)
    if letters - set("axrwb+t") or len(letters & set("axrw")) != 1 or {"t", "b"} <= letters:
        return False
    return "b" not in mode or text_options == (None, None, None)


def _layer(mode: str) -> Callable[[Any, int], Any]:
    if "+" in mode:
        return io.BufferedRandom
    return io.BufferedReader if "r" in mode else io.BufferedWriter


def _buffer_size(raw: Any) -> int:
    size: int = raw._blksize
    return size if size > 1 else io.DEFAULT_BUFFER_SIZE


class _MmapType(type):
    """Lets `RecordedMmap` stand in for `mmap.mmap`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, real.mmap) if cls is RecordedMmap else super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, real.mmap) if cls is RecordedMmap else super().__subclasscheck__(subclass)

    def __call__(cls, fileno: int, length: int, *args: Any, **options: Any) -> Any:
        maker = real.mmap if cls is RecordedMmap else super().__call__
        mapping = maker(fileno, length, *args, **options)
        session = SLOT.session
        file = None if session is None else session.files.get(fileno)
        if session is not None and file is not None:
            session.mapped(file, len(mapping), writable=_is_shared_writable(*args, **options))
        return mapping


class RecordedMmap(real.mmap, metaclass=_MmapType):
    """Never made: the call gives a real mapping, and is reported."""


def _is_shared_writable(
    flags: int | None = None, prot: int | None = None, access: int = mmap.ACCESS_DEFAULT, *_: Any, **__: Any
) -> bool:
    if access != mmap.ACCESS_DEFAULT:
        return access == mmap.ACCESS_WRITE
    shared = flags is None or bool(flags & mmap.MAP_SHARED)
    return shared and (prot is None or bool(prot & mmap.PROT_WRITE))


FILE_ROUTES = FileRoutes()
