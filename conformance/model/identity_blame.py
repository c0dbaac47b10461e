"""Which clause is broken where two ids meet in one place, or an id leads to a path of its own (ID-01, ID-02).

Two ids are *kin* where a careless way from ids to names could make them one. A session's kin are blamed only on
evidence: it shows what the other holds, or it changed when the other was written. Nothing here judges answers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from conformance.contract import CONTRACT_ERRORS
from conformance.model.state import Instance, Session, World
from conformance.model.transitions import hush
from conformance.model.values import same

if TYPE_CHECKING:
    from conformance.model.judge import Judge

_ORDINARY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_LEADS_AWAY = re.compile(r"(^|[\\/])\.\.($|[\\/\x00])|^[\\/~]|^[A-Za-z]:|^file:")
_TAKEN = ("SessionAlreadyExistsError", "SessionAlreadyOwnedError")
_OF_PATHS = (
    "OSError",
    "FileNotFoundError",
    "NotADirectoryError",
    "IsADirectoryError",
    "PermissionError",
    "FileExistsError",
)
_OTHERWISE = ("", "Hung", "ValueError", "TypeError")
_SHORT = 16
"""Characters that the shortest cut of an id leaves."""


@lru_cache(maxsize=4096)
def is_ordinary(session_id: str) -> bool:
    """Whether any store has a place for the id as it stands."""
    return _ORDINARY.fullmatch(session_id) is not None


@lru_cache(maxsize=4096)
def _family(session_id: str) -> str:
    """What a careless mapping leaves of an ordinary id; "" for any other id, which may become anything."""
    return re.sub("[_-]", "", session_id).casefold()[:_SHORT] if is_ordinary(session_id) else ""


def note_name(world: World, session_id: str) -> None:
    """A session of this id begins."""
    name = _family(session_id)
    family = world.families.setdefault(name, [])
    if session_id not in family:
        family.append(session_id)
        if not name:
            world.lone.clear()
        elif len(family) == 1 and "" not in world.families:
            world.lone.add(session_id)
        else:
            world.lone.difference_update(family)


def kin_of(world: World, session_id: str) -> Sequence[Session]:
    """Every session that exists somewhere under an id that is kin to this one."""
    if session_id in world.lone:
        return ()
    found: list[Session] = []
    family = _family(session_id)
    names = [*world.families.get("", ()), *world.families.get(family, ())] if family else _all_names(world)
    for name in names:
        if name != session_id:
            stored = world.stored.get(name)
            found += [stored] if stored is not None else []
            found += [each for (_, pending), each in world.pending.items() if pending == name]
    return found


def _all_names(world: World) -> list[str]:
    return [name for names in world.families.values() for name in names]


def touch_kin(world: World, session: Session) -> None:
    """The session was created, written or closed: none of its kin may notice."""
    for each in kin_of(world, session.id):
        each.tag("ID-01")
        hush(world, each, "ID-01")


def is_of_other(world: World, session_id: Any, *seen: Any) -> bool:
    """Whether one of the ids seen on an answer about this id is that of another session."""
    others = [name for name in seen if isinstance(name, str) and name != session_id]
    return bool(others) and not set(_all_names(world)).isdisjoint(others)


def created(world: World, session_id: str, kind: str, *, files: bool) -> str:
    """The clause where ``create`` of an id that is free rejects with this kind; "" where the id is not the cause."""
    found = stored(world, session_id, kind, files=files)
    if found or is_ordinary(session_id) or kind in CONTRACT_ERRORS or kind in _OTHERWISE:
        return found
    return "ID-01"


def stored(world: World, session_id: str, kind: str, *, files: bool) -> str:
    """The clause where storing something under this id for the first time rejects; "" where the id is not the cause.

    An id that has no place is refused at ``create``.
    """
    if kind in _TAKEN:
        return "ID-01" if kin_of(world, session_id) else ""
    if kind not in _OF_PATHS or is_ordinary(session_id):
        return ""
    return led_away(session_id, kind, files=files) or "ID-01"


def led_away(session_id: str, kind: str, *, files: bool) -> str:
    """ID-02 where a call fails in the system at a path that the id itself names, else ""."""
    return "ID-02" if files and kind in _OF_PATHS and _LEADS_AWAY.search(session_id) else ""


def shown(judge: Judge, session: Session, seq: int, seen: Any) -> str:
    """ID-01 where the event seen at ``seq`` is one of the session's kin, else ""."""
    for other in kin_of(judge.world, session.id):
        if seq < len(other.log) and same(other.log[seq], seen):
            return "ID-01"
    return ""


def unreadable(world: World, session: Session, kind: str) -> str:
    """ID-01 where what is stored under an id is found damaged, and may be another one's; else ""."""
    return "ID-01" if kind == "SessionPersistenceCorruptionError" and kin_of(world, session.id) else ""


def owned(world: World, instance: Instance, session: Session) -> str:
    """ID-01 where an id that nobody here writes is called owned, while its kin have a writer; else ""."""
    writers = (each.owner for each in kin_of(world, session.id))
    return "ID-01" if any(owner is not None and owner.instance == instance.number for owner in writers) else ""


def tells_apart(world: World, session: Session, first: int, upto: int) -> bool:
    """Whether a read of these seqs would have shown other events, had it been a read of one of the kin."""
    for other in kin_of(world, session.id):
        for seq in range(first, min(upto, len(other.log))):
            if not same(other.log[seq], session.log[seq]):
                return True
    return False
