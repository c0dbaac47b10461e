"""Damage to an artifact in words, and as the lines of Python that do it again.

The places in the operation are told by where batches ended; the view of what it did has the offsets. Without one, every
place but the beginning is taken for the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from conformance.model.adversities import Damage, Position
from conformance.model.history import DamageView, Outcome
from conformance.model.operations import Operation

HELPER = '''
def artifact(root: Path, session: str) -> Path:
    """Where the backend keeps that session."""
    path = load_backend(SPEC).location(root, session)
    return places.setdefault(session, path) if path is not None else places[session]


places: dict[str, Path] = {}
'''
"""What the lines need; ``SPEC`` is put in by whoever prints a program."""

_WORDS = {
    "cut": "is cut",
    "nul": "some bytes of it read NUL",
    "flip": "one byte of it changes",
    "drop": "some bytes of it are taken out",
    "repeat": "some bytes of it stand twice",
    "swap": "two pieces of it change places",
    "insert": "some bytes come in",
    "replace": "another file has its place",
    "copy": "it holds what another session's does",
    "put_back": "an older copy of it is put back",
    "unlink": "it is removed",
    "directory": "a directory has its place",
    "symlink": "a symbolic link has its place",
    "bom": "a byte-order mark comes in front",
    "crlf": "its line ends become carriage returns and line feeds",
    "hostile": "it holds what is made to do harm",
    "plant": "another file, made to do harm, has its place",
}


def damage_text(op: Damage, session: str) -> str:
    """One damage: ``--- damage: the artifact of 's1': one byte of it changes``."""
    what = f"the artifact of {session}" if op.beside is None else f"file {op.beside} of those beside the artifacts"
    return f"--- damage: {what}: {_WORDS.get(op.how, op.how)}"


def damage_lines(op: Damage, outcome: Outcome | None, of: Callable[[object], str]) -> list[str]:
    """The lines of Python that do it; ``of`` gives the expression of a value."""
    view = _view(outcome)
    other = of(op.other)
    data = of(op.data if isinstance(op.data, bytes) else op.data.encode())
    start, end, to = (_offset(each, view) for each in (op.start, op.end, op.to))
    lines = [f"path = {_place(op, view, of)}"]
    if op.how == "put_back":
        version = None if view is None else view.version
        kept = f"path.write_bytes(kept{version}[{_place(op, view, of)}])"
        return [*lines, kept] if version is not None else [*lines, "pass"]
    contents = {
        "cut": f"was[:{start}]",
        "nul": f"was[:{start}] + bytes(len(was[{start}:{end}])) + was[{end}:]",
        "flip": f"was[:{start}] + bytes([was[{start}] ^ {op.mask}]) + was[{start} + 1 :]",
        "drop": f"was[:{start}] + was[{end}:]",
        "repeat": f"was[:{end}] + was[{start}:]",
        "swap": f"was[:{start}] + was[{end}:{to}] + was[{start}:{end}] + was[{to}:]",
        "insert": f"was[:{start}] + {data} + was[{start}:]",
        "bom": r'b"\xef\xbb\xbf" + was',
        "crlf": r'was.replace(b"\n", b"\r\n")',
        "hostile": f"was[:{start}] + hostile({data}.decode(), was)",
    }
    if op.how in contents:
        return [*lines, "was = path.read_bytes()", f"path.write_bytes({contents[op.how]})"]
    replacing = {
        "replace": data,
        "copy": f"artifact(root, {other}).read_bytes()",
        "plant": f"hostile({data}.decode(), path.read_bytes())",
    }
    if op.how in replacing:
        content = replacing[op.how]
        return [*lines, f"(root.parent / 'new').write_bytes({content})", "(root.parent / 'new').replace(path)"]
    after = {"directory": ["path.mkdir()"], "symlink": ["path.symlink_to(root.parent / 'moved')"]}.get(op.how, [])
    if op.how == "symlink":
        lines.append(f"(root.parent / 'moved').write_bytes({data if op.data else 'path.read_bytes()'})")
    return [*lines, "path.unlink(missing_ok=True)", *after]


def kept_lines(
    number: int, operations: Sequence[Operation], outcomes: Mapping[int, Outcome], of: Callable[[object], str]
) -> list[str]:
    """The line that copies what call ``number`` left, where one of these operations puts it back; else none."""
    places = dict.fromkeys(
        _place(each, view, of)
        for call, each in enumerate(operations)
        if isinstance(each, Damage) and (view := _view(outcomes.get(call))) is not None and view.version == number
    )
    copies = ", ".join(f"{place}: {place}.read_bytes()" for place in places)
    return [f"kept{number} = {{{copies}}}"] if places else []


def _place(op: Damage, view: DamageView | None, of: Callable[[object], str]) -> str:
    """The path of what is damaged, as an expression."""
    if op.beside is None:
        return f"artifact(root, {of(op.session)})"
    return f"root / {of(view.path if view is not None else '')}"


def _view(outcome: Outcome | None) -> DamageView | None:
    value = getattr(outcome, "value", None)
    return value if isinstance(value, DamageView) else None


def _offset(position: Position, view: DamageView | None) -> str:
    """The offset as an expression."""
    edge, delta = position
    edges = [0, *(size for _, size in view.edges)] if view is not None else [0]
    if view is None and edge:
        return f"len(was) + {delta}"
    found = edges[max(-len(edges), min(edge, len(edges) - 1))] + delta
    return str(max(0, found))
