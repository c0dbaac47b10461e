"""Damage to stored artifacts: what lies where, watched from the first call on, and then changed behind the backend.

Whoever may damage a program's storage notes, after each call, what the artifact of each session holds. So it is known
where batches end without knowing the format, and older states can be put back. Damage is done with ordinary input and
output of our own; what it came to is told as data. Nothing here judges, and nothing is recorded: a program that damages
its storage neither crashes nor counts.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from conformance.drivers.artifact import Artifact, look
from conformance.drivers.beside import Beside
from conformance.drivers.errors import UsageError
from conformance.drivers.hostile import hostile
from conformance.model.history import DamageView
from conformance.model.operations import Create, Damage, OpenSession, Operation

PAGE = 4096

Location = Callable[[Path, str], Path | None]


class Artifacts:
    """The artifacts of the sessions that a program names.

    Args:
        location: the backend's own.
    """

    def __init__(self, location: Location) -> None:
        self._location = location
        self._known: dict[str, Artifact] = {}
        self._beside = Beside()

    def meet(self, operation: Operation) -> None:
        """The operation may name a session."""
        if isinstance(operation, Create):
            self._meet(operation.header.id)
        elif isinstance(operation, OpenSession):
            self._meet(operation.session)

    def _meet(self, session: object) -> None:
        if isinstance(session, str):
            self._known.setdefault(session, Artifact())

    def note(self, root: Path, call: int) -> None:
        """Look at every artifact, after that call."""
        for session, known in self._known.items():
            known.path = self._location(root, session) or known.path
            known.note(call, *look(known.path))
        self._beside.note(root, call, {each.path for each in self._known.values() if each.path is not None})

    def damage(self, root: Path, operation: Damage) -> DamageView:
        """Do it, and tell what it came to; nothing where there is no artifact yet.

        Raises:
            ValueError: an unknown kind of damage.
        """
        known = self._known.setdefault(operation.session, Artifact())
        if operation.beside is not None:
            files = self._beside.files()
            known = files[operation.beside] if 0 <= operation.beside < len(files) else Artifact()
        if known.path is None:
            return DamageView()
        before, edges, in_place = known.content, tuple(known.edges), known.in_place
        if operation.how in _IN_PLACE and before is None:
            return DamageView(path=_told(root, known.path))
        span = _span(known, operation)
        version = self._do(root, known, operation)
        after, inode = look(known.path)
        known.content, known.inode = after, inode
        low, high = span or _hit(before, after)
        return DamageView(
            path=_told(root, known.path),
            before=None if before is None else len(before),
            after=None if after is None else len(after),
            edges=edges,
            in_place=in_place,
            low=low,
            high=high,
            torn="" if before is None or after is None else torn(before, after),
            headless=before is not None and after is not None and headless(before, after),
            version=version,
            digest="" if after is None else hashlib.sha256(after).hexdigest(),
            changed=after != before or operation.how in _ANOTHER_FILE,
        )

    def count_beside(self) -> int:
        """How many files there are besides artifacts."""
        return len(self._beside.files())

    def size(self, session: str) -> int:
        """Bytes that its artifact holds; 0 where there is none."""
        return len(self._known.setdefault(session, Artifact()).content or b"")

    def saved(self, session: str) -> bytes | None:
        """What its artifact holds, for ``restore``."""
        return self._known.setdefault(session, Artifact()).content

    def restore(self, session: str, content: bytes | None) -> None:
        """Let its artifact hold that again, whatever became of it."""
        known = self._known.setdefault(session, Artifact())
        if known.path is not None and content is not None:
            _overwrite(known.path, content, stamp=False)
        known.content, known.inode = look(known.path)

    def _do(self, root: Path, known: Artifact, operation: Damage) -> int | None:
        path, how = known.path, operation.how
        if path is None:
            raise ValueError("no artifact to damage")
        data = operation.data if isinstance(operation.data, bytes) else operation.data.encode()
        if how in _IN_PLACE:
            _overwrite(path, _IN_PLACE[how](known, operation, data), stamp=how in _SILENT)
            return None
        if how == "put_back":
            if not known.versions:
                return None
            last = len(known.versions) - 1
            call, content = known.versions[max(-1 - last, min(operation.version, last))]
            _overwrite(path, content, stamp=True)
            return call
        if how not in _ANOTHER_FILE:
            raise ValueError(f"how={how!r}: there is no such damage")
        if how == "copy":
            data = self._known.setdefault(operation.other, Artifact()).content or b""
        if how == "plant":
            data = hostile(data.decode(), known.content or b"")
        if how in ("replace", "copy", "plant"):
            beside = _outside(root) / "damage.tmp"
            beside.write_bytes(data)
            beside.replace(path)
            return None
        target = _outside(root) / "damage.moved"
        if how == "symlink":
            # A second damage of the kind must not follow the link of the first.
            content = data or (known.content or b"")
            target.write_bytes(content)
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)
        if how == "directory":
            path.mkdir()
        elif how == "symlink":
            path.symlink_to(target)
        return None


def torn(before: bytes, after: bytes) -> str:
    """How a crash may have made the one of the other: "cut", "nul", or "" for in no way that we know."""
    if len(after) < len(before):
        return "cut" if before.startswith(after) else ""
    end = len(before)
    if after[end:].strip(b"\0"):
        return ""
    at = next((at for at in range(end) if before[at] != after[at]), end)
    while at < len(after):
        # Everything from the first byte that differs to the edge of its page has to read NUL.
        edge = min(at - at % PAGE + PAGE, len(after))
        if after[at:edge].strip(b"\0"):
            return ""
        at = next((place for place in range(edge, end) if before[place] != after[place]), max(edge, end))
    return "nul" if after != before else ""


def headless(before: bytes, after: bytes) -> bool:
    """Whether a page of the one was lost in its creation: the first reads NUL from the first byte that differs on."""
    at = next((at for at, (old, new) in enumerate(zip(before, after, strict=False)) if old != new), PAGE)
    return at < PAGE <= len(after) and not after[at:PAGE].strip(b"\0")


def _span(known: Artifact, op: Damage) -> tuple[int, int] | None:
    """The bytes that the operation names; None where it names none.

    What differs may be told in several ways: of two lines that begin alike, either begin may have gone with one of
    them. The operation says which one it was.
    """
    start, end, to = map(known.place, (op.start, op.end, op.to))
    data = op.data if isinstance(op.data, bytes) else op.data.encode()
    match op.how:
        case "cut" | "hostile":
            return start, len(_bytes(known))
        case "nul" | "drop":
            return start, max(start, end)
        case "flip":
            at = max(0, min(start, len(_bytes(known)) - 1))
            return at, min(at + 1, len(_bytes(known)))
        case "repeat":
            return max(start, end), max(start, end)
        case "swap":
            return min(start, end, to), max(start, end, to)
        case "insert":
            # What came in may begin like what stands behind it: then it came in behind that as well.
            return start, start + _common(data, _bytes(known)[start:])
    return None


def _hit(before: bytes | None, after: bytes | None) -> tuple[int, int]:
    """The bytes of the one, from and up to which the other is not as it was."""
    if before is None or after is None:
        return 0, len(before or b"")
    low = _common(before, after)
    tail = _common(before[low:][::-1], after[low:][::-1])
    return low, len(before) - tail


def _common(left: bytes, right: bytes) -> int:
    """How many bytes they have in common from the beginning on."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[:middle] == right[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _cut(known: Artifact, op: Damage, data: bytes) -> bytes:
    return _bytes(known)[: known.place(op.start)]


