"""Operations, values and outcomes on one line each, for people: short, printable, and still telling.

Sequence numbers and types stand for events, ids for headers, unless something in them is out of the ordinary: that is
named with its path. Text never carries a control character or a lone surrogate to the terminal. Nothing here can be
parsed back; ``program_text`` writes what runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sized
from dataclasses import fields
from typing import Any

from conformance.contract import SessionHeader
from conformance.model.history import (
    Cancelled,
    CrashView,
    DamageView,
    ErrorView,
    FloodView,
    HandleView,
    Hung,
    LeftView,
    Odd,
    Outcome,
    Raised,
    Returned,
    Skipped,
    SnapshotView,
    WarningsView,
)
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    Confine,
    CountLeft,
    Crash,
    Create,
    Damage,
    Discard,
    Dispose,
    Fail,
    Fill,
    Flood,
    Flush,
    FlushInstance,
    Heal,
    HubCreate,
    HubFlush,
    Inspect,
    Leave,
    ListSessions,
    MakeRoot,
    OpenInstance,
    OpenSession,
    Operation,
    Overlap,
    Populate,
    Program,
    Publish,
    Read,
    ReadCounters,
    ReadWarnings,
    StartCounting,
    Stat,
    Wait,
)
from conformance.model.overlap import LOOKS
from conformance.model.tree import TreeView
from conformance.model.usage import Usage
from conformance.report.damage_text import damage_text
from conformance.report.fault_text import fault_text
from conformance.report.live_text import live_call_text

MAX_SAFE = 2**53 - 1
SHOWN_EVENTS = 6


def printable(text: str) -> str:
    """The text with whatever a terminal would not show as itself escaped; line ends stay."""
    return "".join(each if each.isprintable() or each == "\n" else repr(each)[1:-1] for each in text)


def quoted(text: str, limit: int = 60) -> str:
    """The text as a Python literal in double quotes, cut past ``limit`` characters with its length."""
    cut = text if len(text) <= limit else text[:limit]
    body = repr('"' + cut)[2:-1].replace("\\'", "'").replace('"', '\\"')
    return f'"{body}"' if cut is text else f'"{body}…" ({len(text):,} characters)'


def short(value: Any, limit: int = 60) -> str:
    """Any value on one line of about ``limit`` characters."""
    if isinstance(value, str):
        return quoted(value, limit)
    if type(value) is int and abs(value) >= 10**30:
        return f"an int of {value.bit_length():,} bits"
    if isinstance(value, SessionHeader):
        return header_text(value)
    if isinstance(value, dict | list | tuple | set | frozenset) and len(value) > 8:
        return f"{type(value).__name__} of {len(value):,}"
    try:
        text = printable(repr(value)).replace("\n", " ")
    except RecursionError:
        return f"deeply nested {type(value).__name__}"
    return text if len(text) <= limit else f"{text[:limit]}…"


def odd_places(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Paths and values inside ``value`` that are beyond what every JSON reader takes, in order."""
    kind = type(value)
    if value is None or kind is bool:
        return
    if kind is dict and depth < 200:
        for key, item in value.items():
            if type(key) is not str:
                yield f"{path}.key", key
            yield from odd_places(item, f"{path}{key_path(key)}", depth + 1)
    elif kind is list and depth < 200:
        for index, item in enumerate(value):
            if item is value:
                yield f"{path}[{index}]", "the list itself"
            else:
                yield from odd_places(item, f"{path}[{index}]", depth + 1)
    elif not _is_common(value):
        yield path, value


def key_path(key: Any) -> str:
    """The step into a mapping as it stands in a path: ``.name``, or ``["other key"]``."""
    return f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{short(key, 24)}]"


def _is_common(value: Any) -> bool:
    kind = type(value)
    if kind is str:
        return not any("\ud800" <= each <= "\udfff" for each in value)
    if kind is int:
        return bool(-MAX_SAFE <= value <= MAX_SAFE)
    if kind is float:
        return math.isfinite(value) and (value != 0 or math.copysign(1, value) > 0)
    return kind is dict or kind is list


def event_text(event: Any) -> str:
    """``seq 3 user/message``, and whatever in the event is out of the ordinary."""
    if type(event) is not dict:
        return short(event)
    parts = [f"seq {short(event['seq'], 24)}" if "seq" in event else "no seq"]
    kind = event.get("type")
    is_word = type(kind) is str and kind.isprintable() and 0 < len(kind) <= 40 and " " not in kind
    parts.append(str(kind) if is_word else f"type {short(kind, 24)}" if "type" in event else "no type")
    parts += [f"no {key}" for key in ("time", "data") if key not in event]
    if "time" in event and (type(event["time"]) is not int or event["time"] < 0):
        parts.append(f"time={short(event['time'], 24)}")
    parts += [f"{short(key, 24)[1:-1]}={short(event[key], 24)}" for key in event if key not in _USUAL]
    for path, value in odd_places(event.get("data"), "data"):
        parts.append(f"{path}={short(value, 24)}")
        break
    return " ".join(parts)


