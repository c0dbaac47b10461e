"""The calls of an overlap as people see them: a row for each, client by client, with a bar for when it was in flight.

Times are those of the simulated clock. Bars keep the order in which calls began and ended, not how long they took: two
bars share a column where their calls were in flight at once. Of a long overlap only what concerns the session of the
offending call is shown. Nothing here judges.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from conformance.model.history import Cancelled, Event, Hung, Invocation, Outcome, Returned
from conformance.model.operations import Append, Create, OpenSession, Operation, Overlap
from conformance.report.abbreviate import call_text, event_text, outcome_text, printable

SHOWN_ROWS = 24
"""Calls of one overlap that are shown."""

INDENT = 9
LEAST_CALL = 24
LONGEST = 3
"""Characters between two begins or ends, where there is room."""

BARS = 4
"""The bars take no more than one part of so many of the width."""

HEADINGS = (
    "(simulated time; bars that share a column were in flight at once)",
    "(one column: in flight at once)",
    "in flight",
)

Place = tuple[int, int]
"""The client and the step of a call."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a timeline: "strong" where it belongs to the offending call, "dim" where it explains."""

    text: str
    role: Literal["", "strong", "dim"] = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One call of an overlap.

    Attributes:
        client, step: as in its ``Invocation``; a look of the kit's has client 0.
        begin, end: places among all begins and ends of the overlap; None where it did not begin, or did not end.
        from_us, to_us: virtual microseconds since the overlap began.
        cancels: as in its ``Step``.
    """

    client: int
    step: int
    call: Operation
    begin: int | None = None
    end: int | None = None
    from_us: int = 0
    to_us: int = 0
    outcome: Outcome | None = None
    cancels: tuple[Place, ...] = ()

    @property
    def place(self) -> Place:
        """Client and step."""
        return self.client, self.step


def duration_text(us: int) -> str:
    """Virtual microseconds in the unit that reads best: ``0``, ``150 µs``, ``10.05 ms``, ``2 s``."""
    for size, unit in ((1_000_000, "s"), (1_000, "ms")):
        if us >= size:
            return f"{f'{us / size:.3f}'.rstrip('0').rstrip('.')} {unit}"
    return f"{us} µs" if us else "0"


def overlap_rows(number: int, overlap: Overlap, history: Sequence[Event]) -> list[Row]:
    """The calls of the overlap that is call ``number``, client by client; what the kit looked at comes last."""
    rows = {(client, at): Row(client, at, step.call, cancels=step.cancels) for client, at, step in overlap.steps()}
    start = moment = 0
    for event in history:
        if event.call != number:
            continue
        if not event.is_inside:
            start = event.at if isinstance(event, Invocation) else start
            continue
        place = event.client, event.step
        if isinstance(event, Invocation):
            known = rows.get(place) or Row(*place, event.operation)
            rows[place] = replace(known, begin=moment, from_us=event.at - start)
        elif place in rows:
            rows[place] = replace(rows[place], end=moment, to_us=event.at - start, outcome=event.outcome)
        moment += 1
    return sorted(rows.values(), key=lambda row: (not row.client, row.client, row.step))


def timeline(
    number: int,
    overlap: Overlap,
    history: Sequence[Event],
    names: Mapping[int, str],
    *,
    width: int = 100,
    offending: Place | None = None,
    subject: object = None,
) -> list[Line]:
    """The lines that stand below the overlap's own.

    Args:
        number: the call that the overlap is in program and history.
        names: of handles.
        offending: client and step of the call that broke a clause, where it is one of these.
        subject: id of the session that the failure is about (``subject_of``); a long overlap is cut by it.
    """
    rows = overlap_rows(number, overlap, history)
    shown = rows
    if len(rows) > SHOWN_ROWS:
        shown = _most_telling(rows, offending, subject, _sessions_of_handles(history))
    return list(_Drawing(shown, names, width, offending).lines(len(rows) - len(shown)))


def subject_of(history: Sequence[Event], call: int | None, client: int = 0, step: int = 0) -> object:
    """The id of the session that this call was about; None where it was about no single one."""
    for event in history:
        if isinstance(event, Invocation) and (event.call, event.client, event.step) == (call, client, step):
            return _session_of(event.operation, _sessions_of_handles(history))
    return None


def _sessions_of_handles(history: Sequence[Event]) -> dict[int, object]:
    calls = [event.operation for event in history if isinstance(event, Invocation)]
    return {call.handle: _session_of(call, {}) for call in calls if isinstance(call, Create | OpenSession)}


def _session_of(call: Operation, handles: Mapping[int, object]) -> object:
    if isinstance(call, Create):
        return call.header.id
    return getattr(call, "session", None) or handles.get(getattr(call, "handle", -1))


def _most_telling(
    rows: list[Row], offending: Place | None, session: object, handles: Mapping[int, object]
) -> list[Row]:
    """Of many rows those that concern the session, or all sessions, and of these the ones nearest to what offends."""
    near = [row for row in rows if session is None or _session_of(row.call, handles) in (session, None)]
    centre = next((row.begin for row in rows if row.place == offending and row.begin is not None), None)
    if centre is None:
        # What comes to light later is told by how the overlap ended.
        centre = max((row.begin for row in rows if row.begin is not None), default=0)

    def distance(row: Row) -> tuple[bool, int]:
        return row.place != offending, abs((row.begin if row.begin is not None else 10**9) - centre)

    chosen = {row.place for row in sorted(near, key=distance)[:SHOWN_ROWS]}
    return [row for row in rows if row.place in chosen]


class _Drawing:
    """Rows on paper of a given width."""

    def __init__(self, rows: list[Row], names: Mapping[int, str], width: int, offending: Place | None) -> None:
        self.rows, self.names, self.width, self.offending = rows, names, width, offending
        self.columns = self._place_columns(max(SHOWN_ROWS, width // BARS))
        self.times = max([len("began"), *(len(duration_text(us)) for row in rows for us in (row.from_us, row.to_us))])
        self.bar = 1 + max([column for pair in self.columns.values() for column in pair], default=0)
        self.left = INDENT + 2 * self.times + 4 + self.bar + 2
        # On narrow paper a call may stand out to the right rather than be broken at every word.
        self.room = max(LEAST_CALL, width - self.left)
        texts = [brief_call(row.call, names) for row in rows]
        self.aligned = max((len(text) for text in texts if len(text) <= self.room // 2 + 4), default=0)

    def lines(self, left_out: int) -> Iterator[Line]:
        began, ended = f"{'began':>{self.times}}", f"{'ended':>{self.times}}"
        start = f"{'':{INDENT}}{began}  {ended}  "
        told = next((each for each in HEADINGS if len(start) + len(each) <= self.width), HEADINGS[-1])
        yield Line(start + told, "dim")
        client: int | None = None
        for row in self.rows:
            if row.client != client:
                client = row.client
                yield Line(f"{'':{INDENT - 2}}{_heading(client)}", "dim")
            yield from self._row(row)
        if left_out:
            yield Line(f"{'':{INDENT}}… {left_out:,} calls that concern this less are not shown …", "dim")
        yield from (Line(f"{'':{INDENT}}{each}", "dim") for each in self._legend())

    def _row(self, row: Row) -> Iterator[Line]:
        marked = row.place == self.offending
        head = f"{'>' if marked else '':>{INDENT - 2}}  "
        if row.begin is None:
            times = f"{'':{2 * self.times + 2}}"
        else:
            end = duration_text(row.to_us) if _has_ended(row) else "never"
            times = f"{duration_text(row.from_us):>{self.times}}  {end:>{self.times}}"
        head += f"{times}  {self._bar(row):<{self.bar}}  "
        call, answer = brief_call(row.call, self.names), self._answer(row)
        if len(call) <= self.aligned and self.aligned + 3 + len(answer) <= self.room:
            pieces = [f"{call:<{self.aligned}} → {answer}" if answer else call]
        elif len(call) + 3 + len(answer) <= self.room:
            pieces = [f"{call} → {answer}" if answer else call]
        else:
            pieces = textwrap.wrap(call, self.room, subsequent_indent="  ", break_on_hyphens=False)
            pieces += textwrap.wrap(
                f"→ {answer}",
                self.room,
                initial_indent="  ",
                subsequent_indent="    ",
                break_on_hyphens=False,
            )
        for number, piece in enumerate(pieces):
            yield Line(f"{head if not number else '':{self.left}}{piece}".rstrip(), "strong" if marked else "")

    def _answer(self, row: Row) -> str:
        if row.begin is None:
            return "was not made"
        text = _outcome_text(row.call, row.outcome)
        if not row.cancels:
            return text
        asked = _cancels_text(row.cancels)
        if isinstance(row.outcome, Cancelled):
            return f"cancelled {asked}"
        due = row.from_us + sum(us for us, _ in row.cancels[:1])
        if _has_ended(row) and row.to_us < due:
            return f"{text}; too late for its cancel {asked}"
        return f"{text}; its cancel {asked} did not stop it"

    # -- bars ------------------------------------------------------------------------------------------

    def _place_columns(self, room: int) -> dict[Place, tuple[int, int]]:
        """The first and the last column of each client's call that began.

        Where there is room every begin and every end has a column of its own. Where there is not, begins between two
        ends share one, and so do ends between two begins: what was in flight at once still meets in a column.
        """
        moments = sorted(
            (moment, is_end, row.place)
            for row in self.rows
            for is_end, moment in ((False, row.begin), (True, row.end))
            if moment is not None and row.begin is not None and row.client
        )
        own = len(moments) <= room
        column, was_end = -1, True
        first: dict[Place, int] = {}
        last: dict[Place, int] = {}
        for _, is_end, place in moments:
            if own or (was_end and not is_end):
                column += 1
            (last if is_end else first)[place] = column
            was_end = is_end
        scale = max(1, min(room // (column + 1), LONGEST)) if column >= 0 else 1
        never = (column + 1) * scale - 1
        found = {}
        for place, at in first.items():
            end = last.get(place)
            found[place] = at * scale, never if end is None else (end + 1) * scale - 1
        return found

    def _bar(self, row: Row) -> str:
        if row.place not in self.columns:
            return ""
        begin, end = self.columns[row.place]
        ends = "×" if isinstance(row.outcome, Cancelled) else "┤" if _has_ended(row) else "…"
        if end == begin:
            return " " * begin + (ends if ends != "┤" else "│")
        return " " * begin + "├" + "─" * (end - begin - 1) + ends

    def _legend(self) -> Iterator[str]:
        if any(isinstance(row.outcome, Cancelled) for row in self.rows):
            yield "× its caller cancelled it there"
        if any(row.begin is not None and not _has_ended(row) for row in self.rows):
            yield "… it never ended"


def brief_call(call: Operation, names: Mapping[int, str]) -> str:
    """A call in few words: of a batch that is as usual only the seqs."""
    seqs = _seqs(call.events) if isinstance(call, Append) else ""
    if not isinstance(call, Append) or not seqs:
        return call_text(call, names)
    return call_text(replace(call, events=[]), names).replace("append([])", f"append({seqs})", 1)


def _outcome_text(call: Operation, outcome: Outcome | None) -> str:
    if outcome is None:
        return "had not ended"
    if isinstance(outcome, Hung):
        # Where it waits is told below, at length.
        return f"hung: {printable(outcome.detail.partition(chr(10))[0].partition(' (')[0])}"
    seqs = _seqs(outcome.value) if isinstance(outcome, Returned) else ""
    return seqs or outcome_text(call, outcome)


def _seqs(events: object) -> str:
    """``[seq 0..3]`` for contiguous events of which there is nothing else to tell, else ""."""
    if not isinstance(events, list) or not events or not isinstance(events[0], dict):
        return ""
    first = events[0].get("seq")
    if type(first) is not int:
        return ""
    for seq, event in enumerate(events, first):
        if type(event) is not dict or event_text(event) != f"seq {seq} {event.get('type')}":
            return ""
    return f"[seq {first}]" if len(events) == 1 else f"[seq {first}..{first + len(events) - 1}]"


def _heading(client: int) -> str:
    return f"client {client}" if client else "afterwards, when all is at rest, the kit looks"


def _has_ended(row: Row) -> bool:
    return row.end is not None and not isinstance(row.outcome, Hung)


def _cancels_text(cancels: tuple[Place, ...]) -> str:
    told: list[str] = []
    for us, turns in cancels:
        parts = [duration_text(us)] if us else []
        parts += [f"{turns} turn{'' if turns == 1 else 's'} of the loop"] if turns else []
        since = "after that" if told else "after it began"
        told.append(f"{' and '.join(parts)} {since}" if parts else "at once")
    return ", and again ".join(told)
