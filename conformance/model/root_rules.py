"""The rules for a look at the files: nothing outside the root, nothing for others to read, no two names alike."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from conformance.model.history import Outcome
from conformance.model.operations import Inspect
from conformance.model.tree import TreeView

if TYPE_CHECKING:
    from conformance.model.judge import Call, Judge


def folded(text: str) -> str:
    """The text as a file system sees it that tells neither case nor composition apart."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def inspect(judge: Judge, call: Call, op: Inspect, outcome: Outcome) -> None:
    """ID-02, ID-03, ID-05; DUR-05 for artifacts that nobody but readers opened since a crash."""
    view = judge.demand_success(outcome, "ID-02", "a look at the files")
    if judge.capabilities.storage != "files" or not isinstance(view, TreeView):
        return
    _check_untouched(judge, view)
    if op.bytes_only:
        return
    if view.outside:
        judge.fail("ID-02", "nothing made or changed outside the root", _row(view.outside))
    judge.witness("ID-02")
    _check_modes(judge, view)
    _check_names(judge, view)


def _check_untouched(judge: Judge, view: TreeView) -> None:
    """DUR-05: opening a recovered session for reading leaves every byte of its artifact as it was."""
    for name, digest in view.digests:
        session = judge.world.stored.get(name)
        recovery = session.recovery if session is not None else None
        if recovery is None or recovery.owned or recovery.grown_at is not None:
            continue
        if recovery.artifact is not None:
            if recovery.artifact != digest:
                judge.fail("DUR-05", f"the artifact of {name!r:.80} as it was: only readers opened it", "other bytes")
            judge.witness("DUR-05")
        recovery.artifact = digest


def _row(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"{name!r:.200}" for name in names[:6]) + (", …" if len(names) > 6 else "")


def _check_modes(judge: Judge, view: TreeView) -> None:
    """ID-03: a file is for its owner only, or lies in a directory that keeps others out."""
    if not view.artifacts:
        return
    modes = dict(view.modes)
    open_to_others = [path for path in view.artifacts if _readable(path, modes, 3) or _readable(path, modes, 0)]
    if open_to_others:
        told = [f"{path} is {modes[path]:#o}" for path in open_to_others]
        judge.fail("ID-03", "artifacts that only their owner can read", _row(told))
    judge.witness("ID-03")


def _readable(path: str, modes: dict[str, int], shift: int) -> bool:
    """Whether the group (``shift`` 3) or everybody (0) can read the file and come to it from the root down."""
    parts = path.split("/")
    above = ["./", *("/".join(parts[:length]) + "/" for length in range(1, len(parts)))]
    return bool(modes[path] >> shift & 0o4) and all(modes[directory] >> shift & 0o1 for directory in above)


def _check_names(judge: Judge, view: TreeView) -> None:
    """ID-05: distinct where case and composition do not count."""
    seen: dict[str, str] = {}
    for path, _ in view.modes:
        other = seen.setdefault(folded(path), path)
        if other != path:
            judge.fail("ID-05", "names that differ in more than case and composition", _row([other, path]))
    ids = [session.id for session in judge.world.stored.values()]
    if len(set(map(folded, ids))) < len(ids):
        judge.witness("ID-05")