_USUAL = frozenset({"type", "seq", "time", "data"})


def events_text(events: Any) -> str:
    """A batch: ``[seq 0 user/message, seq 1 step/start]``, the middle of a long one left out."""
    if not isinstance(events, list | tuple):
        return short(events)
    if any(each is events for each in events):
        return "[a list that holds itself]"
    open_mark, close_mark = ("[", "]") if isinstance(events, list) else ("(", ")")
    shown = [event_text(each) for each in events[: SHOWN_EVENTS if len(events) <= SHOWN_EVENTS else 3]]
    if len(events) > SHOWN_EVENTS:
        shown += [f"… {len(events) - 4:,} more …", event_text(events[-1])]
    return open_mark + ", ".join(shown) + close_mark


def header_text(header: SessionHeader) -> str:
    """``"s0"`` where the id says it all, else ``SessionHeader("s0", cwd="/x")`` with what is not at its default."""
    parts = [short(header.id)]
    for each in fields(header)[1:]:
        value = getattr(header, each.name)
        if each.name == "created_at":
            usual = type(value) is int and 0 <= value <= MAX_SAFE
        elif each.name == "extra":
            usual = isinstance(value, Mapping) and not value
            value = dict(value) if isinstance(value, Mapping) else value
        else:
            usual = value == each.default and type(value) is type(each.default)
        if not usual:
            parts.append(f"{each.name}={short(value)}")
    return parts[0] if len(parts) == 1 else f"SessionHeader({', '.join(parts)})"


def handle_names(program: Program) -> dict[int, str]:
    """Number of a handle -> the name it goes by: ``w0`` for a writer, ``r1`` for a reader."""
    names: dict[int, str] = {}
    for each in program.operations:
        # The call that a crash cut short is one of the program's calls too.
        operation = each.during if isinstance(each, Crash) and each.during is not None else each
        for call in [step.call for _, _, step in operation.steps()] if isinstance(operation, Overlap) else [operation]:
            if isinstance(call, Create):
                names[call.handle] = f"w{call.handle}"
            elif isinstance(call, OpenSession):
                names[call.handle] = f"{'r' if call.access == 'read' else 'w'}{call.handle}"
            elif (number := getattr(call, "handle", None)) is not None:
                names.setdefault(number, f"h{number}")
    return names


def handle_name(number: int, names: Mapping[int, str]) -> str:
    """The name of a handle: the program's, or ``look1`` for one that the kit opened to look after an overlap."""
    return names.get(number) or (f"look{number - LOOKS + 1}" if number >= LOOKS else "")


def call_text(operation: Operation, names: Mapping[int, str]) -> str:
    """One call: ``w0.append([seq 0 user/message])``."""
    instance = f"instance{getattr(operation, 'instance', '')}"
    handle = handle_name(getattr(operation, "handle", -1), names)
    match operation:
        case Wait(seconds=seconds):
            return f"{seconds:g} s pass"
        case MakeRoot():
            return "make the root, empty and durable"
        case HubCreate() | Publish() | HubFlush() | Dispose() | ReadWarnings() | Flood():
            return live_call_text(operation, _argument)
        case Overlap(rows=rows):
            return f"{_counted(sum(map(len, rows)), 'call')} of {_counted(len(rows), 'client')}, overlapping"
        case OpenInstance():
            return f"{instance} = open_backend()"
        case CloseInstance():
            return f"{instance}.close()"
        case FlushInstance():
            return f"{instance}.flush()"
        case ListSessions():
            return f"{instance}.list()"
        case Stat(session=session):
            return f"{instance}.stat({short(session)})"
        case Create(header=header, inherited=inherited, scribble=scribble):
            count = "" if inherited is None else f", inherited_event_count={short(inherited)}"
            then = ", then overwrite what the header holds" if scribble else ""
            return f"{handle} = {instance}.create({'header=' * operation.named}{short(header)}{count}){then}"
        case OpenSession(session=session, access=access):
            first, second = ("session_id=", "access=") if operation.named else ("", "")
            return f"{handle} = {instance}.open({first}{short(session)}, {second}{short(access)})"
        case Read(offset=offset, length=length, named=True):
            return f"{handle}.read(offset={short(offset)}, length={short(length)})"
        case Read(offset=offset, length=length, scribble=scribble):
            given = "" if offset == 0 and type(offset) is int and length is None else short(offset)
            given += "" if length is None else f", {short(length)}"
            return f"{handle}.read({given})" + (", then overwrite what it returned" if scribble else "")
        case Append(events=events, scribble=scribble):
            given = "events=" * operation.named + events_text(events)
            return f"{handle}.append({given})" + (", batch overwritten meanwhile" if scribble else "")
        case Flush() | Close():
            return f"{handle}.{operation.kind}()"
        case Leave(raising=raising, cancelled=cancelled):
            body = "be cancelled" if cancelled else "raise an error of the caller's" if raising else "pass"
            return f"async with {handle}: {body}"
        case Discard():
            return f"del {handle}  (never closed)"
        case Fill(first=first, count=count, size=size, width=width):
            batches, events = _counted(count, "append"), _counted(size, "event")
            return f"{handle}: {batches} of {events} of {width:,} characters, from seq {first:,}"
        case Populate(count=count):
            return f"{instance}: {_counted(count, 'more session')}, of one event each"
        case StartCounting():
            return "start counting"
        case ReadCounters():
            return "read the counters"
        case Inspect():
            return "look at the files in and around the root"
        case Crash():
            return crash_text(operation, names)
        case Fail():
            return fault_text(operation)
        case Heal():
            return "---- storage works again"
        case CountLeft():
            return "count the descriptors, tasks and threads that are left"
        case Confine(room=room):
            return f"from here on in a process with {room:,} more bytes of memory"
        case Damage(session=session):
            return damage_text(operation, short(session))
    return f"{operation.kind} {short(operation)}"


