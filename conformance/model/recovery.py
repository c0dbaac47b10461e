"""A fast filter for sweeps: does what one recovery showed certainly conform to what a crash may leave?

``promises`` says, once for each crash point, what must and may come back. A probe looks at one crash state after the
other and fills a ``RecoverySeen`` for each. ``fits`` accepts only what the fold accepts too, so that an accepted state
is done; whatever it does not accept is performed again as a program, and the fold alone decides.

No look is judged that was not made (``conformance.model.recovery_seen`` has the looks and their order).
"""

from __future__ import annotations

import marshal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from conformance.contract import HEADER_KEYS, SessionHeader
from conformance.model.aftermath import Log, Stake
from conformance.model.batches import header_refusals
from conformance.model.foresight import foresee
from conformance.model.history import ErrorView, HandleView, SnapshotView
from conformance.model.operations import Operation
from conformance.model.recovery_seen import ABSENT as ABSENT
from conformance.model.recovery_seen import NOT_FOUND as NOT_FOUND
from conformance.model.recovery_seen import Answer as Answer
from conformance.model.recovery_seen import RecoverySeen as RecoverySeen
from conformance.model.recovery_seen import SessionSeen as SessionSeen
from conformance.model.recovery_seen import looked_for, shows
from conformance.model.recovery_seen import marker as marker
from conformance.model.recovery_seen import newcomer as newcomer
from conformance.model.values import plain, same
from conformance.model.views import headers_differ

if TYPE_CHECKING:
    from conformance.model.judge import Judge


HeaderKey = tuple[tuple[Any, ...], tuple[type, ...], bytes]


@dataclass(frozen=True, slots=True)
class Promise:
    """What may come back of one session.

    Attributes:
        must, may: it exists for certain, or perhaps.
        covered: how many events are there at least.
        logs: the recovered log is a prefix of one of them; empty where no read is judged here.
        plain: for each of these, whether seq and time are its only numbers, so that comparing it is cheap.
        exact: ``1`` and ``1.0`` differ.
        header_key: the header in one value, by which another is known to be equal; None where it has none.
        stake: for the clauses that an accepted state witnesses.
        trace: the clause that a session breaks which must not be there.
    """

    session: str
    header: SessionHeader
    inherited: int | None
    must: bool
    may: bool
    covered: int
    logs: tuple[Log, ...]
    plain: tuple[bool, ...]
    header_key: HeaderKey | None
    stake: Stake
    trace: str = ""
    exact: bool = True


@lru_cache(maxsize=4096)
def _may_be_made(session: str) -> bool:
    return not header_refusals(newcomer(session), None).must


def promises(judge: Judge, during: Operation | None = None) -> tuple[Promise, ...]:
    """What a crash now may leave, with this call under way; the judge is not changed.

    Of ids about which the model can tell nothing there is no promise.
    """
    foresight = foresee(judge, during)
    exact = judge.capabilities.numbers == "exact"
    found = []
    for each in foresight.prospects:
        untold = each.session is not None and each.session.unknown is not None
        logs = () if untold else tuple(map(list, each.logs))
        found.append(_promise(each.id, each.header, each.inherited, each.stake, logs, exact=exact))
    for name, clause in foresight.absent.items():
        stake = Stake(must=False, covered=0, by_barrier=0, located=judge.located)
        found.append(_promise(name, SessionHeader(name, 0), None, stake, ([],), clause, exact=exact))
    return tuple(found)


def _promise(
    name: str,
    header: SessionHeader,
    inherited: int | None,
    stake: Stake,
    logs: tuple[Log, ...],
    trace: str = "",
    *,
    exact: bool,
) -> Promise:
    return Promise(
        name,
        header,
        inherited,
        stake.must,
        not trace,
        stake.covered,
        logs,
        tuple(exact and all(map(_is_plain, log)) for log in logs),
        _header_key(header),
        stake,
        trace,
        exact,
    )


def _is_plain(event: dict[str, Any]) -> bool:
    """Whether seq and time are the only numbers in the event: equal means equal as JSON then, where these are ints."""
    rest = (value for key, value in event.items() if key not in ("seq", "time"))
    return type(event["seq"]) is type(event["time"]) is int and not any(map(_has_number, rest))


def _has_number(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_number, value.values()))
    if isinstance(value, list):
        return any(map(_has_number, value))
    return not isinstance(value, str) and value is not None


def _header_key(header: Any) -> HeaderKey | None:
    """The header in one value; equal ones are equal as JSON. None where it holds what equality could be wrong about."""
    if not isinstance(header, SessionHeader) or not isinstance(header.extra, Mapping):
        return None
    values = _of_header(header)
    types = tuple(map(type, values))
    if not _EXACT.issuperset(types):
        return None
    try:
        return values, types, marshal.dumps(plain(header.extra), _NO_REFERENCES) if header.extra else b""
    except ValueError:
        return None


_of_header = attrgetter(*HEADER_KEYS)
_EXACT = frozenset({str, int, bool, type(None)})
_NO_REFERENCES = 2
"""Version of the marshal format in which equal values give equal bytes (``conformance.model.values``)."""

_NUMBERS = itemgetter("seq", "time")
_INTEGERS = {int}


def _equal(log: Log, count: int, value: list[Any], *, numberless: bool, exact: bool) -> bool:
    """Whether the value is the first ``count`` events of the log, equal as JSON."""
    expected = log if count == len(log) else log[:count]
    if value != expected:
        return False
    if numberless:
        # Nothing but seqs and times could be equal and not the same.
        return not count or set(map(type, chain.from_iterable(map(_NUMBERS, value)))) == _INTEGERS
    return same(expected, value, exact=exact)


