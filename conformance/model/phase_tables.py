"""The calls of an overlap by what is asked for: tables that are made once, when all of them have ended."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from conformance.model.operations import Close, CloseInstance, FlushInstance, Operation

if TYPE_CHECKING:
    from conformance.model.phase import Flight


class Tables:
    """The calls that were made, and the same by what is asked for: what is written down here is asked for each call.

    Attributes:
        flights: all of them, in the order in which they began; so is each of the other lists.
        changes: those that are no views. changed: the same by session.
        kinds, sessions, handles: by the class of the operation, by session, and those that change something through a
            handle by that.
        closes: handle -> the first call of its close.
        has_closes: there is one, or one of a service. has_sweeps: a service was flushed or closed.
        gives_up: there is a call that its caller gave up.
        stirs: somebody wanted to own a session, or a call never came to an end.
    """

    __slots__ = (
        "changed",
        "changes",
        "closes",
        "flights",
        "gives_up",
        "handles",
        "has_closes",
        "has_sweeps",
        "kinds",
        "sessions",
        "stirs",
    )

    def __init__(self, flights: list[Flight]) -> None:
        kinds: defaultdict[type[Operation], list[Flight]] = defaultdict(list)
        sessions: defaultdict[str | None, list[Flight]] = defaultdict(list)
        handles: defaultdict[int, list[Flight]] = defaultdict(list)
        changed: defaultdict[str | None, list[Flight]] = defaultdict(list)
        changes: list[Flight] = []
        self.gives_up = self.stirs = False
        for each in flights:
            op = each.op
            kinds[type(op)].append(each)
            sessions[each.session].append(each)
            if not each.is_view:
                changes.append(each)
                changed[each.session].append(each)
                if each.is_on_handle:
                    handles[op.handle].append(each)
            if each.given_up:
                self.gives_up = True
            if each.gives_owner or each.kind == "Hung":
                self.stirs = True
        self.flights, self.changes, self.changed = flights, changes, changed
        self.kinds, self.sessions, self.handles = kinds, sessions, handles
        self.has_closes = Close in kinds or CloseInstance in kinds
        self.has_sweeps = FlushInstance in kinds or CloseInstance in kinds
        # From the last to the first, so that the first of several is the one that stays.
        self.closes = {each.op.handle: each for each in reversed(kinds.get(Close, []))}
