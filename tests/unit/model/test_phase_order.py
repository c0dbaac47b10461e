"""The order in which calls of an overlap may have taken effect: found where there is one, and honest where not."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest

from conformance.contract import Capabilities
from conformance.model import phase_order
from conformance.model.judge import Judge
from conformance.model.phase_order import Order, arrange
from tests.unit.model.histories import EXISTS, OWNED, Step, append, close, create, events, flush, owned, sweep, up
from tests.unit.model.overlap_histories import FREE, WRITTEN, Together, together, told_history


def arranged(*steps: Step) -> Order:
    """The order of the calls of an overlap, which is the last of these steps."""
    judge = Judge(Capabilities())
    assert isinstance(steps[-1], Together)
    for event in told_history(steps)[:-1]:
        judge.feed(event)
    assert judge.phase is not None
    return arrange(judge.world, judge.phase, judge.phase.made())


def names(order: Order) -> list[str]:
    """The kinds of the calls in order, with their handles."""
    return [f"{each.op.kind} {getattr(each.op, 'handle', '')}".strip() for each in order.flights]


def test_order_of_the_begins_is_taken_where_it_fits() -> None:
    """Calls that have nothing to do with each other stay in the order in which they began."""
    order = arranged(*WRITTEN, together("a+ b+ b- a-", a=append(1, events(1)), b=create(2, "t")))
    assert (order.fits, order.decided) == (True, True)
    assert names(order) == ["append 1", "create 2"]


def test_order_is_searched_where_the_begins_do_not_fit() -> None:
    """A create that was refused began first, and comes behind the one that won."""
    order = arranged(up(), together("a+ b+ b- a-", a=create(1).raises(EXISTS), b=create(2)))
    assert order.fits
    assert names(order) == ["create 2", "create 1"]


def test_open_that_owns_comes_behind_the_close() -> None:
    """It began before the close of the owner did, and got the session."""
    order = arranged(*WRITTEN, together("w+ c+ c- w-", w=owned(2), c=close(1)))
    assert order.fits
    assert names(order) == ["close 1", "open 2"]


def test_calls_that_had_ended_come_first() -> None:
    """A call that had ended when another began is never placed behind it."""
    order = arranged(*WRITTEN, together("w+ w- c+ c-", w=owned(2).raises(OWNED), c=close(1)))
    assert order.fits
    assert names(order) == ["open 2", "close 1"]


def test_one_handles_calls_keep_their_order() -> None:
    """Calls through one handle take effect as they were called, however they end."""
    first, second = append(1, events(1)), append(1, events(2))
    order = arranged(*WRITTEN, together("a+ b+ c+ c- b- a-", a=first, b=flush(1), c=second))
    assert names(order) == ["append 1", "flush 1", "append 1"]


def test_sweep_may_leave_its_part_to_a_close_that_came_during_it() -> None:
    """A session without events that a close took while a sweep was under way may be stored by it or not."""
    absent = owned(2).raises("SessionPersistenceNotFoundError")
    order = arranged(up(), create(1), together("s+ c+ c- o+ o- s-", s=sweep(), c=close(1), o=absent))
    assert order.fits
    assert names(order).index("close 1") < names(order).index("open 2")
    stored = arranged(up(), create(1), together("s+ c+ c- o+ o- s-", s=sweep(), c=close(1), o=owned(2)))
    assert stored.fits


def test_what_cannot_have_happened_fits_nowhere() -> None:
    """Two owners at once: no order fits, and that is decided."""
    order = arranged(*FREE, together("a+ b+ a- b-", a=owned(2), b=owned(3)))
    assert (order.fits, order.decided) == (False, True)
    assert names(order) == ["open 2", "open 3"]


@pytest.mark.parametrize("bound", [1, 4])
def test_beyond_the_bound_nothing_is_decided(bound: int) -> None:
    """A search that is given up says so."""
    calls: dict[str, Any] = {f"x{number}": create(10 + number, f"t{number}") for number in range(6)}
    text = " ".join([*(f"{name}+" for name in calls), *(f"{name}-" for name in calls)])
    with patch.object(phase_order, "MOST_NODES", bound):
        order = arranged(*FREE, together(f"a+ b+ {text} a- b-", a=owned(2), b=owned(3), **calls))
    assert (order.fits, order.decided) == (False, False)