def fits(promises: Sequence[Promise], seen: RecoverySeen) -> bool:
    """Whether what was seen certainly conforms; False says nothing but that the fold has to decide."""
    listed = seen.listed
    if seen.failed is not None or len(seen.sessions) != len(promises) or isinstance(listed, ErrorView):
        return False
    views: dict[Any, SnapshotView] = {}
    if listed is not None:
        for view in listed:
            if not isinstance(view, SnapshotView) or not isinstance(view.header, SessionHeader):
                return False
            views[view.header.id if isinstance(view.header.id, str) else ""] = view
        if len(views) != len(listed):
            return False
    for promise, session in zip(promises, seen.sessions, strict=True):
        if session.session != promise.session or session.failed is not None:
            return False
        view_or_none = views.pop(promise.session, None)
        if view_or_none is None and not shows(session):
            fitting = _fits_absent(promise, session) and not (
                promise.must and (listed is not None or looked_for(session))
            )
        else:
            listed_too = view_or_none is not None or listed is None
            fitting = listed_too and promise.may and _fits_present(promise, session, view_or_none)
        if not fitting:
            return False
    return not views


def _not_found(read: Answer) -> bool:
    return isinstance(read, ErrorView) and read.kind == NOT_FOUND


def _fits_absent(promise: Promise, seen: SessionSeen) -> bool:
    """Whether no look shows the session, and its id could be taken."""
    if not (seen.stat is None or seen.stat is ABSENT):
        return False
    if not all(read is None or _not_found(read) for read in (seen.log, seen.again)):
        return False
    if not (seen.owned is None or _not_found(seen.owned)):
        return False
    if seen.made is None:
        return seen.owner is None and seen.batch is None and seen.after is None
    if seen.made is not newcomer(seen.session) or not _may_be_made(seen.session):
        return False
    if seen.owner is None or not _is_handle(seen.owner, seen.session, "write"):
        return False
    if headers_differ(seen.made, seen.owner.header, exact=promise.exact) or not _is_count(seen.owner.inherited, None):
        return False
    if seen.batch is None:
        return seen.after is None
    numberless = promise.exact
    return seen.batch is marker(0) and (
        seen.after is None or _follows(promise, seen.after, [], 0, seen.batch, numberless=numberless)
    )


def _is_header(promise: Promise, header: Any) -> bool:
    if promise.header_key is not None and _header_key(header) == promise.header_key:
        return True
    return not headers_differ(promise.header, header, exact=promise.exact)


def _is_handle(handle: HandleView, session: str, access: str) -> bool:
    return bool(handle.id == session and handle.access == access)


def _is_count(count: Any, given: int | None) -> bool:
    if count is None or given is None:
        return given is None and (count is None or (type(count) is int and count == 0))
    return type(count) is int and count == given


def _follows(
    promise: Promise, after: Answer, log: Log, count: int, batch: list[dict[str, Any]], *, numberless: bool
) -> bool:
    """Whether a read shows the first ``count`` events of the log and the batch."""
    if not isinstance(after, list):
        return False
    whole = log[:count] + batch
    return _equal(whole, len(whole), after, numberless=numberless, exact=promise.exact)


def _fits_present(promise: Promise, seen: SessionSeen, listed: SnapshotView | None) -> bool:
    """Whether every look shows the same session as it was created, with a log that is promised."""
    if seen.made is not None:
        return False
    count = -1
    chosen: Log = []
    numberless = False
    for read in (seen.log, seen.again, seen.owned):
        if read is None:
            continue
        if not isinstance(read, list):
            return False
        if count < 0:
            count = len(read)
            if count < promise.covered:
                return False
            found = _choose(promise, count, read)
            if found is None:
                return False
            chosen, numberless = found
        elif not _equal(chosen, count, read, numberless=numberless, exact=promise.exact):
            return False
    for handle, access in ((seen.handle, "read"), (seen.owner, "write")):
        if handle is not None and not _is_own(promise, handle, access):
            return False
    if not _snapshots_fit(promise, seen.stat, listed, count):
        return False
    if seen.before_looks != seen.after_looks and seen.before_looks is not None:
        return False
    if seen.batch is not None and (seen.owned is None or seen.batch is not marker(count)):
        return False
    if seen.after is None:
        return True
    return count >= 0 and _follows(promise, seen.after, chosen, count, seen.batch or [], numberless=numberless)


def _choose(promise: Promise, count: int, read: list[Any]) -> tuple[Log, bool] | None:
    """The promised log that the read is a prefix of."""
    for log, numberless in zip(promise.logs, promise.plain, strict=True):
        if count <= len(log) and _equal(log, count, read, numberless=numberless, exact=promise.exact):
            return log, numberless
    return None


def _is_own(promise: Promise, handle: HandleView, access: str) -> bool:
    return (
        _is_handle(handle, promise.session, access)
        and _is_header(promise, handle.header)
        and _is_count(handle.inherited, promise.inherited)
    )


def _snapshots_fit(promise: Promise, stat: Any, listed: SnapshotView | None, count: int) -> bool:
    """Whether the snapshots are of the session, agree with each other and with the log that was read.

    Args:
        count: how many events were read; below 0 where nothing was.
    """
    for view in (stat, listed):
        if view is None:
            continue
        if not isinstance(view, SnapshotView) or not _is_header(promise, view.header):
            return False
        number, size = view.event_count, view.size_bytes
        # Only what was read says which of the counts that are promised is right.
        if number is not None and (type(number) is not int or number < 0 or number != count):
            return False
        if size is not None and (type(size) is not int or size < 0 or view.artifact_size not in (None, size)):
            return False
    if stat is None or listed is None:
        return True
    return (stat.revision, stat.event_count, stat.size_bytes) == (
        listed.revision,
        listed.event_count,
        listed.size_bytes,
    )