def _argument(value: Any) -> str:
    return events_text(value) if isinstance(value, list) else short(value)


def crash_text(crash: Crash, names: Mapping[int, str]) -> str:
    """One crash: ``--- crash: power is lost (ext4) during w0.flush(); 2 effects on the disk are lost``."""
    what = "the process is killed" if crash.preset == "kill" else f"power is lost ({crash.preset})"
    parts = [f"--- crash: {what}"]
    if crash.during is not None:
        parts[0] += f" during {call_text(crash.during, names)}"
    if crash.after is not None and crash.during is None:
        parts.append(f"{_counted(crash.after, 'disk operation')} after the latest call returned")
    elif crash.after is not None:
        parts.append(f"after {_counted(crash.after, 'disk operation')} of that call")
    if crash.cut:
        parts.append(f"{_counted(crash.cut, 'byte')} of the next write reached the disk")
    if crash.lost:
        parts.append(
            f"{_counted(len(crash.lost), 'effect')} on the disk {'is' if len(crash.lost) == 1 else 'are'} lost"
        )
    if crash.tear is not None:
        parts.append("one page is torn")
    return "; ".join(parts)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def outcome_text(operation: Operation, outcome: Outcome | None) -> str:
    """What a call came to: ``ok``, a value, an error; "" where nothing is known of it."""
    match outcome:
        case Returned(value):
            return "ok" if value is None and not isinstance(operation, Stat) else value_text(value)
        case Raised(error):
            return error_text(error)
        case Hung(detail):
            return f"hung: {printable(detail)}"
        case Skipped():
            return "not made: what it needs was never returned"
        case Cancelled():
            return "cancelled"
        case None:
            return ""


def value_text(value: Any) -> str:
    """A value that a call returned."""
    match value:
        case Usage(recorded=seen, peak=peak):
            memory = "" if peak is None else f", {peak:,} bytes of memory at most"
            return f"{seen.moved:,} bytes read and written, {seen.accesses:,} accesses{memory}"
        case HandleView(id, _, access, inherited):
            count = "" if inherited is None else f", inherited {short(inherited)}"
            return f"{access if isinstance(access, str) else short(access)} handle {short(id)}{count}"
        case SnapshotView(header, revision, event_count):
            name = short(header.id) if isinstance(header, SessionHeader) else short(header)
            count = "" if event_count is None else f", event_count {short(event_count)}"
            return f"snapshot {name}, revision #{revision}{count}"
        case Odd(text):
            return printable(text)
        case LeftView():
            return str(value)
        case FloodView(taken, grown, error):
            told = f", then {error}" if error else ""
            return f"{taken:,} events taken{told}; {grown:,} bytes of memory more"
        case WarningsView(messages):
            return f"{len(messages)} warnings{': ' if messages else ''}{short('; '.join(messages)) if messages else ''}"
        case CrashView(lost_calls):
            calls = ", ".join(map(str, lost_calls))
            return f"something of {_plural('call', lost_calls)} {calls} is lost" if lost_calls else "nothing is lost"
        case DamageView(before=before, after=after, changed=changed):
            now = "no file now" if after is None else f"{after:,} bytes now"
            return f"{0 if before is None else before:,} bytes before, {now}" if changed else "nothing changed"
        case TreeView(outside, modes):
            return printable(", ".join(outside)) if outside else f"{len(modes)} paths under the root, none outside"
        case list() if any(isinstance(each, SnapshotView | Odd) for each in value):
            more = f", … {len(value) - 4:,} more" if len(value) > 4 else ""
            return "[" + ", ".join(value_text(each) for each in value[:4]) + more + "]"
        case list():
            return events_text(value)
    return short(value)


def _plural(noun: str, things: Sized) -> str:
    return noun if len(things) == 1 else f"{noun}s"


def error_text(error: ErrorView) -> str:
    """An exception: its kind, its message where that adds something, and the members of a group."""
    text = printable(str(error)).replace("\n", " ")
    if error.members:
        text += " [" + "; ".join(error_text(each) for each in error.members) + "]"
    return text