def _nul(known: Artifact, op: Damage, data: bytes) -> bytes:
    whole, start, end = _bytes(known), known.place(op.start), known.place(op.end)
    return whole[:start] + bytes(max(0, end - start)) + whole[max(start, end) :]


def _flip(known: Artifact, op: Damage, data: bytes) -> bytes:
    whole = bytearray(_bytes(known))
    at = min(known.place(op.start), len(whole) - 1)
    if at >= 0:
        whole[at] ^= op.mask & 0xFF
    return bytes(whole)


def _drop(known: Artifact, op: Damage, data: bytes) -> bytes:
    whole, start, end = _bytes(known), known.place(op.start), known.place(op.end)
    return whole[:start] + whole[max(start, end) :]


def _repeat(known: Artifact, op: Damage, data: bytes) -> bytes:
    whole, start, end = _bytes(known), known.place(op.start), known.place(op.end)
    return whole[: max(start, end)] + whole[start:]


def _swap(known: Artifact, op: Damage, data: bytes) -> bytes:
    whole = _bytes(known)
    start, end, to = sorted(map(known.place, (op.start, op.end, op.to)))
    return whole[:start] + whole[end:to] + whole[start:end] + whole[to:]


def _insert(known: Artifact, op: Damage, data: bytes) -> bytes:
    whole, start = _bytes(known), known.place(op.start)
    return whole[:start] + data + whole[start:]


def _bom(known: Artifact, op: Damage, data: bytes) -> bytes:
    return b"\xef\xbb\xbf" + _bytes(known)


def _crlf(known: Artifact, op: Damage, data: bytes) -> bytes:
    return _bytes(known).replace(b"\n", b"\r\n")


def _hostile(known: Artifact, op: Damage, data: bytes) -> bytes:
    whole = _bytes(known)
    return whole[: known.place(op.start)] + hostile(data.decode(), whole)


def _bytes(known: Artifact) -> bytes:
    return known.content or b""


_IN_PLACE: dict[str, Callable[[Artifact, Damage, bytes], bytes]] = {
    "cut": _cut,
    "nul": _nul,
    "flip": _flip,
    "drop": _drop,
    "repeat": _repeat,
    "swap": _swap,
    "insert": _insert,
    "bom": _bom,
    "crlf": _crlf,
    "hostile": _hostile,
}
"""What is done to the bytes of a file that stays the same file."""

_SILENT = frozenset({"nul", "flip"})
"""What rots on the disk changes no time stamp."""

_ANOTHER_FILE = frozenset({"replace", "copy", "plant", "unlink", "directory", "symlink"})


def _overwrite(path: Path, data: bytes, *, stamp: bool) -> None:
    """Write it into the file that is there, or make it; with ``stamp`` its time stamps stay, to the nanosecond."""
    if not path.is_file():
        path.write_bytes(data)
        return
    was = path.stat()
    with path.open("r+b") as file:
        file.write(data)
        file.truncate()
    if stamp:
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))


def _outside(root: Path) -> Path:
    """A directory on the same file system that is nobody's business."""
    directory = root.with_name(f"{root.name}-beside")
    directory.mkdir(exist_ok=True)
    return directory


def _told(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name


def watch(location: Location | None, backend: str) -> Artifacts:
    """The artifacts of a backend whose storage may be damaged.

    Raises:
        UsageError: it does not tell where they are.
    """
    if location is None:
        raise UsageError(f"backend {backend!r}: damage takes an artifact, and it gives no `location`")
    return Artifacts(location)
