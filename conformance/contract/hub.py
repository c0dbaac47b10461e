"""The session hub: where a program publishes its sessions, and what a backend with a live path subscribes to, once.

Three signals, by session id: ``session/event`` (synchronous), ``session/flush`` (an awaited barrier) and
``session/disposed``. The hub passes them on. It keeps no log, copies no event, starts no timer, and does not know which
sessions are stored: all of that is the backend's (LIVE-01 to LIVE-14).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from conformance.contract.records import SessionEvent

if TYPE_CHECKING:
    import asyncio


@dataclass(frozen=True, slots=True, eq=False)
class _Subscriber:
    """The three callbacks of one ``subscribe``; two subscribers are equal only where they are the same."""

    on_event: Callable[[str, SessionEvent], None]
    on_flush: Callable[[str], Awaitable[None]]
    on_disposed: Callable[[str], Awaitable[None] | None]


class SessionHub:
    """Routes the signals of published sessions to every subscriber, in the order in which they subscribed.

    One failing subscriber keeps no other from being called. When all were called, one error is raised as itself,
    several as an ``ExceptionGroup``. Only ``Exception`` is collected: a cancellation goes through at once. A subscriber
    that comes or goes while a signal is passed on changes nothing of that signal.
    """

    def __init__(self) -> None:
        self._subscribers: list[_Subscriber] = []
        self._sessions: set[str] = set()
        self._left_behind: set[asyncio.Future[Any]] = set()

    def subscribe(
        self,
        *,
        on_event: Callable[[str, SessionEvent], None],
        on_flush: Callable[[str], Awaitable[None]],
        on_disposed: Callable[[str], Awaitable[None] | None],
    ) -> Callable[[], None]:
        """From now on call these for every session, also for those that were published before.

        Args:
            on_event: must capture the event before it returns, for the object stays the producer's (LIVE-08), and store
                it within the declared window where the session has an active write handle (LIVE-01, LIVE-02). Where it
                has none, nothing is kept (LIVE-07). It must not block. It raises for an event that can never be stored
                (LIVE-14), and where no more can be held (LIVE-11).
            on_flush: stores every event published before the call, without waiting for the window, and then is a
                barrier (LIVE-03, LIVE-05); rejects where that fails, and where a published event cannot be stored
                (LIVE-14); resolves for a session without an active write handle (LIVE-07).
            on_disposed: drains and closes the session's write handle, if there is one, before it returns or before what
                it returns is done. What fails there is logged with the session's id, not raised (LIVE-06).

        Returns:
            What ends the subscription; calling it again is nothing.
        """
        subscriber = _Subscriber(on_event, on_flush, on_disposed)
        self._subscribers.append(subscriber)

        def unsubscribe() -> None:
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)

        return unsubscribe

    def create(self, session_id: str, events: Sequence[SessionEvent] = ()) -> None:
        """Publish a session.

        Args:
            session_id: of the session; a disposed one may be published again.
            events: the seed that it begins with. They are never emitted: whoever wants them stored appends them through
                the write handle before (LIVE-09).

        Raises:
            ValueError: it is published already.
        """
        if session_id in self._sessions:
            raise ValueError(f"session {session_id!r} is published already; dispose of it before creating it again")
        self._sessions.add(session_id)

    def append(self, session_id: str, event: SessionEvent) -> None:
        """Publish an event (``session/event``): every subscriber has been called with this very object on return.

        Raises:
            ValueError: no such session is published.
            Exception: what subscribers raised (LIVE-14); the others have the event all the same.
        """
        self._refuse_unknown(session_id)
        failures: list[Exception] = []
        for subscriber in tuple(self._subscribers):
            try:
                subscriber.on_event(session_id, event)
            except Exception as error:  # noqa: BLE001 - raised below, when every subscriber has the event.
                failures.append(error)
        _raise("session/event", session_id, failures)

    async def flush(self, session_id: str) -> None:
        """Ask for durability (``session/flush``) and wait for every subscriber, one after the other (LIVE-03).

        The first one is called before anything is awaited. Cancelling the flush cancels the wait it is in, and calls no
        further subscriber; it takes nothing back that was published.

        Raises:
            ValueError: no such session is published.
            Exception: what subscribers raised (LIVE-05, LIVE-14).
        """
        self._refuse_unknown(session_id)
        failures: list[Exception] = []
        for subscriber in tuple(self._subscribers):
            try:
                await subscriber.on_flush(session_id)
            except Exception as error:  # noqa: BLE001 - raised below, when every subscriber was waited for.
                failures.append(error)
        _raise("session/flush", session_id, failures)

    async def dispose(self, session_id: str) -> None:
        """End a session (``session/disposed``): every subscriber is called before anything is awaited (LIVE-06).

        From the call on the session is gone from the hub, whatever subscribers do. Cancelling the disposal cancels the
        wait it is in; what other subscribers still have to do goes on without it.

        Raises:
            ValueError: no such session is published.
            Exception: what subscribers raised.
        """
        self._refuse_unknown(session_id)
        self._sessions.remove(session_id)
        failures: list[Exception] = []
        waits: list[Awaitable[None]] = []
        for subscriber in tuple(self._subscribers):
            try:
                found = subscriber.on_disposed(session_id)
                if isawaitable(found):
                    waits.append(found)
            except Exception as error:  # noqa: BLE001 - raised below, when every subscriber was called.
                failures.append(error)
        try:
            while waits:
                try:
                    await waits.pop(0)
                except Exception as error:  # noqa: BLE001 - raised below, when every subscriber was waited for.
                    failures.append(error)
        finally:
            self._leave_behind(waits)
        _raise("session/disposed", session_id, failures)

    def _leave_behind(self, waits: list[Awaitable[None]]) -> None:
        """Let what a cancelled disposal no longer waits for go on; a failure there is the loop's to report."""
        if not waits:
            return
        # Who judges histories imports the contract and needs no event loop.
        import asyncio

        for each in waits:
            task = asyncio.ensure_future(each)
            self._left_behind.add(task)
            task.add_done_callback(self._left_behind.discard)

    def _refuse_unknown(self, session_id: str) -> None:
        if session_id not in self._sessions:
            raise ValueError(f"session {session_id!r} is not published; create it first (a disposed one is gone)")


def _raise(signal: str, session_id: str, failures: list[Exception]) -> None:
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise ExceptionGroup(f"{signal} of session {session_id!r} failed for {len(failures)} subscribers", failures)
