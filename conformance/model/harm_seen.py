"""What is seen of a damaged session, held against what may follow: refusals, headers, logs, and looks back.

The rules of ``conformance.model.damage_rules`` ask here. Each function counts the clauses that another answer would
have broken, or raises the Violation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.model.harm import Harm
from conformance.model.history import Outcome, Raised
from conformance.model.operations import Read
from conformance.model.service_rules import NOT_FOUND
from conformance.model.state import Handle, Session
from conformance.model.values import same
from conformance.model.views import headers_differ
from conformance.model.words import log_text

if TYPE_CHECKING:
    from conformance.model.judge import Judge


def refused(judge: Judge, harm: Harm, outcome: Outcome, *, told_by: str = "") -> None:
    """The session was refused, as it may be: with the specific error, and where its artifact is.

    Args:
        told_by: the clause that asks for the specific error, where it is another than the one about the damage.
    """
    error = outcome.error if isinstance(outcome, Raised) else None
    if error is None:
        return
    if harm.settled is not None:
        judge.fail(harm.going_on, "the log as it was read, with the batch that was appended behind it")
    if error.kind not in harm.refusal:
        wanted = " or ".join(sorted(harm.refusal)) or "the log before the torn tail"
        may = ", or that it is not there" if harm.vanish else ""
        judge.fail(told_by or harm.clause, f"{wanted}{may}")
    underhand(judge, harm, there=True)
    if harm.tells:
        judge.witness(*filter(None, {told_by, harm.clause}))
    if not told_by and harm.path:
        where = (error.location or "").replace("\\", "/")
        if not where.endswith(harm.path):
            judge.fail("FMT-05", f"its location names the artifact, {harm.path}", f"location={error.location!r}")
        judge.witness("FMT-05")


def underhand(judge: Judge, harm: Harm, *, there: bool = False) -> None:
    """A fresh instance does not find the log, and an active writer may have said that it is stored.

    Args:
        there: something is found all the same.
    """
    if not harm.live or not harm.called:
        return
    if harm.resolved:
        made = harm.made or (there and harm.how == "unlink")
        judge.fail("SVC-14" if made else "DUR-10", "an append or flush on it that was rejected", note=_UNDER)
    judge.witness("SVC-14", "DUR-10")


_UNDER = "its artifact was removed, replaced or cut under an active write handle, and a call on that resolved"


def check_header(judge: Judge, session: Session, harm: Harm, header: Any, session_id: Any) -> None:
    """A handle or snapshot of it has its own id, and its header as far as that is not damaged."""
    if session_id != session.id:
        judge.fail("FMT-06", f"refused, or a header that names {session.id!r:.80}", f"it names {session_id!r:.80}")
    difference = headers_differ(session.header, header, exact=judge.capabilities.numbers == "exact")
    if difference and not harm.loose_header:
        judge.fail(harm.gone, "refused, or the header given to create", f"header{difference}")
    if harm.tells and not harm.loose_header:
        judge.witness(harm.gone)


def check_read(judge: Judge, handle: Handle, harm: Harm, op: Read, value: Any) -> None:
    """What a fresh instance reads."""
    if not isinstance(value, list):
        judge.fail("READ-01", "a list of events")
    whole = op.length is None and op.offset == 0
    if harm.settled is not None:
        _as_settled(judge, harm, op, value)
    elif not harm.shows and not harm.live:
        judge.fail(harm.clause, "refused, or absent: what stands there is no log of this session")
    else:
        _as_harmed(judge, harm, op, value, whole=whole)
        _check_token(judge, handle, harm, value, whole=whole)
    if whole:
        if harm.recovered is None:
            harm.recovered = list(value)
        handle.shown = len(value)


def _as_settled(judge: Judge, harm: Harm, op: Read, value: list[Any]) -> None:
    log = harm.settled or []
    due = _slice(log, op)
    if not same(due, value):
        judge.fail(harm.going_on, f"{log_text(due)}: what was read before, and the batch appended behind it")
    judge.witness(harm.going_on)


def _as_harmed(judge: Judge, harm: Harm, op: Read, value: list[Any], *, whole: bool) -> None:
    full = [*harm.log, *harm.added]
    clause = harm.clause
    if harm.live and harm.called:
        clause = "SVC-14" if harm.made or not harm.shows else "DUR-10" if harm.resolved else clause
        least = len(full) if harm.barred or not harm.shows else harm.covered
        if same(_slice(full, op)[: len(value)], value) and len(value) >= len(_slice(full[:least], op)):
            judge.witness(clause)
            return
        if harm.resolved:
            judge.fail(clause, f"refused, absent, or {log_text(full)}", note=_UNDER)
        if not harm.shows:
            judge.fail("SVC-14", "refused, or absent: nothing was stored under the writer", note=_UNDER)
    due = _slice(full, op)
    wrong = len(value) > len(due) or any(
        not same(due[at], each)
        for at, each in enumerate(value)
        if not harm.loose[0] <= op.offset + at < harm.loose[1] and at < len(due)
    )
    wanted = f"refused, or {log_text(due)}"
    if wrong:
        judge.fail((harm.wrong if clause == harm.clause else "") or clause, wanted)
    if whole and len(value) < harm.low:
        judge.fail(clause, f"{wanted}, of which {harm.low} at least have to be there")
    if harm.tells:
        judge.witness(harm.clause)
    if harm.live and harm.called:
        judge.witness("SVC-14")


def _slice(log: list[Any], op: Read) -> list[Any]:
    return log[op.offset :] if op.length is None else log[op.offset : op.offset + op.length]


def look_back(judge: Judge, handle: Handle, harm: Harm, op: Read, outcome: Outcome) -> None:
    """An instance reads that was there before the damage: it may know better, but never goes back (MAT-06, READ-03)."""
    erased = harm.how == "unlink"
    old = handle.opened_at < harm.step
    if isinstance(outcome, Raised):
        kind = outcome.error.kind
        if kind == "Hung":
            judge.fail("MAT-06" if erased else harm.clause, "an answer")
        if erased and old and not handle.is_writer:
            if kind not in NOT_FOUND:
                judge.fail("MAT-06", "SessionPersistenceNotFoundError: the session was erased under this handle")
            judge.witness("MAT-06")
        elif handle.shown:
            judge.witness("READ-03")
        return
    value = getattr(outcome, "value", None)
    if not isinstance(value, list):
        judge.fail("READ-01", "a list of events")
    if erased and old and not handle.is_writer:
        if value or handle.shown:
            judge.fail("MAT-06", "SessionPersistenceNotFoundError: the session was erased under this handle")
        judge.witness("MAT-06")
        return
    whole = op.offset == 0 and op.length is None
    if whole and old and len(value) < handle.shown:
        judge.fail("READ-03", f"at least the {handle.shown} events that this handle showed, or an error")
    if whole and old and handle.shown:
        judge.witness("READ-03")
    if not old:
        _check_token(judge, handle, harm, value, whole=whole)


def _check_token(judge: Judge, handle: Handle, harm: Harm, value: list[Any], *, whole: bool) -> None:
    """REV-04: the token that the instance gave last stands for what it reads now, and stood for no other log before."""
    book = judge.world.instances[handle.instance].revisions.get(handle.session.id)
    token = harm.tokens.get(handle.instance)
    if book is None or token is None or not whole:
        return
    others = [meant for meant, (session, length) in book.meaning.items() if not same(session.log[:length], value)]
    if token in others:
        session, length = book.meaning[token]
        judge.fail(
            "REV-04",
            "another revision than for another log",
            f"the same revision for {log_text(session.log[:length])} and for {log_text(value)}",
        )
    if others or token in book.meaning:
        judge.witness("REV-04")
