"""Giving a new log its name: whole and durable, or not at all, and never in place of another.

Written to a temporary file, synced, linked to its name (a link never replaces), the directory synced. Only the holder
of the session's lock does this.
"""

from __future__ import annotations

import logging
import os

from reference_backend.disk import Identity, identity_of, is_file, link_new, remove, sync_directory, write_all
from reference_backend.place import Place

logger = logging.getLogger("torntail.reference")


def new_file(place: Place) -> int:
    """A descriptor of a fresh, empty temporary file; what a killed process left under that name is removed."""
    remove(place.temporary)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.open(place.temporary, flags, 0o600)


class Publication:
    """The first appearance of one session's artifact.

    Attributes:
        debris: the file that may have its name although publishing has not succeeded: readers of the instance look past
            it. The caller sets it to None once its own state says that the log is there.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self.debris: Identity | None = None

    def publish(self, data: bytes) -> tuple[int, Identity]:
        """Make the artifact of ``data``: its descriptor and identity. The caller made sure that none is there.

        Raises:
            OSError: the storage refused. The name is free again, or ``debris`` says which file could not be removed.
        """
        place = self._place
        fd = new_file(place)
        try:
            identity = identity_of(os.fstat(fd))
            write_all(fd, data, 0)
            os.fsync(fd)
            # What may stand there is a torn creation: no session, and in the way of the link.
            remove(place.file)
            self.debris = identity
            link_new(place.temporary, place.file, identity)
            os.unlink(place.temporary)
            sync_directory(place.directory)
        except BaseException:
            os.close(fd)
            self._try_to_clear()
            raise
        return fd, identity

    def clear(self) -> None:
        """Take the name away from a log whose publishing failed, durably."""
        if self.debris is None:
            return
        if is_file(self._place.file, self.debris):
            os.unlink(self._place.file)
        remove(self._place.temporary)
        sync_directory(self._place.directory)
        self.debris = None

    def _try_to_clear(self) -> None:
        try:
            if self.debris is None:
                # Never linked: a temporary file that stays is no session, and the next one to publish removes it.
                remove(self._place.temporary)
            else:
                self.clear()
        except OSError:
            logger.warning(
                "session %r: a failed materialisation is not undone yet; the next call tries again",
                self._place.session_id,
                exc_info=True,
            )
