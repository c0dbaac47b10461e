"""Storage that fails, as far as a driver has to do with it: faults are armed, lifted, and told by session."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from conformance.contract import Backend
from conformance.drivers.crashes import Recording
from conformance.model.history import FaultView, Outcome, Returned
from conformance.model.operations import CloseInstance, Create, Fail, Heal, OpenSession, Operation
from conformance.sim.disk import RecorderError


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

    def _disturb(self, operation: Fail | Heal) -> Outcome:
        if self._recording is None:
            raise RecorderError("storage fails where it is recorded from the first call on: set crashes=True")
        if isinstance(operation, Fail):
            self._recording.arm(operation)
        else:
            self._recording.recorder.lift()
        return Returned()

    def take_faults(self) -> tuple[FaultView, ...]:
        """The faults that storage had since they were taken last."""
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
        location = self.backend.location
        if location is None or not path:
            return None
        for name in self._named:
            artifact = location(self.root, name)
            if artifact is None:
                continue
            home = artifact.parent
            if path == str(artifact) or (
                home != self.root and self.root in home.parents and path.startswith(str(home))
            ):
                return name
        return None

    def _unfailing(self) -> contextlib.AbstractContextManager[Any]:
        """Storage does not fail meanwhile: what is done is not the backend's doing."""
        return contextlib.nullcontext() if self._recording is None else self._recording.recorder.held()
