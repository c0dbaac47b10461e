"""What the model knows: sessions, instances and handles, and what each instance has been shown.

A session's log is A of the contract, the events of resolved appends; ``covered`` is F, how many a barrier covered.
What an instance must see of it is an interval: at least what it appended, was shown, or a barrier covered; at most A.
Plain state; the rules that change it and judge by it are in the modules beside this one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance.contract import SessionHeader
from conformance.model.aftermath import Aftermath, Recovery
from conformance.model.live_state import Live
from conformance.model.trouble import Span, Trouble

if TYPE_CHECKING:
    from conformance.model.adversities import Fail
    from conformance.model.harm import Harm

STRONG_TAGS = frozenset(
    (
        "SEQ-02 SEQ-08 SEQ-11 CLOSE-06 LIVE-07 LIVE-10 LIVE-12 LIVE-14 JSON-02 JSON-03 FMT-02 SEQ-03 OWN-06 SVC-02"
        " OWN-14 SVC-12 ID-01 FAULT-01 FAULT-02"
    ).split()
)
"""Tags of operations that tried to change something; the others only looked."""


@dataclass(slots=True, eq=False)
class Session:
    """One incarnation of one id.

    Attributes:
        serial: number of the incarnation; two sessions of one id never share it.
        creator: the instance that created it.
        pending: only its creator can see it.
        durable: a barrier covered its existence.
        eager: its backend shows it to every instance from its creation on.
        unsure: it may or may not exist (an eager backend's empty session after its close).
        home: the instance whose appends may be uncovered; the others see a prefix of them.
        owner: the active write handle, or None; where nobody keeps two instances apart, the latest of several.
        shown: instance -> how many events it has been shown; an instance that is in it has seen the session.
        verified: how many events any instance has read back exactly.
        stir: counts what may change a revision without changing the log.
        tags: clauses that forbid what was done since the log was last read back whole, oldest first; those about
            operations that only looked, since it was last written too.
        refused, refused_by: the events of the latest refused batch, and the clause that refused it.
        scribbled: seqs of events whose batch the caller overwrote after the call (SEQ-06).
        handed: instance -> how many events stood in results of its reads that the caller overwrote (SEQ-07).
        barrier_kind, barrier_at: how and at which step of the model the latest barrier was made.
        grown_at, grown_call: the step of the latest append, and the number of its call.
        closed_at: the step of the latest close of an owner.
        read_unowned: a read open came since the latest owner, so that ownership taken now is its doing (OWN-03).
        counted: instance -> the event counts it gave.
        erased: it never was: closed before anything made it visible to others (MAT-03).
        opaque: what it holds cannot be told any more, so that nothing about it is judged (``World.blur``).
        given: seq -> the event as it was handed over, where that is beyond JSON's common ground.
        starts: seqs at which batches begin.
        unknown: seq and type of its first event that a closed vocabulary must not serve (FMT-02), or None.
        barred, by_barrier, barrier_call: a barrier covered its existence, that many of its events, and with which call.
        found: seqs (first, end) that the handle whose barrier covered them had found, and not written (DUR-11).
        exists_found: the same of its existence.
        lives: how many crashes it came through.
        survived, kept: since the latest crash an instance showed that it exists, with that many events.
        recovery: what is known of it since the latest crash, until its life is an ordinary one again.
        reborn: the clause that a trace of an earlier session breaks, where a crash took that one.
        grown, barriers: (number of a call, events) of each append that it took, and of each barrier.
        harm: what may follow from damage to its artifact, or None.
        promised: (first, end, clause): these seqs are there because of that clause, and not because an append resolved
            while nothing else was under way.
        left_by: the clause about how its latest owner ended, where that was another than the plain close's.
        broken_off: an open, create or look was cancelled that was about it too, and since then nobody wrote it, or read
            it back whole.
        live: what is on its way into its log, or None.
        lent: its caller overwrote what the header held once it was created.
        seen_header: a header that was shown for it, and found equal to its own; that very object needs no second look.
        header_clauses: what a changed value in its header would break, once it was asked.
    """

    id: str
    serial: int
    header: SessionHeader
    inherited: int | None
    creator: int
    pending: bool = True
    durable: bool = False
    eager: bool = False
    unsure: bool = False
    home: int | None = None
    log: list[dict[str, Any]] = field(default_factory=list)
    covered: int = 0
    owner: Handle | None = None
    shown: dict[int, int] = field(default_factory=dict)
    verified: int = 0
    stir: int = 0
    tags: list[str] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)
    refused_by: str = ""
    scribbled: set[int] = field(default_factory=set)
    handed: dict[int, int] = field(default_factory=dict)
    barrier_kind: str = "flush"
    barrier_at: int = 0
    grown_at: int = 0
    grown_call: int = -1
    closed_at: int | None = None
    read_unowned: bool = False
    counted: dict[int, set[int]] = field(default_factory=dict)
    erased: bool = False
    opaque: bool = False
    given: dict[int, dict[str, Any]] = field(default_factory=dict)
    starts: set[int] = field(default_factory=set)
    unknown: tuple[int, str] | None = None
    barred: bool = False
    by_barrier: int = 0
    barrier_call: int = -1
    found: list[tuple[int, int]] = field(default_factory=list)
    exists_found: bool = False
    lives: int = 0
    survived: bool = False
    kept: int = 0
    recovery: Recovery | None = None
    reborn: str = ""
    grown: list[tuple[int, int]] = field(default_factory=list)
    barriers: list[tuple[int, int]] = field(default_factory=list)
    harm: Harm | None = None
    promised: list[tuple[int, int, str]] = field(default_factory=list)
    left_by: str = ""
    broken_off: bool = False
    live: Live | None = None
    lent: bool = False
    seen_header: Any = None
    header_clauses: frozenset[str] | None = None

    @property
    def settled(self) -> bool:
        """Whether it certainly is stored: a barrier covered it, or an instance other than its writer's saw it."""
        if self.durable or self.eager or self.survived:
            return True
        return any(instance != self.home for instance in self.shown)

    def floor(self, instance: int) -> int:
        """How many events a call of this instance must see."""
        if self.home == instance:
            return len(self.log)
        return max(self.covered, self.kept, self.shown.get(instance, 0))

    def show(self, instance: int, upto: int) -> None:
        """An instance has been shown the session with that many events."""
        if self.shown.get(instance, -1) < upto:
            self.shown[instance] = upto

    def tag(self, clause: str) -> None:
        """Remember that an operation this clause is about was aimed at the session."""
        if clause in self.tags:
            self.tags.remove(clause)
        self.tags.append(clause)


@dataclass(slots=True, eq=False)
class Instance:
    """One instance of the service.

    Attributes:
        opened_at: the model's step when it was opened, to tell "opened earlier" from "opened later".
        closed: the service's ``close`` was called.
        failed_claim: ids on which a create or write open of this instance failed -> the clause about it (OWN-04).
        revisions: per id, what the tokens this instance gave stand for.
        verdicts: per id, the last verdict on its existence (change count, who gave it, occupied), for SVC-13.
    """

    number: int
    opened_at: int
    closed: bool = False
    failed_claim: dict[str, str] = field(default_factory=dict)
    revisions: dict[str, RevisionBook] = field(default_factory=dict)
    verdicts: dict[str, tuple[int, str, bool]] = field(default_factory=dict)

    def book(self, session_id: str) -> RevisionBook:
        """The tokens that it gave for an id, none at first."""
        found = self.revisions.get(session_id)
        if found is None:
            found = self.revisions[session_id] = RevisionBook()
        return found


@dataclass(slots=True)
class RevisionBook:
    """The tokens one instance gave for one id.

    Attributes:
        meaning: token -> (session, log length) it was given for, where that was exact.
        last: (token, session, length, stir) of the latest observation, or None.
        quiet: clauses that forbid a change of the token, by what was done since.
        numbers: whether the latest snapshot came from a listing, and its event count and size.
    """

    meaning: dict[int, tuple[Session, int]] = field(default_factory=dict)
    last: tuple[int, Session, int, int] | None = None
    quiet: list[str] = field(default_factory=list)
    numbers: tuple[bool, tuple[Any, Any]] | None = None


@dataclass(slots=True, eq=False)
class Handle:
    """One handle, as its program numbered it.

    Attributes:
        opened_at: the model's step when it was opened.
        found: how many events the log had when it was opened.
        close_error: kind of the error that its first close raised, or "".
        shown: how many events its own reads have shown (READ-03).
        wrote: it has a resolved append.
        dirty: something of it is not yet covered by a barrier.
        lost: it lost its session to another instance (SVC-12) or its log moved on (OWN-14), and was told so.
        left_at: next seq as this handle left it.
        after_refusal: its last append was refused (SEQ-09).
        rounds: resolved appends and flushes (OWN-11).
        reopened: it is not the first owner of its session (OWN-02).
        disturbed: the clause about what may have put it off: a cancelled call of its own (SEQ-08), else a handle
            without ownership that was closed or collected while this one owned.
        swept: a service flush came by since it was last used (FLUSH-04).
        left: it was closed by leaving its context (CLOSE-05).
        late: it was given out while its service was being closed (CLOSE-08).
        unheard: its close was given up or came with its session's end, and nobody heard yet whether it failed.
    """

    number: int
    instance: int
    session: Session
    access: str
    opened_at: int = 0
    found: int = 0
    closed: bool = False
    closed_by_service: bool = False
    close_error: str = ""
    shown: int = 0
    wrote: bool = False
    dirty: bool = False
    lost: bool = False
    left_at: int = 0
    after_refusal: bool = False
    rounds: int = 0
    reopened: bool = False
    disturbed: str = ""
    swept: bool = False
    left: bool = False
    late: bool = False
    unheard: bool = False

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
        never: ids with an incarnation that never was -> the clause that a trace of it breaks (MAT-03, SEQ-03).
        step: counts invocations.
        changes: id -> how often its existence may have changed, for SVC-13.
        blurred: ids of which nothing is judged any more.
        refusal_of: id of the session whose append was refused last, until another session wrote (SEQ-09).
        families: ids by what a careless mapping to names leaves of them, for ``identity_blame``.
        lone: ids of which it is known that no other is kin to them.
        call: number of the call that is judged.
        about: number of each call -> id of the session it is about, or None where it is about the whole service.
        aftermath: the latest crash, or None.
        left: ids that are free because of a crash; ``never`` has the clause.
        trouble: what faults of the storage left open, from the first operation about one on.
        harmed: id -> the session with an artifact that was damaged. damaged: there was one, under whatever id.
        former: id -> the session that had it before, where damage took that one and it was created anew.
        now: the time of the latest event, in virtual microseconds.
        span: from when to when the call that is judged was in flight.
        live: serial -> session, of those that have published to a handle.
        published: (instance, id) of the sessions on the hub of each instance.
        failing: how storage fails now, or None.
        open_takes: virtual microseconds that an open took at most which owns, made alone; None before the first.
    """

    stored: dict[str, Session] = field(default_factory=dict)
    pending: dict[tuple[int, str], Session] = field(default_factory=dict)
    instances: dict[int, Instance] = field(default_factory=dict)
    handles: dict[int, Handle] = field(default_factory=dict)
    never: dict[str, str] = field(default_factory=dict)
    step: int = 0
    serials: int = 0
    changes: dict[str, int] = field(default_factory=dict)
    blurred: set[str] = field(default_factory=set)
    refusal_of: str | None = None
    families: dict[str, list[str]] = field(default_factory=dict)
    lone: set[str] = field(default_factory=set)
    call: int = -1
    about: dict[int, str | None] = field(default_factory=dict)
    aftermath: Aftermath | None = None
    left: set[str] = field(default_factory=set)
    trouble: Trouble | None = None
    harmed: dict[str, Session] = field(default_factory=dict)
    damaged: bool = False
    former: dict[str, Session] = field(default_factory=dict)
    now: int = 0
    span: Span = ((0, 0), (0, 0))
    live: dict[int, Session] = field(default_factory=dict)
    published: set[tuple[int, str]] = field(default_factory=set)
    failing: Fail | None = None
    open_takes: int | None = None

    def visible(self, instance: int, session_id: str) -> tuple[Session | None, bool]:
        """What this instance sees under an id: (session or None, certain)."""
        session = self.pending.get((instance, session_id))
        if session is not None:
            # Stored by another instance meanwhile: which of the two this one shows is not said (SVC-12).
            return session, session_id not in self.stored
        session = self.stored.get(session_id)
        if session is None:
            return None, True
        known = session.durable or session.eager or session.survived
        known = known or session.home == instance or instance in session.shown
        return session, known and not session.unsure

    def blur(self, session: Session) -> None:
        """From now on nothing about the session's id is judged, for what is stored under it cannot be told.

        It holds what reads must refuse (FMT-02, ``unknown_types="store"``), two instances wrote it side by side, or
        its owner was collected, which may have given ownership up or not.
        """
        self.blurred.add(session.id)
        session.opaque = True
        for each in (*self.stored.values(), *self.pending.values()):
            each.opaque = each.opaque or each.id == session.id

    def known_to_all(self, instance: int, session_id: str) -> bool:
        """Whether every conforming backend, lazy or eager, would show this instance the same under the id."""
        session = self.stored.get(session_id)
        if session is not None and session.eager and not session.durable:
            return session.creator == instance and not session.unsure
        return session_id not in self.never and not self.pending_elsewhere(instance, session_id)

    def pending_elsewhere(self, instance: int, session_id: str) -> bool:
        """Whether another instance holds the id pending."""
        for other, found in self.pending:  # noqa: SIM110
            if found == session_id and other != instance:
                return True
        return False

    def rival(self, session: Session) -> Session | None:
        """The session that another instance stored under the id this one is still pending under, or None (SVC-12)."""
        return self.stored.get(session.id) if session.pending else None

    def writers(self, session: Session) -> list[Handle]:
        """The write handles on the session that are not closed: more than one only where nobody keeps them apart."""
        return [
            each for each in self.handles.values() if each.session is session and each.is_writer and not each.closed
        ]
