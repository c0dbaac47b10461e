"""What became of each operation at a crash, for people: durable, survived, torn or lost.

Promises: `fates_of` gives one fate for each operation of a trace in a given state, by the same rules that make the
states; `told` writes operations down with names in place of inodes, from the first one on of which something was at
stake, and says where a sync came too late because an earlier one had failed; `shorter_side` names what was lost or what
survived, whichever is less.

Does not: decide what a crash takes, or what that means.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from conformance.sim.disk import ops
from conformance.sim.disk.effects import Pending
from conformance.sim.disk.graph import graph_of
from conformance.sim.disk.image import Directory, FileSystem
from conformance.sim.disk.presets import PRESETS
from conformance.sim.disk.states import State
from conformance.sim.disk.trace import Trace

Fate: TypeAlias = Literal["durable", "survived", "torn", "lost", "lost in part", "done"]
"""What became of an operation. *Survived*: it did not have to. *Done*: a sync, or a marker, which cannot be lost."""

TAKEN: frozenset[Fate] = frozenset({"torn", "lost", "lost in part"})
"""Fates of operations that a crash took something of."""

_LEFT: frozenset[Fate] = frozenset({"survived", "torn", "lost in part"})
"""Fates of operations of which a crash left something that it could have taken."""

_PARTLY: Mapping[Fate, str] = {"torn": " (torn)", "lost in part": " (in part)"}

SYNC_FAILED = "a sync of it had failed, and later ones did not save this"
"""Why something is lost that a sync was asked for and reported done."""

MOST_LINES = 200
"""How many operations are told at most, the latest ones."""


def fates_of(trace: Trace, preset: str, state: State) -> list[Fate]:
    """For each operation and marker of the trace what became of it in a state of its disk.

    Raises:
        KeyError: an unknown preset.
    """
    rules = PRESETS[preset]
    if rules.names == "prefix":
        return _ordered(trace.ops, state)
    # A kill loses nothing, and what it leaves is as unsynced as it was: told by what a sync saves at least.
    pending = Pending(trace.base, PRESETS["posix"] if rules.names == "all" else rules)
    for op in trace.ops:
        pending.feed(op)
    graph = graph_of(pending)
    gone = graph.lose(state.lost)
    lost: dict[int, list[bool]] = defaultdict(list)
    for effect in graph.needs:
        lost[effect[0]].append(effect in gone)
    torn = None if state.tear is None else state.tear[0]
    return [
        "done" if _cannot_be_lost(op) else "torn" if index == torn else _fate(lost[index])
        for index, op in enumerate(trace.ops)
    ]


def _cannot_be_lost(op: ops.DiskOp) -> bool:
    return isinstance(op, ops.Sync | ops.SyncFailed | ops.Marker)


def _fate(lost: Sequence[bool]) -> Fate:
    if not lost:
        return "durable"
    if all(lost):
        return "lost"
    return "lost in part" if any(lost) else "survived"


def _ordered(operations: Sequence[ops.DiskOp], state: State) -> list[Fate]:
    latest = max((index for index, op in enumerate(operations) if isinstance(op, ops.Sync)), default=-1)
    first = min((effect[0] for effect in state.lost), default=len(operations))
    fates: list[Fate] = []
    for index, op in enumerate(operations):
        if _cannot_be_lost(op):
            fates.append("done")
        elif index < first:
            fates.append("durable" if index < latest else "survived")
        else:
            fates.append("torn" if state.tear is not None and index == first else "lost")
    return fates


def lost_calls(trace: Trace, fates: Sequence[Fate]) -> tuple[int, ...]:
    """The calls of whose operations something was taken, in order, each once; what belongs to no call is left out."""
    found = {call for call, fate in zip(trace.calls, fates, strict=True) if fate in TAKEN and call is not None}
    return tuple(sorted(found))


def told(trace: Trace, fates: Sequence[Fate]) -> tuple[str, ...]:
    """One line for each operation since the first that was not durable: its call, what it did, what became of it.

    At most `MOST_LINES` operations, the latest; a line before them says how many more there were.
    """
    at_stake = (index for index, fate in enumerate(fates) if fate not in ("durable", "done"))
    first = next(at_stake, len(fates))
    unsaved = _left_out(trace.ops)
    lines = [
        f"{_caller(trace, index)}: {text}{'' if fate == 'done' else f': {fate}'}"
        f"{f' ({SYNC_FAILED})' if fate in TAKEN and index in unsaved else ''}"
        for index, (text, fate) in enumerate(zip(_texts(trace), fates, strict=True))
        if index >= first and text
    ]
    if len(lines) > MOST_LINES:
        return (f"{len(lines) - MOST_LINES} operations before these", *lines[-MOST_LINES:])
    return tuple(lines)


@dataclass(frozen=True, slots=True)
class Side:
    """What a crash took, or what it left, whichever is told in fewer words.

    Attributes:
        survived: it is what survived. at_stake: how many operations a crash could still take, all in all.
        lines: the operations that it did take, or left, with the call of each; of one that is both, a word on it.
    """

    survived: bool
    at_stake: int
    lines: tuple[str, ...]


def shorter_side(trace: Trace, fates: Sequence[Fate]) -> Side:
    """What was lost, or where that are fewer operations what survived; operations in part are on both sides."""
    lost = [index for index, fate in enumerate(fates) if fate in TAKEN]
    survived = [index for index, fate in enumerate(fates) if fate in _LEFT]
    is_dual = len(survived) < len(lost)
    words = list(_texts(trace))
    named = survived if is_dual else lost
    lines = (f"{_caller(trace, index)}: {words[index]}{_PARTLY.get(fates[index], '')}" for index in named)
    return Side(is_dual, len({*lost, *survived}), tuple(lines))


def _caller(trace: Trace, index: int) -> str:
    call = trace.calls[index]
    return "no call" if call is None else f"call {call}"


def _left_out(operations: Sequence[ops.DiskOp]) -> set[int]:
    """Indexes of what was done to a file before a sync of it failed that a later sync was to save."""
    changes: dict[int, list[int]] = defaultdict(list)
    waiting: dict[int, list[int]] = defaultdict(list)
    found: set[int] = set()
    for index, op in enumerate(operations):
        match op:
            case ops.Write() | ops.Truncate() | ops.Fallocate():
                changes[op.ino].append(index)
            case ops.SyncFailed():
                waiting[op.ino].extend(changes.pop(op.ino, ()))
            case ops.Fsync() | ops.Fdatasync():
                found.update(waiting.pop(op.ino, ()))
            case ops.SyncAll():
                found.update(each for indexes in waiting.values() for each in indexes)
    return found


def texts(trace: Trace) -> tuple[str, ...]:
    """What each operation did, in words; "" for markers."""
    return tuple(_texts(trace))


def name_at(trace: Trace, index: int, ino: int) -> str:
    """The path of an inode as it was called before the operation of that index."""
    names = _Names(trace.base)
    for op in trace.ops[:index]:
        if not isinstance(op, ops.Marker):
            _TEXTS[type(op)](names, op)
    return names.of(ino)


class _Names:
    """What inodes are called, as far as they ever had a name."""

    def __init__(self, base: FileSystem) -> None:
        self._places: dict[int, tuple[int, str]] = {}
        self._above = base.above
        for ino, node in base.nodes.items():
            if isinstance(node, Directory):
                for name, child in node.entries.items():
                    self._places[child.ino] = (ino, name)

    def give(self, ino: int, directory: int, name: str) -> None:
        """The inode is called that from now on."""
        self._places[ino] = (directory, name)

    def entry(self, directory: int, name: str) -> str:
        """A name in a directory, as a path from the root."""
        names = [name]
        while directory in self._places:
            directory, name = self._places[directory]
            names.append(name)
        depth = len(self._above)
        path = names[::-1]
        if tuple(path[:depth]) != self._above[: len(path)]:
            return "/".join(path)
        return "/".join(path[depth:]) or ("the root" if len(path) == depth else "a directory above the root")

    def of(self, ino: int) -> str:
        """The path of an inode."""
        if ino not in self._places:
            return f"the unnamed file {ino}" if ino else "the directory above the root"
        return self.entry(*self._places[ino])


def _texts(trace: Trace) -> Iterator[str]:
    """What each operation did, in words; "" for markers."""
    names = _Names(trace.base)
    for op in trace.ops:
        yield "" if isinstance(op, ops.Marker) else _TEXTS[type(op)](names, op)


def _rename(names: _Names, op: ops.Rename) -> str:
    text = f"rename {names.entry(op.directory, op.name)} to {names.entry(op.to_directory, op.to_name)}"
    names.give(op.ino, op.to_directory, op.to_name)
    return text if op.replaced is None else f"{text}, replacing it"


def _made(what: str) -> Callable[[_Names, Any], str]:
    def text(names: _Names, op: ops.Create | ops.Mkdir | ops.Symlink | ops.Link) -> str:
        linked = f"{names.of(op.ino)} as " if isinstance(op, ops.Link) else ""
        names.give(op.ino, op.directory, op.name)
        return f"{what} {linked}{names.entry(op.directory, op.name)}"

    return text


_TEXTS: dict[type, Callable[[_Names, Any], str]] = {
    ops.Create: _made("create"),
    ops.CreateUnnamed: lambda names, op: f"create {names.of(op.ino)}",
    ops.Write: lambda names, op: f"write {len(op.data)} bytes at {op.offset} of {names.of(op.ino)}",
    ops.Truncate: lambda names, op: f"set the size of {names.of(op.ino)} from {op.old} to {op.new}",
    ops.Fallocate: lambda names, op: f"reserve {op.length} bytes at {op.offset} of {names.of(op.ino)}",
    ops.Rename: _rename,
    ops.Link: _made("link"),
    ops.Symlink: _made("make the symbolic link"),
    ops.Unlink: lambda names, op: f"remove {names.entry(op.directory, op.name)}",
    ops.Mkdir: _made("make the directory"),
    ops.Rmdir: lambda names, op: f"remove the directory {names.entry(op.directory, op.name)}",
    ops.Fsync: lambda names, op: f"fsync {names.of(op.ino)}",
    ops.Fdatasync: lambda names, op: f"fdatasync {names.of(op.ino)}",
    ops.FsyncDirectory: lambda names, op: f"fsync the directory {names.of(op.ino)}",
    ops.SyncAll: lambda names, op: "sync everything",
    ops.SyncFailed: lambda names, op: f"a sync of {names.of(op.ino)} fails",
}
