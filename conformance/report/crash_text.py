"""The story of a crash as lines of text: what was done to the disk, what survived, and what to change.

Promises: the preset and the cause class first, then the barrier that is missing or the word *recovery*, what was lost
or what survived (the shorter of the two), the table of disk operations with what became of each, what the files were
and are, and a dump of the bytes where they differ.

Does not: find any of it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Files = Mapping[str, bytes | str]
"""Path -> content of a file, or the target of a symbolic link; the path of a directory ends in "/"."""

DUMPED = 4
"""Rows of bytes that are shown of each file that differs, before and after the place."""

ROW = 16

NAMED = 12
"""Operations that are named beside the table, at most."""


@dataclass(frozen=True, slots=True)
class CrashStory:
    """What is told of one failing crash state.

    Attributes:
        preset: the weakest adversary that leaves such a state. cause: its class.
        is_recovery: the crash took nothing that was promised: what is found is handled wrongly.
        barriers: each of them alone leaves no failing state; empty where none does, or none is needed.
        is_partial: they leave none in this preset, and some under ``posix``.
        compared: whatever outside the process could see of its barriers, the recorder inside saw too.
        lies: in that preset a sync may save nothing, so that none is missing.
        named: the operations that were lost; with `are_survivors` those that were not, where they are fewer.
        at_stake: how many operations the crash could have taken.
        dropped: paths of files of which a failed sync dropped what the crash then took: no later sync would save that.
        table: the disk operations since the last point at which everything was durable, with what became of each.
        before: the files as readers saw them; after: as the crash left them.
    """

    preset: str
    cause: str
    is_recovery: bool
    barriers: tuple[str, ...]
    table: tuple[str, ...]
    before: Files
    after: Files
    dropped: tuple[str, ...] = ()
    compared: bool = False
    lies: bool = False
    named: tuple[str, ...] = ()
    are_survivors: bool = False
    at_stake: int = 0
    is_partial: bool = False

    def lines(self) -> tuple[str, ...]:
        """The story, line by line."""
        return tuple(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"weakest preset: {self.preset} · cause class: {self.cause}"
        yield from self._remedy()
        yield from self._side()
        if self.table:
            yield "disk operations:"
            yield from (f"  {line}" for line in self.table)
        yield from _trees(self.before, self.after)
        yield from _dumps(self.before, self.after)

    def _remedy(self) -> Iterator[str]:
        if self.is_recovery:
            yield "recovery: the crash took nothing that was promised; what it left is handled wrongly on opening"
        elif self.cause == "stranded buffer":
            yield "no barrier helps: the bytes had not left the process when the call returned"
        elif self.dropped:
            yield "missing write: after a sync that failed the data has to be written again, before the next sync:"
            yield from (f"               {path}" for path in self.dropped)
        elif self.lies:
            yield f"no barrier helps: in {self.preset} a sync may save nothing, and be reported done"
        elif self.barriers:
            yield f"missing barrier: {self.barriers[0]}"
            yield from (f"             or: {each}" for each in self.barriers[1:])
            if self.is_partial:
                yield f"             (it mends every state under {self.preset}; under posix more is missing)"
            if not self.compared:
                yield "             (barriers seen in process only: a sync made by a C extension would not be known)"
        else:
            yield "missing barrier: no single sync, and no two of them, mend it (each was tried)"

    def _side(self) -> Iterator[str]:
        things = "disk operation that was" if self.at_stake == 1 else "disk operations that were"
        of = f"of {self.at_stake} {things} not durable yet"
        if self.are_survivors:
            yield f"survived: {f'only {len(self.named)}' if self.named else 'nothing'} {of}"
        elif self.at_stake:
            yield f"lost: {len(self.named) or 'nothing'} {of}"
        yield from (f"  {line}" for line in self.named[:NAMED])
        if len(self.named) > NAMED:
            yield f"  … and {len(self.named) - NAMED} more, see the table"


def _trees(before: Files, after: Files) -> Iterator[str]:
    yield "files before → after the crash:"
    paths = sorted(path for path in {*before, *after} if not path.endswith("/"))
    if not paths:
        yield "  none"
    width = max(map(len, paths), default=0)
    for path in paths:
        mark = " " if before.get(path) == after.get(path) else "*"
        yield f"{mark} {path:<{width}}  {_size(before.get(path)):>12} → {_size(after.get(path))}"
    yield from (f"* {path}  directory gone" for path in sorted({*before} - {*after}) if path.endswith("/"))


def _size(content: bytes | str | None) -> str:
    if content is None:
        return "absent"
    return f"link to {content}" if isinstance(content, str) else f"{len(content):,} bytes"


def _dumps(before: Files, after: Files) -> Iterator[str]:
    for path in sorted(after):
        was, now = before.get(path), after[path]
        if not isinstance(was, bytes) or not isinstance(now, bytes) or was == now:
            continue
        shared = min(len(was), len(now))
        at = next((place for place in range(shared) if was[place] != now[place]), shared)
        yield f"{path} from byte {at:,} on, where it differs ({len(now):,} of {len(was):,} bytes are left):"
        yield from (f"  {line}" for line in hexdump(now, at))


def hexdump(data: bytes, at: int) -> Iterator[str]:
    """Rows of bytes around a place: offset, hexadecimal, text; rows of NUL alone are told as one."""
    first = max(0, at // ROW - 1)
    last = min(-(-len(data) // ROW), first + 2 * DUMPED)
    nul = 0
    for row in range(first, last):
        piece = data[row * ROW : (row + 1) * ROW]
        if not piece.strip(b"\0"):
            nul += 1
            if nul > 1:
                continue
        else:
            nul = 0
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in piece)
        yield f"{row * ROW:08x}  {piece.hex(' '):<{3 * ROW - 1}}  {text}"
    if last * ROW < len(data):
        rest = data[last * ROW :]
        yield f"… {len(rest):,} bytes more" + ("" if rest.strip(b"\0") else ", all NUL")
    elif first * ROW >= len(data) or not data:
        yield f"{len(data):08x}  (end)"
