"""The writing side of one session: materialise, append durably, roll back, repair, release.

Blocking, one call at a time. A ``Writer`` of a created session holds nothing of the disk until its first append or
flush: its id is free for other instances until then, and who links the artifact first has it. From then on it holds
the lock and the open log.

Invariants, in the order a crash tests them:

- what was found at a write open is written again and synced, with the directory, before anything new is written: the
  process that wrote it may have been killed before it synced, or met an fsync that failed and left the pages clean;
- each batch is synced before the next is written, so only the last one can be torn;
- a failed write or sync is undone durably before anything else; until that works ``log`` stays at the last synced
  batch, readers of the instance are bounded by it, and the next call tries again. The bytes are always written anew,
  never only synced again;
- records kept from a torn batch are never at risk: they move to a rewritten copy of the log that replaces the old one
  by a rename.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass

from conformance.contract import (
    SessionFormatUnsupportedError,
    SessionHeader,
    SessionPersistenceCorruptionError,
)
from reference_backend.artifact import Artifact, header_line, open_artifact
from reference_backend.disk import (
    Identity,
    cut,
    identity_of,
    is_file,
    remove,
    sync_data,
    sync_directory,
    write_all,
)
from reference_backend.locks import LockHeldError, SessionLock
from reference_backend.place import Place
from reference_backend.positions import LogEnd
from reference_backend.publish import Publication, new_file
from reference_backend.ranges import WINDOW, FileRange, chunks

logger = logging.getLogger("torntail.reference")


@dataclass(frozen=True, slots=True)
class Residue:
    """What a failed append left in a file when its writer had to let go: the log of that file ends before it.

    Another owner since makes it a part of the log, whether it wrote anything or not. ``owner`` is what the lock says
    until then.
    """

    identity: Identity
    size: int
    log: LogEnd
    owner: int


class Writer:
    """The owner of one session in this instance.

    Attributes:
        place: where the session lies.
        header, inherited: as created or as stored.
        log: where the log ends for every reader of this instance; None before materialisation.
        identity: which file the log is, also after ``release``; None before materialisation.
        released: ``release`` was called; for a session that was never materialised: it never was.
        residue: after a release that could not undo a failed append; else None.
    """

    def __init__(
        self, place: Place, header: SessionHeader, inherited: int | None, make_directory: Callable[[], None]
    ) -> None:
        self.place = place
        self.header = header
        self.inherited = inherited
        self.log: LogEnd | None = None
        self.identity: Identity | None = None
        self.released = False
        self.residue: Residue | None = None
        self._make_directory = make_directory
        self._lock: SessionLock | None = None
        self._fd = -1
        self._size = 0
        self._unsynced = False
        self._unrolled = False
        self._stray = True
        self._publication = Publication(place)
        self._upcoming: tuple[Identity, LogEnd] | None = None

    @classmethod
    def of_stored(
        cls, place: Place, artifact: Artifact, lock: SessionLock, log: LogEnd, *, unrolled: bool, stray: bool
    ) -> Writer:
        """The owner of a stored log, to whom artifact and lock belong from now on.

        Args:
            log: where it ends.
            unrolled: behind that stands a failed append that is not undone yet.
            stray: there is a temporary file, which means nothing.
        """
        self = cls(place, artifact.header, artifact.inherited, _nothing)
        self.log, self.identity = log, artifact.identity
        self._lock, self._fd, self._size = lock, artifact.fd, artifact.source.size
        self._unsynced, self._unrolled, self._stray = True, unrolled, stray
        return self

    @property
    def next_seq(self) -> int:
        """The seq an append has to start with."""
        return 0 if self.log is None else self.log.total

    @property
    def is_clean(self) -> bool:
        """Whether a flush has nothing to write, sync or undo: it only looks."""
        return self.log is not None and not self._unsynced and not self._unrolled

    @property
    def is_idle(self) -> bool:
        """Whether a release has nothing to write, sync, undo or remove: it only looks and lets go."""
        return self.is_clean if self.log is not None else self._publication.debris is None

    def append(self, lines: bytes, count: int) -> None:
        """Store a batch of encoded lines that continues the log; durable on return, undone on failure.

        Raises:
            SessionAlreadyExistsError, SessionAlreadyOwnedError: another instance materialised the id, or is about to.
            SessionOwnershipLostError, SessionPersistenceCorruptionError: the artifact is not as this handle left it.
            OSError: the storage refused; nothing of the batch is visible, and the same call may be made again.
        """
        log = self._prepare()
        if log is None:
            self._materialise(lines, count)
            return
        data, after = self.place.codec.encode_batch(lines, count, log)
        self._unrolled = True
        try:
            write_all(self._fd, data, log.end)
            sync_data(self._fd)
        except BaseException:
            self._try_to_roll_back()
            raise
        self.log, self._size, self._unrolled = after, after.end, False

    def flush(self) -> None:
        """Make durable what is there: the header of a session without events, and what a write open found."""
        if self.log is None:
            self._materialise(b"", 0)
            return
        self.verify()
        if self._unrolled:
            self._roll_back()
        if self._unsynced:
            self._sync_found(self.log)

    def verify(self) -> None:
        """Refuse where the artifact is not the one this handle left behind (SVC-14, DUR-10); looks, writes nothing.

        Raises:
            SessionOwnershipLostError: it was removed or replaced, or this is a forked copy of its owner.
            SessionPersistenceCorruptionError: it was cut, extended or changed in place.
        """
        if self.log is None:
            return
        lock, log = self._lock, self.log
        if lock is None or not lock.held:
            raise self.place.lost("this process does not hold its lock (a forked copy never does)")
        try:
            status = os.stat(self.place.file, follow_symlinks=False)
        except FileNotFoundError:
            raise self.place.lost(f"{self.place.file} was removed") from None
        if (status.st_dev, status.st_ino) != self.identity:
            raise self.place.lost(f"{self.place.file} was replaced")
        size = status.st_size
        if size < log.end if self._unrolled else size != self._size:
            raise self.place.corruption(f"it has {size} bytes, its writer left {self._size}")
        tail = log.tail
        if os.pread(self._fd, len(tail), log.end - len(tail)) != tail:
            raise self.place.corruption(f"the bytes before {log.end} were changed under its writer")

    def release(self) -> None:
        """The last barrier, then give everything up, whatever the barrier said.

        Raises:
            OSError, SessionPersistenceError: what ``flush`` raises; ownership is released all the same.
        """
        try:
            if self.log is not None:
                self.flush()
            else:
                self._publication.clear()
        finally:
            if self._unrolled:
                self._note_residue()
            self.released = True
            self._let_go()

    def abandon(self) -> None:
        """Give up what a write open took, before anything was done with it: no barrier, nothing written."""
        self.released = True
        self._let_go()

    def is_debris(self, artifact: Artifact) -> bool:
        """Whether an artifact is of a materialisation of this writer that has not succeeded."""
        return artifact.identity == self._publication.debris

    def log_in(self, artifact: Artifact) -> LogEnd | None:
        """Where the log ends in an artifact that is this writer's, for any thread; None where it is another's."""
        upcoming = self._upcoming
        if upcoming is not None and artifact.identity == upcoming[0]:
            return upcoming[1]
        return self.log if artifact.identity == self.identity else None

    # -- steps of an append ---------------------------------------------------------------------------------------

    def _prepare(self) -> LogEnd | None:
        """Everything that has to be durable, undone or repaired before new bytes; the log to append to."""
        if self.log is None:
            return None
        self.flush()
        if self.log.kept:
            self._rewrite(self.log)
        elif self._size > self.log.end:
            self._roll_back()
        return self.log

    def _sync_found(self, log: LogEnd) -> None:
        # Only the last batch and a torn one behind it can be unsynced. They are written again, not just synced: after a
        # sync that failed in the process before, its pages count as clean and a sync alone saves nothing.
        fd, start, size = self._fd, log.last_start, self._size
        piece = os.pread(fd, size - start, start) if size - start <= WINDOW else b""
        if len(piece) == size - start:
            write_all(fd, piece, start)
        else:
            with self.place.damage_told():
                for piece in chunks(FileRange(fd, size), start, size):
                    write_all(fd, piece, start)
                    start += len(piece)
        os.fsync(fd)
        if self._stray:
            remove(self.place.temporary)
        sync_directory(self.place.directory)
        self._unsynced = False

    def _roll_back(self) -> None:
        """Cut the file to the log's end, durably."""
        if self.log is not None:
            self._unrolled = True
            cut(self._fd, self.log.end)
            self._size, self._unrolled = self.log.end, False

    def _try_to_roll_back(self) -> None:
        try:
            self._roll_back()
        except OSError:
            logger.warning(
                "session %r: a failed append is not undone yet; the next call tries again",
                self.place.session_id,
                exc_info=True,
            )

    def _rewrite(self, log: LogEnd) -> None:
        """Replace a log with a torn tail by a copy in which the kept records are a whole batch."""
        codec = self.place.codec
        data, after = codec.encode_batch(log.kept, log.kept_count, log.without_kept())
        fd = new_file(self.place)
        try:
            position = 0
            with self.place.damage_told():
                for piece in chunks(FileRange(self._fd, log.end), 0, log.end):
                    write_all(fd, piece, position)
                    position += len(piece)
            write_all(fd, data, position)
            os.fsync(fd)
            identity = identity_of(os.fstat(fd))
            self._upcoming = identity, after
            try:
                os.rename(self.place.temporary, self.place.file)
            except OSError:
                if not is_file(self.place.file, identity):
                    raise
        except BaseException:
            os.close(fd)
            raise
        old, self._fd = self._fd, fd
        # The new name is not durable yet: until the directory is synced this log counts as found and unsynced.
        self._unsynced = True
        self.log, self.identity, self._size = after, identity, after.end
        self._upcoming = None
        os.close(old)
        sync_directory(self.place.directory)
        self._unsynced = False

    # -- materialisation ------------------------------------------------------------------------------------------

    def _materialise(self, lines: bytes, count: int) -> None:
        codec = self.place.codec
        data, log = codec.encode_header(header_line(self.header, self.inherited))
        if count:
            batch, log = codec.encode_batch(lines, count, log)
            data += batch
        if self._lock is None:
            self._make_directory()
            self._lock = lock_of(self.place)
        try:
            self._publication.clear()
            self._refuse_if_stored()
            fd, identity = self._publication.publish(data)
        except BaseException:
            # With debris the lock stays: nobody may take an append for stored that this handle reports as failed.
            if self._publication.debris is None:
                self._let_go()
            raise
        # In this order: a reader that sees the identity sees the log, and one that sees neither looks past the file.
        self._fd, self._size, self.log = fd, len(data), log
        self.identity = identity
        self._publication.debris = None

    def _refuse_if_stored(self) -> None:
        try:
            stored = open_artifact(self.place)
        except (SessionPersistenceCorruptionError, SessionFormatUnsupportedError) as error:
            # Not a log of ours, but not ours to replace either.
            raise self.place.already_exists() from error
        if stored is not None:
            os.close(stored.fd)
            raise self.place.already_exists()

    def _note_residue(self) -> None:
        try:
            size = os.fstat(self._fd).st_size
        except OSError:
            logger.warning(
                "session %r: what a failed append left behind is unknown", self.place.session_id, exc_info=True
            )
            return
        if self.log is not None and self.identity is not None and self._lock is not None:
            self.residue = Residue(self.identity, size, self.log, self._lock.signature)

    def _let_go(self) -> None:
        fd, self._fd = self._fd, -1
        lock, self._lock = self._lock, None
        try:
            if fd >= 0:
                os.close(fd)
        finally:
            if lock is not None:
                lock.release()


def lock_of(place: Place) -> SessionLock:
    """Take a session's lock, at once or not at all.

    Raises:
        SessionAlreadyOwnedError: somebody holds it.
    """
    try:
        return SessionLock.acquire(place.lock)
    except LockHeldError as error:
        raise place.already_owned(f"whoever holds {place.lock}") from error


def _nothing() -> None:
    """A stored session has its directory."""
