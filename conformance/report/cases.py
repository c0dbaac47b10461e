"""A failure kept as a file: everything that is needed to perform it again, on this machine or another.

A case is pretty-printed JSON of the format ``torntail-case/1``, named after its clause and fingerprint, so that the
same bug found twice is one file. Loading checks the shape and says what is wrong; it runs nothing.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from conformance.model.history import Event
from conformance.model.history_forms import event_from_json
from conformance.model.operations import Program
from conformance.report.events import FailureFound, plain_form
from conformance.report.fingerprints import fingerprint

__all__ = ["FORMAT", "Case", "CaseError", "fingerprint", "load_case"]

FORMAT = "torntail-case/1"


class CaseError(Exception):
    """A case that cannot be loaded; the message names the file and what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One saved failure.

    Attributes:
        kit_version: of the kit that found it; ``backend``: the spec as the user wrote it.
        clause: the id blamed; ``item``: the check that found it; ``seed``: of that run.
        program: JSON forms of the operations; ``history``: JSON forms of what happened.
        call: index of the offending operation, or None; ``client``, ``step``: of an overlap, which of its calls, or 0.
        expected, observed, note: what the model said.
        fingerprint: equal for failures that are the same bug (``fingerprints.fingerprint``).
    """

    kit_version: str
    backend: str
    clause: str
    item: str
    seed: int
    program: tuple[Mapping[str, Any], ...]
    history: tuple[Mapping[str, Any], ...] = ()
    call: int | None = None
    client: int = 0
    step: int = 0
    expected: str = ""
    observed: str = ""
    note: str = ""
    fingerprint: str = ""

    def __post_init__(self) -> None:
        """Own program and history, in the shape that loading gives back."""
        for name in ("program", "history"):
            object.__setattr__(self, name, tuple(plain_form(item) for item in getattr(self, name)))

    @classmethod
    def of(cls, failure: FailureFound, *, kit_version: str, backend: str, seed: int) -> Case:
        """The case of a failure found by a run of that kit, backend spec and seed."""
        return cls(
            kit_version=kit_version,
            backend=backend,
            clause=failure.clause,
            item=failure.item,
            seed=seed,
            program=failure.program,
            history=failure.history,
            call=failure.call,
            client=failure.client,
            step=failure.step,
            expected=failure.expected,
            observed=failure.observed,
            note=failure.note,
            fingerprint=failure.fingerprint,
        )

    def operations(self) -> Program:
        """The program as operations.

        Raises:
            KeyError, TypeError, ValueError: a form that this kit does not know.
        """
        return Program.from_json([dict(form) for form in self.program])

    def events(self) -> list[Event]:
        """The history as events.

        Raises:
            KeyError, TypeError, ValueError: a form that this kit does not know.
        """
        return [event_from_json(dict(form)) for form in self.history]

    def to_json(self) -> dict[str, Any]:
        """The object that is saved."""
        form = {each.name: getattr(self, each.name) for each in fields(self)}
        if not (self.client or self.step):
            # Only a failure inside an overlap has them, and older kits read all the others.
            del form["client"], form["step"]
        return {"format": FORMAT, **form}

    @property
    def file_name(self) -> str:
        """``<clause>-<start of the fingerprint>.json``."""
        return f"{self.clause}-{self.fingerprint[:12]}.json"

    def save(self, directory: Path) -> Path:
        """Write the case into ``directory`` (made where it is missing) in one step and return its path.

        A case of the same clause and fingerprint is replaced. Nobody ever sees half a file.

        Raises:
            OSError: the directory cannot be made or written.
        """
        directory.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.to_json(), ensure_ascii=True, allow_nan=False, indent=2) + "\n"
        descriptor, temporary = tempfile.mkstemp(dir=directory, prefix=".case-", suffix=".tmp")
        try:
            with open(descriptor, "w", encoding="ascii") as file:
                file.write(text)
            path = directory / self.file_name
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return path


def load_case(path: Path) -> Case:
    """Read a case.

    Raises:
        CaseError: there is no such file, it is no JSON, of another format, lacks a field, or holds an operation or
            event that this kit does not know.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CaseError(f"{path}: cannot be read as a case: {getattr(error, 'strerror', None) or error}") from error
    try:
        form = json.loads(text)
    except ValueError as error:
        raise CaseError(f"{path}: is no JSON: {error}") from error
    found = form.get("format") if isinstance(form, dict) else None
    if found != FORMAT:
        raise CaseError(f"{path}: format={found!r}, expected {FORMAT!r}; this file is no case, or of another kit")
    values: dict[str, Any] = {
        key: tuple(item) if isinstance(item, list) else item for key, item in form.items() if key != "format"
    }
    try:
        case = Case(**values)
    except TypeError as error:
        raise CaseError(f"{path}: has not the fields of {FORMAT}: {error}") from error
    wrong = [each for each, kind in _KINDS.items() if not isinstance(values.get(each, kind()), kind)]
    if wrong or isinstance(case.seed, bool) or not isinstance(case.call, int | None):
        raise CaseError(f"{path}: field {(wrong or ['seed or call'])[0]} is of the wrong type")
    _check_forms(path, case)
    return case


_KINDS: dict[str, type] = {
    **dict.fromkeys(("kit_version", "backend", "clause", "item", "expected", "observed", "note", "fingerprint"), str),
    **dict.fromkeys(("seed", "client", "step"), int),
    "program": tuple,
    "history": tuple,
}


def _check_forms(path: Path, case: Case) -> None:
    for field_name, read in (("program", case.operations), ("history", case.events)):
        try:
            read()
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CaseError(
                f"{path}: {field_name} holds a form that this kit does not know ({error!r}); "
                f"the case was saved by version {case.kit_version}"
            ) from error
