"""What damage to an artifact leaves open: pure functions from the operation and what it did to the answers that may be.

``harm_of`` says for one session how it may be refused, whether it may be gone, how short its log may be, which of its
events may be wrong, and which clause another answer breaks. It knows batches by the sizes that the artifact had when a
barrier resolved, and nothing of any format. Where the contract leaves an answer open, every answer is allowed.
``conformance.model.damage_rules`` judges by it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from conformance.contract import Capabilities
from conformance.model.history import DamageView
from conformance.model.operations import Damage
from conformance.model.state import Session

Log = list[dict[str, Any]]

CORRUPT = frozenset({"SessionPersistenceCorruptionError"})
UNSUPPORTED = frozenset({"SessionFormatUnsupportedError"})
SPECIFIC = CORRUPT | UNSUPPORTED
NOTHING: frozenset[str] = frozenset()
UNUSABLE = frozenset(
    "SessionPersistenceError OSError IsADirectoryError NotADirectoryError FileNotFoundError FileExistsError"
    " PermissionError".split()
)
"""What may be said of a file that is no artifact, and cannot be used."""

HOSTILE_WAYS = frozenset({"hostile", "plant"})
"""What is made to do harm (ID-04)."""

EXHAUSTED = frozenset({"MemoryError", "RecursionError", "Died"})
"""What is raised where the memory or the stack is used up, or is told of a process that ended."""

_FOREIGN = {
    "replace": "FMT-09",
    "directory": "FMT-09",
    "symlink": "FMT-09",
    "copy": "FMT-06",
    **dict.fromkeys(HOSTILE_WAYS, "ID-04"),
}
"""What is no artifact of the session any more -> the clause about it."""

_BEHIND_THE_HANDLE = frozenset({"unlink", "replace", "directory", "symlink", "copy", "plant", "cut"})
"""What an active writer has to notice: removed, replaced or cut (SVC-14, DUR-10)."""

_INTO_RECORDS = frozenset({"flip", "drop", "insert", "repeat", "swap"})
"""What may change a value and leave everything else as it was, which without checksums nobody can notice."""


@dataclass(slots=True)
class Harm:
    """What may follow from damage to one session, and what was seen of it since.

    Attributes:
        how, step: the kind of damage, "beside" where it came to another file, and the model's step at which it came.
        log: A at that moment, or what an older copy holds.
        covered: events of the log that some barrier covered; the rest may be known to its own instance alone.
        low: the least events that a log which is shown must have; all of them: it has to be right.
        loose: seqs (first, end) of events that need not be right.
        loose_header: neither need the header.
        shows: a log, a handle for writing or a snapshot may be given at all.
        refusal: error kinds by which it may be refused.
        vanish: it may be absent.
        clause: what a wrong log, or an answer of another kind, breaks.
        wrong: what a wrong event breaks, where that is another one.
        gone: what its absence breaks.
        creating: what a ``create`` breaks that is neither refused for a reason nor takes a free id.
        tells: another answer than the allowed ones is thinkable and would be a violation.
        path, digest: of the artifact.
        stays: its bytes must stay as they are.
        live: a write handle was open on it, that has to notice.
        called, resolved, made: such a handle was used since; an append or flush of it resolved; the artifact changed.
        barred: a flush or close of it resolved.
        added: events that it appended since.
        recovered: what a fresh instance read.
        settled: the log after a new writer went on behind that.
        verdicts: instance -> whether it called the id occupied.
        tokens: instance -> the revision it gave last.
    """

    how: str
    step: int
    log: Log
    covered: int = 0
    low: int = 0
    loose: tuple[int, int] = (0, 0)
    loose_header: bool = False
    shows: bool = True
    refusal: frozenset[str] = CORRUPT
    vanish: bool = False
    clause: str = "FMT-04"
    wrong: str = ""
    gone: str = "FMT-04"
    creating: str = "FMT-09"
    tells: bool = True
    path: str = ""
    digest: str = ""
    stays: bool = False
    live: bool = False
    called: bool = False
    resolved: bool = False
    made: bool = False
    barred: bool = False
    added: Log = field(default_factory=list)
    recovered: Log | None = None
    settled: Log | None = None
    verdicts: dict[int, bool] = field(default_factory=dict)
    tokens: dict[int, int] = field(default_factory=dict)

    @property
    def going_on(self) -> str:
        """The clause about a log that a new writer went on with."""
        return "TORN-02" if self.clause == "TORN-01" else self.clause


def harm_of(
    session: Session,
    op: Damage,
    view: DamageView,
    claims: Capabilities,
    step: int,
    *,
    live: bool,
    former: Session | None = None,
) -> Harm:
    """What may follow.

    Args:
        session: as it was before the damage. former: the one that had its id before, where an older copy may be of it.
        step: the model's.
        live: a write handle is open on it.
    """
    harm = Harm(op.how, step, list(session.log), _covered(session), path=view.path, digest=view.digest)
    harm.live = live and op.how in _BEHIND_THE_HANDLE
    if session.opaque:
        vague(harm)
    elif op.how == "unlink":
        _unlinked(harm)
    elif op.how == "put_back":
        _put_back(harm, session, view, former)
    elif op.how in ("bom", "crlf"):
        harm.low, harm.refusal = _covered(session), SPECIFIC
        harm.clause = harm.gone = "FMT-12"
    elif op.how == "symlink" and not op.data:
        # It is the right log at another place: to refuse that is as right as to follow.
        harm.low, harm.refusal, harm.clause = _covered(session), SPECIFIC, "FMT-09"
    elif op.how in _FOREIGN and not (op.how == "hostile" and view.low > 0):
        _foreign(harm, op, view)
    else:
        _bytes(harm, session, op, view, claims)
        if op.how == "hostile":
            # What stands behind the log may be taken for a torn tail too.
            harm.refusal, harm.clause, harm.gone = SPECIFIC, "ID-04", "ID-04"
    return harm


def harm_beside(session: Session, step: int) -> Harm:
    """What may follow where a file is damaged that is no session's artifact, and that this one may need.

    The session is refused in whatever way, or absent as a whole, or right; what is no part of any does nothing.
    """
    harm = Harm("beside", step, list(session.log), low=_covered(session), refusal=SPECIFIC | UNUSABLE, vanish=True)
    harm.clause = harm.gone = harm.creating = "FMT-11"
    if session.opaque or session.harm is not None:
        vague(harm)
    return harm


def vague(harm: Harm) -> None:
    """Nothing can be told: any answer that is one is allowed."""
    harm.low, harm.loose, harm.loose_header = 0, (0, len(harm.log)), True
    harm.refusal, harm.vanish, harm.tells, harm.live = SPECIFIC, True, False, False


def _unlinked(harm: Harm) -> None:
    # What else the backend keeps of it may refuse, and alone decides nothing.
    harm.shows, harm.vanish, harm.refusal = False, True, SPECIFIC
    harm.clause = harm.gone = harm.creating = "FMT-11"


def _foreign(harm: Harm, op: Damage, view: DamageView) -> None:
    harm.shows = False
    harm.clause = harm.gone = harm.creating = _FOREIGN[op.how]
    harm.stays = op.how in ("replace", "symlink", "copy") or (op.how == "plant" and harm.live)
    if view.after == 0:
        # It may be what a torn creation left.
        harm.vanish, harm.stays, harm.refusal = True, False, SPECIFIC
        harm.clause = harm.gone = harm.creating = "TORN-04"


def _put_back(harm: Harm, session: Session, view: DamageView, former: Session | None) -> None:
    if view.version is None:
        vague(harm)
        return
    lived = session
    if former is not None and not any(call <= view.version for call, _ in session.grown):
        lived = former
    most = _at(lived.grown, view.version)
    harm.low = min(_at(lived.barriers, view.version), most)
    harm.log = lived.log[:most]
    harm.clause = harm.gone = "FMT-11"
    harm.live = False


def _covered(session: Session) -> int:
    """How many events some barrier covered: what is only appended may be known to its own instance alone."""
    return max((upto for _, upto in session.barriers), default=0)


def _at(steps: list[tuple[int, int]], call: int) -> int:
    """The number of events after that call, by (call, number of events)."""
    return max((upto for each, upto in steps if each <= call), default=0)


def _bytes(harm: Harm, session: Session, op: Damage, view: DamageView, claims: Capabilities) -> None:
    """Some bytes are not as they were, and where batches end is known from the sizes."""
    every = len(harm.log)
    marks = barrier_marks(session, view)
    first = view.edges[0][1] if view.edges else 0
    before = max((upto for size, upto in marks if size <= view.low), default=0)
    behind = min((upto for size, upto in marks if size >= view.high), default=every)
    told = bool(marks) and view.in_place
    # A batch was flushed, damage is in what the artifact held then, and another one was flushed behind that.
    # Who knows with each batch how far the one before it was durable takes what came in between them for a torn tail.
    end = view.high + (op.how in ("insert", "repeat") and not _on_edges(op))
    is_flushed = told and any(end <= size < later and upto < more for (size, upto), (later, more) in pairwise(marks))
    in_header = view.low < first
    whole_batches = _on_edges(op)
    if not is_flushed:
        behind = every
    if not told:
        vague(harm)
        return
    withstands = claims.durability != "none" and (view.torn == "cut" or claims.durability != "process-kill")
    is_torn = bool(view.torn) and not is_flushed and withstands
    if op.how in _INTO_RECORDS and not claims.checksums and not whole_batches:
        harm.loose, harm.loose_header = (before, behind), in_header
    elif not claims.checksums and not is_flushed and not is_torn:
        harm.loose, harm.loose_header = (before, every), in_header
    # What was taken out of the last batch, or came into it, may leave what a torn one would have begun with.
    same_size = op.how in ("flip", "nul")
    right = is_flushed or (claims.checksums and not view.torn and same_size)
    harm.low = _covered(session) if right else before
    # With nothing said of the first batch, and of what it holds, no answer is wrong.
    harm.tells = right or before > 0
    harm.refusal = SPECIFIC if in_header or harm.loose != (0, 0) else CORRUPT
    creating = (not is_flushed and (not same_size or view.torn or view.headless)) or (
        view.low == 0 and view.torn == "nul"
    )
    harm.vanish = in_header and bool(creating)
    harm.gone = "FMT-09" if in_header else "FMT-04"
    if claims.checksums and not view.torn and (op.how == "flip" or not is_flushed):
        harm.clause = harm.gone = "FMT-10"
    elif is_torn:
        harm.clause, harm.wrong = "TORN-01", "TORN-03"
        harm.gone = harm.creating = "TORN-04" if harm.vanish else "TORN-01"
        if view.low >= max(size for size, _ in marks) and not in_header:
            # Nothing that a barrier covered was hit: a crash leaves just this, and nobody may refuse that.
            harm.refusal, harm.tells = NOTHING, True


def _on_edges(op: Damage) -> bool:
    """Whether whole batches are moved."""
    return not (op.start[1] or (op.end[1] and op.how != "insert") or op.data)


def barrier_marks(session: Session, view: DamageView) -> list[tuple[int, int]]:
    """(size, events) of the artifact at each barrier that covered more than the one before, in order.

    Nothing where the sizes do not tell: a barrier that covered something left the size as it was.
    """
    found: list[tuple[int, int]] = []
    for call, upto in session.barriers:
        size = max((size for each, size in view.edges if each <= call), default=0)
        if not size:
            # The artifact came to be later.
            continue
        if found and upto > found[-1][1] and size <= found[-1][0]:
            return []
        if not found or upto > found[-1][1]:
            found.append((size, upto))
    return found
