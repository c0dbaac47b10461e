"""What the model knows: sessions, instances and handles, and what each instance has been shown.

A session's log is A of the contract, the events of resolved appends; ``covered`` is F, how many a barrier covered.
What an instance must see of it is an interval: at least what it appended, was shown, or a barrier covered; at most A.
Plain state; the rules that change it and judge by it are in the modules beside this one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from conformance.contract import SessionHeader


@dataclass(slots=True, eq=False)
class Session:
    """One incarnation of one id.

    Attributes:
        serial: number of the incarnation; two sessions of one id never share it.
        creator: the instance that created it.
        pending: only its creator can see it.
        durable: a barrier covered its existence.
        unsure: it may or may not exist (an eager backend's empty session after its close).
        home: the instance whose appends may be uncovered; the others see a prefix of them.
        owner: the active write handle, or None.
        shown: instance -> how many events it has been shown.
        verified: how many events any instance has read back exactly.
        stir: counts what may change a revision without changing the log.
        tags: clauses that forbid what was done since the log was last read back, oldest first.
        scribbled: seqs of events whose batch the caller overwrote after the call.
        barrier_kind, barrier_at: how and at which step of the model the latest barrier was made.
        closed_at: the step of the latest close of an owner.
        refused: the events of the latest refused batch.
        counted: instance -> the event count it last gave.
        erased: it never was: closed before anything made it visible to others (MAT-03).
        opaque: it holds what reads must refuse, so that its log cannot be judged (FMT-02, ``unknown_types="store"``).
    """

    id: str
    serial: int
    header: SessionHeader
    inherited: int | None
    creator: int
    pending: bool = True
    durable: bool = False
    unsure: bool = False
    home: int | None = None
    log: list[dict[str, Any]] = field(default_factory=list)
    covered: int = 0
    owner: Handle | None = None
    shown: dict[int, int] = field(default_factory=dict)
    verified: int = 0
    stir: int = 0
    tags: list[str] = field(default_factory=list)
    scribbled: set[int] = field(default_factory=set)
    refused: list[dict[str, Any]] = field(default_factory=list)
    barrier_kind: str = "flush"
    barrier_at: int = 0
    closed_at: int | None = None
    counted: dict[int, int] = field(default_factory=dict)
    erased: bool = False
    opaque: bool = False

    def floor(self, instance: int) -> int:
        """How many events a call of this instance must see."""
        if self.home == instance:
            return len(self.log)
        return max(self.covered, self.shown.get(instance, 0))

    def tag(self, clause: str) -> None:
        """Remember that an operation this clause is about was aimed at the session."""
        if clause not in self.tags:
            self.tags.append(clause)


@dataclass(slots=True, eq=False)
class Instance:
    """One instance of the service.

    Attributes:
        opened_at: the model's step when it was opened, to tell "opened earlier" from "opened later".
        closed: the service's ``close`` was called.
        failed_claim: ids on which a create or write open of this instance failed (OWN-04).
        revisions: per id, what the tokens this instance gave stand for.
        verdicts: per id, the last verdict on its existence (change count, who gave it, occupied), for SVC-13.
        scribbled_result: a caller overwrote what a read of this instance returned (SEQ-07).
    """

    number: int
    opened_at: int
    closed: bool = False
    failed_claim: dict[str, str] = field(default_factory=dict)
    revisions: dict[str, RevisionBook] = field(default_factory=dict)
    verdicts: dict[str, tuple[int, str, bool]] = field(default_factory=dict)
    scribbled_result: bool = False


@dataclass(slots=True)
class RevisionBook:
    """The tokens one instance gave for one id.

    Attributes:
        meaning: token -> (session serial, log length) it was given for, where that was exact.
        last: (token, serial, length, stir) of the latest observation, or None.
        quiet: clauses that forbid a change of the token, by what was done since.
    """

    meaning: dict[int, tuple[int, int]] = field(default_factory=dict)
    last: tuple[int, int, int, int] | None = None
    quiet: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Handle:
    """One handle, as its program numbered it.

    Attributes:
        shown: how many events its own reads have shown (READ-03).
        wrote: it has a resolved append.
        dirty: something of it is not yet covered by a barrier.
        lost: it lost its session to another instance (SVC-12) or its log moved on (OWN-14).
        left_at: next seq as this handle left it.
        after_refusal: its last append was refused (SEQ-09).
        rounds: resolved appends and flushes (OWN-11).
        reopened: it is not the first owner of its session (OWN-02).
        disturbed: a handle that is not the owner was closed or collected while this one owned (OWN-12).
        swept: a service flush came by since it was last used (FLUSH-04).
        left: it was closed by leaving its context (CLOSE-05).
    """

    number: int
    instance: int
    session: Session
    access: str
    closed: bool = False
    closed_by_service: bool = False
    close_raised: bool = False
    shown: int = 0
    wrote: bool = False
    dirty: bool = False
    lost: bool = False
    left_at: int = 0
    after_refusal: bool = False
    rounds: int = 0
    reopened: bool = False
    disturbed: bool = False
    swept: bool = False
    left: bool = False

    @property
    def is_writer(self) -> bool:
        """Whether it was opened for writing."""
        return self.access == "write"

    @property
    def owns(self) -> bool:
        """Whether it is the active owner of its session."""
        return self.session.owner is self


@dataclass(slots=True)
class World:
    """All of it.

    Attributes:
        stored: id -> the session that instances other than its creator may see.
        pending: (instance, id) -> a session only that instance can see.
        never: ids with an incarnation that never was, and the instance that closed it (MAT-03).
        step: counts invocations.
        changes: id -> how often its existence may have changed, for SVC-13.
        refusal_of: id of the session whose append was refused last, until another session wrote (SEQ-09).
    """

    stored: dict[str, Session] = field(default_factory=dict)
    pending: dict[tuple[int, str], Session] = field(default_factory=dict)
    instances: dict[int, Instance] = field(default_factory=dict)
    handles: dict[int, Handle] = field(default_factory=dict)
    never: dict[str, int] = field(default_factory=dict)
    step: int = 0
    serials: int = 0
    changes: dict[str, int] = field(default_factory=dict)
    refusal_of: str | None = None

    def visible(self, instance: int, session_id: str) -> tuple[Session | None, bool]:
        """What this instance sees under an id: (session or None, certain)."""
        session = self.pending.get((instance, session_id))
        if session is not None:
            # Stored by another instance meanwhile: which of the two this one shows is not said (SVC-12).
            return session, session_id not in self.stored
        session = self.stored.get(session_id)
        if session is None:
            return None, True
        certain = not session.unsure and (session.durable or session.home == instance or instance in session.shown)
        return session, certain

    def pending_elsewhere(self, instance: int, session_id: str) -> bool:
        """Whether another instance holds the id pending."""
        return any(other != instance and found == session_id for other, found in self.pending)
