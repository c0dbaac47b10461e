"""How a mutant is made: a conforming backend, one class of it replaced by a subclass with one defect.

A mutant is a ``Backend`` like any other, so ``pytest --backend=tests/mutants/seq.py:gap_accepted`` and ``torntail run``
take it. It also says which clause it breaks, and carries its healthy twin: the same construction with the defect off.
The grounds that mutants grow in are the memory backend, the reference, and the backends of ``tests/variants``.

Nothing here runs a check; ``tests/quality`` holds mutants and checks against each other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from conformance.contract import Backend, SessionEvent, SessionHub
from reference_backend import JsonlPersistence, jsonl
from reference_backend.handle import WriteHandle
from reference_backend.live import LiveQueue, subscribe
from reference_backend.memory import MemoryHandle, MemoryPersistence, memory
from reference_backend.memory import _Session as Session
from reference_backend.zstd_codec import ZstdCodec

_VARIANTS = str(Path(__file__).resolve().parents[1] / "variants")
sys.path.append(_VARIANTS)
try:
    from buffered_files import BufferedFiles, BufferedHandle, buffered_files
    from good_store import GoodFiles, GoodHandle, good_store
    from line_files import (
        BEGIN,
        NEXT,
        Stored,
        bytes_in,
        damaged,
        header_in,
        id_of,
        lines_of,
        load,
        mark_of,
        path_of,
        sealed,
        sync,
        unsealed,
        values_in,
        write_all,
    )
    from plain_files import Draft, EagerFiles, PlainFiles, PlainHandle, eager_files, plain_files
    from queued_files import QueuedFiles, QueuedHandle, outcome_of, queued_files, take_note
    from sqlite_rows import RowsHandle, RowsStore, sqlite_rows
finally:
    sys.path.remove(_VARIANTS)

__all__ = [
    "BEGIN",
    "BUFFERED",
    "EAGER",
    "FILES",
    "FRAMES",
    "GOOD",
    "LIVE_QUEUE",
    "MEMORY",
    "NEXT",
    "QUEUED",
    "ROWS",
    "SIGNALS",
    "SYNCING",
    "BufferedFiles",
    "BufferedHandle",
    "Crashes",
    "Draft",
    "EagerFiles",
    "GoodFiles",
    "GoodHandle",
    "Ground",
    "JsonlPersistence",
    "LiveQueue",
    "MemoryHandle",
    "MemoryPersistence",
    "Mutant",
    "PlainFiles",
    "PlainHandle",
    "QueuedFiles",
    "QueuedHandle",
    "RowsHandle",
    "RowsStore",
    "Session",
    "Signals",
    "Stored",
    "WriteHandle",
    "bytes_in",
    "damaged",
    "header_in",
    "id_of",
    "lines_of",
    "load",
    "mark_of",
    "outcome_of",
    "path_of",
    "planted",
    "sealed",
    "take_note",
    "unsealed",
    "values_in",
    "write_all",
]

Factory = Callable[[Path], Any]

Cause = Literal[
    "NUL tail",
    "torn record",
    "fused record",
    "lost rename",
    "zero-length replacement",
    "missing entry",
    "reordered files",
    "stranded buffer",
    "none of these",
]
"""What a crash left that the mutant cannot live with: the class that an explanation names."""


@dataclass(frozen=True)
class Crashes:
    """What the explanation of a crash mutant must come to.

    Attributes:
        weakest: the weakest preset that shows the defect; after a kill and a second life, that of the second crash.
        cause: the class of what was left.
        barrier: the one sync that would make every failing state impossible, as "fsync(what)" with one of: log,
            temporary file, index, header file, session directory, root, directory above the root. "" where none would:
            recovery is wrong, or what was lost was never handed to the operating system, or was taken away by hand.
    """

    weakest: Literal["kill", "ext4", "xfs", "posix"]
    cause: Cause
    barrier: str = ""


@dataclass(frozen=True, kw_only=True)
class Mutant(Backend):
    """A backend with exactly one defect.

    Attributes:
        breaks: the clause it breaks.
        also: at most two more that the same defect breaks, depending on who looks first.
        report: id of the public report it stands for, or "".
        sentinel: the one of its area without whose death a silent run means nothing.
        crash: what its explanation must come to, where only a crash shows the defect.
        story: the mistake in one line.
        healthy: the same construction with the defect off.
    """

    breaks: str
    also: tuple[str, ...] = ()
    report: str = ""
    sentinel: bool = False
    crash: Crashes | None = None
    story: str = ""
    healthy: Backend


@dataclass(frozen=True)
class Ground:
    """A conforming backend as mutants grow in it: ``build(service, handle)`` makes it of these two classes.

    Attributes:
        seam: the field of the backend that is made so.
        part: which part of it the classes are, where that is not its service and its handles.
    """

    backend: Backend
    service: type[Any]
    handle: type[Any]
    build: Callable[[type[Any], type[Any]], Callable[..., Any]]
    seam: str = "open"
    part: str = ""
    _twins: dict[str, Backend] = field(default_factory=dict)

    def healthy(self, defective: type[Any]) -> Backend:
        """The twin of a mutant: built in the same way, with an empty subclass in the place of the defective class."""
        kind = "service" if issubclass(defective, self.service) else "handle"
        if kind not in self._twins:
            service = type("HealthyService", (self.service,), {}) if kind == "service" else self.service
            handle = type("HealthyHandle", (self.handle,), {"__slots__": ()}) if kind == "handle" else self.handle
            name = f"healthy-{self.part or kind}-of-{self.backend.name}"
            self._twins[kind] = Backend(
                **{**_fields_of(self.backend), "name": name, self.seam: self.build(service, handle)}
            )
        return self._twins[kind]


def _fields_of(backend: Backend) -> dict[str, Any]:
    return {each.name: getattr(backend, each.name) for each in fields(Backend)}


def planted(
    ground: Ground,
    *,
    breaks: str,
    also: tuple[str, ...] = (),
    report: str = "",
    sentinel: bool = False,
    crash: Crashes | None = None,
) -> Callable[[type[Any]], Mutant]:
    """Turn the class below into a mutant that is named after it; its docstring's first line is the story.

    Raises:
        TypeError: the class is no subclass of the ground's service or handle, or has no docstring.
        ValueError: more than two clauses in ``also``.
    """
    if len(also) > 2:
        raise ValueError(f"also={also!r}: one defect may break two more clauses at most")

    def plant(defective: type[Any]) -> Mutant:
        if not issubclass(defective, ground.service | ground.handle) or not defective.__doc__:
            raise TypeError(f"{defective!r}: expected a documented subclass of {ground.service} or {ground.handle}")
        in_service = issubclass(defective, ground.service)
        service, handle = (defective, ground.handle) if in_service else (ground.service, defective)
        given = {**_fields_of(ground.backend), "name": defective.__name__, ground.seam: ground.build(service, handle)}
        return Mutant(
            **given,
            breaks=breaks,
            also=also,
            report=report,
            sentinel=sentinel,
            crash=crash,
            story=defective.__doc__.strip().splitlines()[0],
            healthy=ground.healthy(defective),
        )

    return plant


def _by_attribute(service: type[Any], handle: type[Any]) -> Factory:
    """The variants take the class of their handles from an attribute of the service."""
    return type(service.__name__, (service,), {"handle_type": handle})


def _by_exchange(
    handle_of_ground: type[Any], open_with: Callable[[type[Any], Path], Any], part: str = ""
) -> Callable[[type[Any], type[Any]], Factory]:
    """The others name the class themselves, so a handle, or a part of it, gets its class when it is handed out."""

    def build(service: type[Any], handle: type[Any]) -> Factory:
        class Exchanging(service):  # type: ignore[misc]
            async def create(self, *args: Any, **named: Any) -> Any:
                return _exchanged(await super().create(*args, **named))

            async def open(self, *args: Any, **named: Any) -> Any:
                return _exchanged(await super().open(*args, **named))

        def _exchanged(made: Any) -> Any:
            exchanged = getattr(made, part, None) if part else made
            if type(exchanged) is handle_of_ground:
                exchanged.__class__ = handle
            return made

        return lambda root: open_with(Exchanging, root)

    return build


MEMORY = Ground(memory, MemoryPersistence, MemoryHandle, _by_exchange(MemoryHandle, lambda service, root: service()))
"""One instance, no storage; the shortest way to a defect."""

FRAMES = Ground(
    jsonl,
    JsonlPersistence,
    WriteHandle,
    _by_exchange(WriteHandle, lambda service, root: service(root, ZstdCodec())),
)
"""The reference; its write handles can be replaced."""

LIVE_QUEUE = Ground(
    jsonl,
    JsonlPersistence,
    LiveQueue,
    _by_exchange(LiveQueue, lambda service, root: service(root, ZstdCodec()), "_live"),
    part="queue",
)
"""The reference; the queue of published events in its write handles can be replaced."""


class Signals:
    """How the reference answers the signals of the hub, one method for each."""

    def __init__(self, persistence: JsonlPersistence, hub: SessionHub) -> None:
        self.persistence = persistence
        self.hub = hub
        subscribe(persistence, self)  # type: ignore[arg-type]

    def subscribe(self, *, on_event: Any, on_flush: Any, on_disposed: Any) -> Callable[[], None]:
        """Subscribe these in place of the reference."""
        self._usual = on_event, on_flush, on_disposed
        return self.hub.subscribe(on_event=self.event, on_flush=self.flush, on_disposed=self.disposed)

    def event(self, session_id: str, event: SessionEvent) -> None:
        """``session/event``."""
        self._usual[0](session_id, event)

    async def flush(self, session_id: str) -> None:
        """``session/flush``."""
        await self._usual[1](session_id)

    def disposed(self, session_id: str) -> Any:
        """``session/disposed``."""
        return self._usual[2](session_id)


SIGNALS = Ground(jsonl, Signals, Signals, lambda service, handle: service, seam="live", part="signals")
"""The reference; what it does about the signals of the hub can be replaced."""

FILES = Ground(plain_files, PlainFiles, PlainHandle, _by_attribute)
"""A file of JSON lines for each session."""


class SyncingHandle(PlainHandle):
    """Syncs each batch, and takes it back where that fails."""

    def put(self, data: bytes) -> int:
        """Write and sync."""
        end = super().put(data)
        sync(self.path)
        return end


SYNCING = Ground(plain_files, PlainFiles, SyncingHandle, _by_attribute)
"""The same, syncing in each append."""

EAGER = Ground(eager_files, EagerFiles, PlainHandle, _by_attribute)
"""The same, materialising in ``create``."""

BUFFERED = Ground(buffered_files, BufferedFiles, BufferedHandle, _by_attribute)
"""The same, writing at barriers only."""

GOOD = Ground(good_store, GoodFiles, GoodHandle, _by_attribute)
"""The store that withstands any power loss, step by step."""

QUEUED = Ground(queued_files, QueuedFiles, QueuedHandle, _by_attribute)
"""The files again; calls wait in line, and are done in threads."""

ROWS = Ground(sqlite_rows, RowsStore, RowsHandle, _by_attribute)
"""One SQLite database, synchronous."""
