"""Owning a stored session: look, lock, look again, and take in what is there.

The first look makes sure that nothing is made where no session is, the second that nothing changed on the way to the
lock. A write open writes nothing: what it found is made durable by the first barrier of its handle.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from conformance.contract import SessionEvent
from reference_backend.artifact import Artifact, names_in, open_own, refuse_others, still_there
from reference_backend.place import Place
from reference_backend.positions import LogEnd
from reference_backend.ranges import BytesRange, Damage
from reference_backend.records import stored_check
from reference_backend.writer import Writer, lock_of


class Owned(NamedTuple):
    """A writer, what it found, and the events in that where the log is small (it was decoded whole to be judged)."""

    writer: Writer
    artifact: Artifact
    events: list[SessionEvent] | None


def own_stored(place: Place, *, known: Callable[[Artifact, int], LogEnd | None], at_once: bool = False) -> Owned:
    """Own a stored session, or refuse and hold nothing.

    Args:
        known: tells where a log ends whose last writer in this instance could not undo a failed append, given who
            owned it last; else None.
        at_once: refuse a log that is not small.

    Raises:
        SessionPersistenceNotFoundError, SessionAlreadyOwnedError: absent, or owned elsewhere.
        SessionPersistenceCorruptionError, SessionFormatUnsupportedError: the stored log cannot be continued.
        LongLogError: with ``at_once`` only.
    """
    artifact = open_own(place, os.O_RDWR, at_once=at_once)
    if artifact is None:
        refuse_others(place, names_in(place), alone=True)
        raise place.not_found()
    try:
        lock = lock_of(place)
        try:
            current = still_there(place, artifact, at_once=at_once)
            if current is None:
                os.close(artifact.fd)
                artifact = None
                current = artifact = open_own(place, os.O_RDWR, at_once=at_once)
            if current is None:
                raise place.not_found()
            names = names_in(place)
            refuse_others(place, names, alone=False)
            end = known(current, lock.former)
            log, events = _judged(place, current, end)
        except BaseException:
            lock.release()
            raise
    except BaseException:
        if artifact is not None:
            os.close(artifact.fd)
        raise
    stray = f"{place.codec.file_name}.tmp" in names
    return Owned(Writer.of_stored(place, current, lock, log, unrolled=end is not None, stray=stray), current, events)


def _judged(place: Place, artifact: Artifact, known: LogEnd | None) -> tuple[LogEnd, list[SessionEvent] | None]:
    """Where the log ends, with its events where it is small; refuses what cannot be continued."""
    codec, source, block = place.codec, artifact.source, artifact.block
    check = stored_check(place.session_id, place.file)
    try:
        taken = codec.take_in(source, block, check) if known is None else None
        if taken is not None:
            return taken
        log = codec.recover(source, block) if known is None else known
        if isinstance(source, BytesRange):
            sound = codec.take_in(BytesRange(source.data[: log.end]), block, check)
            if sound is None or sound[0] != log.without_kept():
                return log, codec.read(source, block, log, 0, log.total, check)
            return log, sound[1] + codec.read(source, block, log, log.next_seq, log.total, check)
        codec.validate(source, block, log, check)
    except Damage as error:
        raise place.corruption(str(error)) from error
    return log, None
