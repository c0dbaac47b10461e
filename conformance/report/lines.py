"""The result stream: one JSON object for each event, one event a line, header first and footer last.

The format is ``torntail-results/1``, and ``schema.json`` beside this module is its JSON Schema (draft 2020-12) for one
line. A stream is: a ``run_started`` line that also holds ``"format": "torntail-results/1"``; any number of
``item_started``, ``failure_found``, ``kit_error``, ``item_finished`` and ``warning`` lines, those of one item in that
order and items of several workers interleaved; a ``run_finished`` line. Each line is ASCII, with everything else
escaped, and ends in one line feed. A stream without its footer was cut short, whatever the reason, and reads as not
complete. Fields are added within version 1 only with a default; any other change is a new version.

Numbers are written in full: integers past 64 bits, which some readers round, do occur inside programs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from conformance.report.events import ReportEvent, RunFinished, RunStarted, event_from_json

FORMAT = "torntail-results/1"


class ResultsError(Exception):
    """A file that is no result stream of this format; the message names file, line and what is wrong."""


@dataclass(frozen=True, slots=True)
class ResultLines:
    """A stream as read.

    Attributes:
        events: in order, header and footer among them.
        complete: whether the footer is there and no line is cut.
    """

    events: tuple[ReportEvent, ...]
    complete: bool

    def __iter__(self) -> Iterator[ReportEvent]:
        """The events."""
        return iter(self.events)


def schema() -> dict[str, Any]:
    """The JSON Schema of one line."""
    found: dict[str, Any] = json.loads((files("conformance.report") / "schema.json").read_text(encoding="utf-8"))
    return found


def event_line(event: ReportEvent) -> str:
    """One event as its line, without the line end; the header gets the format."""
    form = event.to_json()
    if isinstance(event, RunStarted):
        form = {"event": form.pop("event"), "format": FORMAT, **form}
    return json.dumps(form, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


class LinesWriter:
    """A sink that writes each event as it comes, so that a run that dies leaves what it found.

    It makes the directories it needs and replaces an older file. Use it as a context manager, or close it.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file = path.open("w", encoding="ascii", newline="\n")

    def __call__(self, event: ReportEvent) -> None:
        """Write one event and hand it to the operating system."""
        self._file.write(event_line(event) + "\n")
        self._file.flush()

    def close(self) -> None:
        """End the file; closing again is nothing."""
        self._file.close()

    def __enter__(self) -> Self:
        """The writer itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close."""
        self.close()


def read_lines(path: Path) -> ResultLines:
    """Read a stream back: events equal to those written. A cut last line is left out.

    Raises:
        ResultsError: the file cannot be read, is of another format, or a line other than a cut last one is no event.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read: {error.strerror or error}") from error
    if not text:
        raise ResultsError(f"{path}: is empty; a result stream begins with a run_started line")
    *whole, rest = text.split("\n")
    return parse_lines(whole, source=str(path), is_cut=rest != "")


def parse_lines(lines: Iterable[str], *, source: str = "results", is_cut: bool = False) -> ResultLines:
    """The events of whole lines; ``source`` names them in errors, ``is_cut`` says that a piece of a line was left out.

    Raises:
        ResultsError: another format, or a line that is no event.
    """
    events = [_parse_line(line, number, source) for number, line in enumerate(lines, start=1)]
    if not events and not is_cut:
        raise ResultsError(f"{source}: is empty; a result stream begins with a run_started line")
    complete = not is_cut and bool(events) and isinstance(events[-1], RunFinished)
    return ResultLines(tuple(events), complete)


def _parse_line(line: str, number: int, source: str) -> ReportEvent:
    try:
        form = json.loads(line)
    except ValueError as error:
        raise ResultsError(f"{source}, line {number}: is no JSON: {error}") from error
    if not isinstance(form, dict):
        raise ResultsError(f"{source}, line {number}: is {type(form).__name__}, expected an object with an event")
    if number == 1:
        found = form.pop("format", None)
        if found != FORMAT:
            raise ResultsError(f"{source}: format={found!r}, expected {FORMAT!r} in a run_started line at the start")
    try:
        return event_from_json(form)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        name = form.get("event")
        raise ResultsError(f"{source}, line {number}: event={name!r} is none of {FORMAT}: {error!r}") from error
