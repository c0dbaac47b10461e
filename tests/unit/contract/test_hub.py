"""The session hub: who is called with what, in which order, and what becomes of errors and cancellations."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any

import pytest

from conformance.contract import SessionEvent, SessionHub

EVENT: SessionEvent = {"type": "user/message", "seq": 0, "time": 1, "data": {}}


def run(program: Coroutine[Any, Any, None]) -> None:
    """Run a program on a loop of its own; what the loop reports as unhandled fails the test."""
    complaints: list[dict[str, Any]] = []

    async def watched() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        await program

    asyncio.run(watched())
    assert not complaints


class Subscriber:
    """Notes its calls in a common list; fails where it is told to; waits for ``gate`` in its coroutines."""

    def __init__(self, name: str, calls: list[Any], *, failure: Exception | None = None) -> None:
        self.name = name
        self.calls = calls
        self.failure = failure
        self.gate: asyncio.Event | None = None

    def on_event(self, session_id: str, event: SessionEvent) -> None:
        """Noted."""
        self.calls.append((self.name, "event", session_id, event))
        self._fail()

    async def on_flush(self, session_id: str) -> None:
        """Noted, and again where it has ended."""
        self.calls.append((self.name, "flush", session_id))
        await self._wait("flushed", session_id)

    def on_disposed(self, session_id: str) -> Awaitable[None] | None:
        """Noted; with a gate it is a coroutine that waits."""
        self.calls.append((self.name, "disposed", session_id))
        if self.gate is None:
            self._fail()
            return None
        return self._wait("gone", session_id)

    async def _wait(self, word: str, session_id: str) -> None:
        if self.gate is not None:
            await self.gate.wait()
        self._fail()
        self.calls.append((self.name, word, session_id))

    def _fail(self) -> None:
        if self.failure is not None:
            raise self.failure


def hub_of(*subscribers: Subscriber) -> SessionHub:
    """A hub with the session ``s`` and these subscribers."""
    hub = SessionHub()
    hub.create("s")
    for each in subscribers:
        hub.subscribe(on_event=each.on_event, on_flush=each.on_flush, on_disposed=each.on_disposed)
    return hub


def test_an_event_reaches_every_subscriber_as_the_callers_object_before_append_returns() -> None:
    """``append`` is synchronous, in order of subscription, and copies nothing."""
    calls: list[Any] = []
    hub = hub_of(Subscriber("a", calls), Subscriber("b", calls))
    hub.append("s", EVENT)
    assert calls == [("a", "event", "s", EVENT), ("b", "event", "s", EVENT)]
    assert all(call[3] is EVENT for call in calls)


def test_seed_events_are_never_emitted() -> None:
    """LIVE-09: ``create`` calls nobody, whatever the session begins with."""
    calls: list[Any] = []
    hub = hub_of(Subscriber("a", calls))
    hub.create("t", [EVENT])
    assert calls == []


def test_a_subscriber_hears_of_sessions_published_before_it_came() -> None:
    """Subscribing once is enough, at any time."""
    calls: list[Any] = []
    hub = SessionHub()
    hub.create("s")
    late = Subscriber("a", calls)
    hub.subscribe(on_event=late.on_event, on_flush=late.on_flush, on_disposed=late.on_disposed)
    hub.append("s", EVENT)
    assert len(calls) == 1


def test_an_ended_subscription_hears_nothing_more_and_ends_once() -> None:
    """``unsubscribe`` takes only its own subscription away, also where the same callbacks are subscribed twice."""
    calls: list[Any] = []
    one = Subscriber("a", calls)
    hub = SessionHub()
    hub.create("s")
    ends = [hub.subscribe(on_event=one.on_event, on_flush=one.on_flush, on_disposed=one.on_disposed) for _ in range(2)]
    ends[0]()
    ends[0]()
    hub.append("s", EVENT)
    assert len(calls) == 1
    ends[1]()
    hub.append("s", EVENT)
    assert len(calls) == 1


def test_unsubscribing_inside_a_callback_skips_nobody() -> None:
    """A signal goes to those who were subscribed when it began."""
    calls: list[Any] = []
    hub = hub_of()
    ends: list[Any] = []
    other = Subscriber("b", calls)
    ends.append(hub.subscribe(on_event=lambda *_: ends[0](), on_flush=other.on_flush, on_disposed=other.on_disposed))
    hub.subscribe(on_event=other.on_event, on_flush=other.on_flush, on_disposed=other.on_disposed)
    hub.append("s", EVENT)
    assert calls == [("b", "event", "s", EVENT)]


@pytest.mark.parametrize("signal", ["append", "flush", "dispose"])
def test_a_failing_subscriber_keeps_no_other_from_being_called(signal: str) -> None:
    """The one error is raised as itself, several as a group in order, when every subscriber was called."""

    async def program() -> None:
        calls: list[Any] = []
        first, second = ValueError("first"), OSError("second")
        hub = hub_of(Subscriber("a", calls, failure=first), Subscriber("b", calls))
        with pytest.raises(ValueError, match=r"^first$") as one:
            await signalled(hub)
        assert one.value is first
        assert [call[0] for call in calls if call[1] in ("event", "flush", "disposed")] == ["a", "b"]
        hub = hub_of(Subscriber("a", calls, failure=first), Subscriber("b", []), Subscriber("c", calls, failure=second))
        with pytest.raises(ExceptionGroup, match="'s'") as several:
            await signalled(hub)
        assert several.value.exceptions == (first, second)

    async def signalled(hub: SessionHub) -> None:
        if signal == "append":
            hub.append("s", EVENT)
        else:
            await getattr(hub, signal)("s")

    run(program())


def test_an_unknown_session_is_refused_and_nobody_is_called() -> None:
    """append, flush and dispose of a session that was never created, or is gone, name it; create twice as well."""

    async def program() -> None:
        calls: list[Any] = []
        hub = hub_of(Subscriber("a", calls))
        with pytest.raises(ValueError, match=r"'s' is published already"):
            hub.create("s")
        await hub.dispose("s")
        calls.clear()
        for unknown in ("s", "never"):
            with pytest.raises(ValueError, match=f"{unknown!r} is not published"):
                hub.append(unknown, EVENT)
            with pytest.raises(ValueError, match=f"{unknown!r} is not published"):
                await hub.flush(unknown)
            with pytest.raises(ValueError, match=f"{unknown!r} is not published"):
                await hub.dispose(unknown)
        assert calls == []
        hub.create("s")
        hub.append("s", EVENT)
        assert len(calls) == 1

    run(program())


def test_flush_waits_for_every_subscriber() -> None:
    """A flush has not ended while one subscriber has not."""

    async def program() -> None:
        calls: list[Any] = []
        slow = Subscriber("b", calls)
        slow.gate = asyncio.Event()
        flush = asyncio.ensure_future(hub_of(Subscriber("a", calls), slow).flush("s"))
        await turns()
        assert calls == [("a", "flush", "s"), ("a", "flushed", "s"), ("b", "flush", "s")]
        assert not flush.done()
        slow.gate.set()
        await flush
        assert calls[-1] == ("b", "flushed", "s")

    run(program())


def test_a_cancelled_flush_cancels_its_wait_only() -> None:
    """The session stays published, and the next flush is as any other."""

    async def program() -> None:
        calls: list[Any] = []
        slow = Subscriber("a", calls)
        slow.gate = asyncio.Event()
        hub = hub_of(slow)
        flush = asyncio.ensure_future(hub.flush("s"))
        await turns()
        flush.cancel()
        with pytest.raises(asyncio.CancelledError):
            await flush
        slow.gate.set()
        await hub.flush("s")
        assert calls == [("a", "flush", "s"), ("a", "flush", "s"), ("a", "flushed", "s")]

    run(program())


def test_a_disposed_session_is_gone_from_the_call_on() -> None:
    """What is published while subscribers still drain is refused, never lost in silence."""

    async def program() -> None:
        calls: list[Any] = []
        slow = Subscriber("a", calls)
        slow.gate = asyncio.Event()
        hub = hub_of(slow, Subscriber("b", calls))
        disposal = asyncio.ensure_future(hub.dispose("s"))
        await turns()
        assert calls == [("a", "disposed", "s"), ("b", "disposed", "s")]
        with pytest.raises(ValueError, match="not published"):
            hub.append("s", EVENT)
        assert not disposal.done()
        slow.gate.set()
        await disposal
        assert calls[-1] == ("a", "gone", "s")

    run(program())


def test_a_cancelled_disposal_goes_on_for_the_other_subscribers() -> None:
    """Only the wait that was reached is cancelled; the others end by themselves."""

    async def program() -> None:
        calls: list[Any] = []
        stuck, slow = Subscriber("a", calls), Subscriber("b", calls)
        stuck.gate, slow.gate = asyncio.Event(), asyncio.Event()
        hub = hub_of(stuck, slow)
        disposal = asyncio.ensure_future(hub.dispose("s"))
        await turns()
        disposal.cancel()
        with pytest.raises(asyncio.CancelledError):
            await disposal
        slow.gate.set()
        await turns()
        assert calls == [("a", "disposed", "s"), ("b", "disposed", "s"), ("b", "gone", "s")]

    run(program())


async def turns() -> None:
    """Some turns of the loop."""
    for _ in range(5):
        await asyncio.sleep(0)
