"""Storage that fails, as far as a driver has to do with it: faults are armed, lifted, and told by session."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from conformance.contract import Backend
from conformance.drivers.crashes import Recording
from conformance.model.history import FaultView, Outcome, Returned, Skipped
from conformance.model.operations import CloseInstance, Create, Fail, Heal, OpenSession, Operation, Overlap
from conformance.sim.disk import RecorderError

_NAMING = (Create, OpenSession, CloseInstance)


class StorageFaults:
    """The part of a driver that makes the recorded storage fail."""

    backend: Backend
    root: Path
    _recording: Recording | None
    _named: dict[str, None]

    def __init__(self) -> None:
        self._faults: list[FaultView] = []
        self._told = 0
        self._named: dict[str, None] = {}
        self._closed: set[int] = set()

    def _note_name(self, operation: Operation) -> None:
        """The operation may name a session, or close an instance."""
        if isinstance(operation, CloseInstance):
            self._closed.add(operation.instance)
        elif isinstance(operation, Create | OpenSession):
            name = operation.header.id if isinstance(operation, Create) else operation.session
            if isinstance(name, str):
                self._named[name] = None

    def _note_names(self, overlap: Overlap) -> None:
        """The same of all its calls."""
        for row in overlap.rows:
            for step in row:
                if isinstance(step.call, _NAMING):
                    self._note_name(step.call)

    def _disturb(self, operation: Fail | Heal) -> Outcome:
        if self._recording is None:
            raise RecorderError("storage fails where it is recorded from the first call on: set crashes=True")
        self._recording.recorder.lift()
        if isinstance(operation, Fail):
            at = self._place_of(operation)
            if at is None:
                return Skipped()
            self._recording.arm(operation, at)
        return Returned()

    def _place_of(self, operation: Fail) -> str | None:
        """The path at which calls are to fail; "" for any, None where the session has none of its own."""
        if not operation.session:
            return ""
        artifact, *others = self._artifacts_of(operation.session, *(set(self._named) - {operation.session}))
        if artifact is None or artifact in others:
            return None
        home = self._home(artifact, others)
        return str(artifact) if not operation.around else None if home is None else str(home)

    def _artifacts_of(self, *sessions: str) -> list[Path | None]:
        location = self.backend.location
        return [None if location is None else location(self.root, each) for each in sessions]

    def _home(self, artifact: Path, others: Iterable[Path | None]) -> Path | None:
        """The directory that an artifact has for itself, as far as the others tell."""
        home = artifact.parent
        shared = any(each is not None and each.is_relative_to(home) for each in others)
        return home if self.root in home.parents and not shared else None

    def take_faults(self) -> tuple[FaultView, ...]:
        """The faults that storage had since they were taken last."""
        if self._recording is not None:
            self._note_faults()
        if not self._faults:
            return ()
        found, self._faults = tuple(self._faults), []
        return found

    def _note_faults(self) -> None:
        if self._recording is None:
            return
        recorder = self._recording.recorder
        fired = recorder.fired
        if len(fired) > self._told:
            with self._unfailing():
                self._faults += [
                    FaultView(each.kind, each.error, each.how, self._session_at(each.path))
                    for each in fired[self._told :]
                ]
            self._told = len(fired)

    def _session_at(self, path: str) -> str | None:
        """Id of the session that a path belongs to: its artifact, or what lies beside that in its own directory."""
        if self.backend.location is None or not path:
            return None
        found = self._artifacts_of(*self._named)
        for number, (name, artifact) in enumerate(zip(self._named, found, strict=True)):
            if artifact is None:
                continue
            home = self._home(artifact, found[:number] + found[number + 1 :])
            if path == str(artifact) or (home is not None and Path(path).is_relative_to(home)):
                return name
        return None

    def _unfailing(self) -> contextlib.AbstractContextManager[Any]:
        """Storage does not fail meanwhile: what is done is not the backend's doing."""
        return contextlib.nullcontext() if self._recording is None else self._recording.recorder.held()
