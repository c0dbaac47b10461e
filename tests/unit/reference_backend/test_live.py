"""The live write path in virtual time: windows to the microsecond, barriers, order, and routing to write handles."""

from __future__ import annotations

import asyncio
import copy
import tracemalloc
from collections.abc import Awaitable, Callable

import pytest

from conformance.contract import (
    SessionAlreadyOwnedError,
    SessionContiguityError,
    SessionEvent,
    SessionFormatUnsupportedError,
    SessionHandleClosedError,
    SessionPersistenceError,
)
from reference_backend import jsonl, jsonl_raw, live
from reference_backend.handle import WriteHandle
from tests.unit.reference_backend.logs import HEADER, batch, event
from tests.unit.reference_backend.worlds import JOB, World, in_virtual_time, turns

pytestmark = pytest.mark.parametrize("backend", [jsonl, jsonl_raw], ids=lambda backend: backend.name)

WINDOW = 0.2
US = 0.000_001

BARRIERS: dict[str, Callable[[World, WriteHandle], Awaitable[None]]] = {
    "session/flush": lambda world, handle: world.hub.flush("s"),
    "handle.flush": lambda world, handle: handle.flush(),
    "flush": lambda world, handle: world.service.flush(),
    "handle.close": lambda world, handle: handle.close(),
    "close": lambda world, handle: world.service.close(),
    "session/disposed": lambda world, handle: world.hub.dispose("s"),
}


@in_virtual_time
async def test_an_event_is_stored_when_its_window_ends_and_not_before(world: World) -> None:
    """LIVE-01: nothing a microsecond before the window's end; all of it one job later."""
    assert world.backend.capabilities.live_window == live.WINDOW == WINDOW
    await world.writer()
    world.publish(0)
    await world.until(WINDOW - US)
    assert await world.seqs() == []
    await world.until(WINDOW + JOB - US)
    assert await world.seqs() == []
    await world.until(WINDOW + JOB)
    assert await world.log() == batch(0, 1)


@in_virtual_time
async def test_later_events_join_a_window_and_do_not_move_its_end(world: World) -> None:
    """LIVE-02: the first event decides when all that wait are stored."""
    handle = await world.writer()
    for at, seq in [(0.0, 0), (0.1, 1), (0.15, 2), (WINDOW - US, 3)]:
        await world.until(at)
        world.publish(seq)
    await world.until(WINDOW + JOB)
    assert await world.log() == batch(0, 4) == await handle.read()


@in_virtual_time
async def test_events_published_during_a_drain_are_the_next_batch_with_a_window_of_their_own(world: World) -> None:
    """LIVE-02: that window starts at the first of them, not when the drain ends."""
    await world.writer()
    world.publish(0, 1)
    await world.until(WINDOW + JOB / 2)
    world.publish(2)
    await world.until(WINDOW + JOB)
    world.publish(3)
    assert await world.seqs() == [0, 1]
    await world.until(WINDOW + JOB / 2 + WINDOW + JOB - US)
    assert await world.seqs() == [0, 1]
    await world.until(WINDOW + JOB / 2 + WINDOW + JOB)
    assert await world.seqs() == [0, 1, 2, 3]


@in_virtual_time
async def test_a_window_that_ends_behind_an_append_waits_for_its_turn(world: World) -> None:
    """SEQ-05: a drain is a mutation like any other; what is published before its turn joins it."""
    handle = await world.writer()
    world.publish(1)
    await world.until(WINDOW - JOB / 2)
    append = asyncio.ensure_future(handle.append(batch(0, 1)))
    await world.until(WINDOW + JOB / 4)
    # Seq 1 was published before seq 0 was appended: it went into the log behind it, not ahead of it.
    world.publish(2)
    await append
    await world.until(WINDOW + JOB / 2 + JOB)
    assert await world.seqs() == [0, 1, 2]


@pytest.mark.parametrize("name", BARRIERS)
def test_every_barrier_stores_at_once_what_was_published_before_it(
    backend: object, name: str, tmp_path: object, monkeypatch: object
) -> None:
    """LIVE-03, LIVE-06, LIVE-13: no barrier waits for the window, and none leaves anything behind."""

    @in_virtual_time
    async def program(world: World) -> None:
        handle = await world.writer()
        await handle.append(batch(0, 1))
        await world.until(0.1)
        world.publish(1, 2)
        await BARRIERS[name](world, handle)
        assert await world.log() == batch(0, 3)
        await world.until(0.1 + 3 * JOB)
        assert await world.log() == batch(0, 3)

    program(backend, tmp_path, monkeypatch)  # type: ignore[arg-type]


@in_virtual_time
async def test_a_flush_ends_the_window_and_the_next_event_starts_a_new_one(world: World) -> None:
    """LIVE-03: after a flush nothing is due; the window that was cancelled cuts no later one short."""
    await world.writer()
    world.publish(0)
    await world.until(0.1)
    await world.hub.flush("s")
    assert await world.seqs() == [0]
    await world.until(0.15)
    world.publish(1)
    await world.until(0.15 + WINDOW - US)
    assert await world.seqs() == [0]
    await world.until(0.15 + WINDOW + JOB)
    assert await world.seqs() == [0, 1]


@in_virtual_time
async def test_a_flush_waits_for_a_drain_under_way_and_takes_what_came_since(world: World) -> None:
    """LIVE-03: the barrier covers the batch that is being stored and the one behind it."""
    await world.writer()
    world.publish(0)
    await world.until(WINDOW + JOB / 2)
    world.publish(1)
    await world.hub.flush("s")
    assert await world.seqs() == [0, 1]


@in_virtual_time
async def test_a_flush_of_an_empty_session_materialises_it(world: World) -> None:
    """MAT-04: with nothing published, session/flush is the handle's flush."""
    await world.writer()
    assert await world.backend.open(world.root).stat("s") is None
    await world.hub.flush("s")
    assert await world.backend.open(world.root).stat("s") is not None


@in_virtual_time
async def test_events_are_captured_when_they_are_published(world: World) -> None:
    """LIVE-08: whatever the producer does to its object afterwards changes nothing stored."""
    await world.writer()
    mine = event(0, nested=[{"a": [1]}])
    before = copy.deepcopy(mine)
    world.hub.append("s", mine)
    mine["nested"][0]["a"].append(2)
    mine["seq"] = 7
    mine.pop("data")
    await world.hub.flush("s")
    assert await world.log() == [before]


@in_virtual_time
async def test_without_an_active_write_handle_nothing_is_kept(world: World) -> None:
    """LIVE-07: not before a handle, not beside a read handle, not during or after a close; a flush resolves."""
    world.publish(0)
    await world.hub.flush("s")
    handle = await world.writer()
    await handle.append(batch(0, 1))
    closing = asyncio.ensure_future(handle.close())
    await turns()
    world.publish(1)
    await closing
    reader = await world.service.open("s", "read")
    world.publish(1)
    world.hub.append("s", {"type": "never seen", "nonsense": object()})
    await world.hub.flush("s")
    await world.until(1)
    assert await world.seqs() == [0]
    await reader.close()


@in_virtual_time
async def test_seed_events_are_not_stored_a_second_time(world: World) -> None:
    """LIVE-09: what was appended before publication stays where it is; the first published event follows it."""
    await world.hub.dispose("s")
    handle = await world.writer()
    await handle.append(batch(0, 3))
    world.hub.create("s", batch(0, 3))
    await world.until(1)
    assert await world.log() == batch(0, 3)
    world.publish(3)
    await world.hub.flush("s")
    assert await world.log() == batch(0, 4)


@in_virtual_time
async def test_a_second_write_handle_gets_what_is_published_after_it(world: World) -> None:
    """LIVE-10: the queue is the handle's, and so is its window."""
    first = await world.writer()
    world.publish(0)
    await first.close()
    await world.service.open("s", "write")
    await world.until(0.1)
    world.publish(1)
    await world.until(0.1 + WINDOW - US)
    assert await world.seqs() == [0]
    await world.until(0.1 + WINDOW + JOB)
    assert await world.seqs() == [0, 1]


@in_virtual_time
async def test_sessions_do_not_wait_for_each_other(world: World) -> None:
    """LIVE-01: each session has its own window and its own flush."""
    await world.writer()
    for name in "ab":
        world.hub.create(name)
        await world.service.create(type(HEADER)(name, 1000))
    world.publish(0)
    await world.until(0.1)
    world.publish(0, session_id="a")
    world.publish(0, 1, session_id="b")
    await world.hub.flush("b")
    assert [await world.seqs(name) for name in "sab"] == [[], [], [0, 1]]
    await world.until(WINDOW + JOB)
    assert [await world.seqs(name) for name in "sab"] == [[0], [], [0, 1]]
    await world.until(0.1 + WINDOW + JOB)
    assert [await world.seqs(name) for name in "sab"] == [[0], [0], [0, 1]]


@in_virtual_time
async def test_an_explicit_append_goes_behind_what_was_published_before_it(world: World) -> None:
    """LIVE-12: the waiting events are stored first, in the turn of the append, and their window is over."""
    handle = await world.writer()
    world.publish(0, 1)
    await handle.append(batch(2, 2))
    assert await world.log() == batch(0, 4)
    world.publish(4)
    await world.until(JOB + WINDOW - US)
    assert await world.seqs() == [0, 1, 2, 3]
    await world.until(JOB + WINDOW + JOB)
    assert await world.log() == batch(0, 5)


@in_virtual_time
async def test_an_append_leaves_what_came_after_it_its_own_window(world: World) -> None:
    """LIVE-02, LIVE-12: the window counts from the publication, however long the append had to wait for its turn."""
    handle = await world.writer()
    first = asyncio.ensure_future(handle.append(batch(0, 1)))
    await turns()
    world.publish(1)
    second = asyncio.ensure_future(handle.append(batch(2, 1)))
    await turns()
    world.publish(3)
    await asyncio.gather(first, second)
    assert await world.seqs() == [0, 1, 2]
    await world.until(WINDOW - US)
    assert await world.seqs() == [0, 1, 2]
    await world.until(WINDOW + JOB)
    assert await world.log() == batch(0, 4)


@in_virtual_time
async def test_an_append_that_fills_a_gap_moves_no_window(world: World) -> None:
    """LIVE-02, LIVE-12: what comes before the gap goes first, and what comes behind it is stored in time."""
    handle = await world.writer()
    world.publish(0, 1, 3)
    await world.until(0.1)
    await handle.append(batch(2, 1))
    assert await world.seqs() == [0, 1, 2]
    await world.until(WINDOW + JOB)
    assert await world.log() == batch(0, 4)


@in_virtual_time
async def test_one_drain_is_in_line_however_much_is_published_meanwhile(world: World) -> None:
    """LIVE-02: events that are published after the window's end and before the drain's turn ask for no further one."""
    handle = await world.writer()
    world.publish(1)
    await world.until(WINDOW - JOB / 2)
    append = asyncio.ensure_future(handle.append(batch(0, 1)))
    await world.until(WINDOW)
    for seq in range(2, 50):
        world.publish(seq)
        await turns()
    # The drain, and its turn.
    assert len(world.service.jobs._running) == 2
    await append
    await world.until(WINDOW + JOB / 2 + JOB)
    assert await world.log() == batch(0, 50)


@in_virtual_time
async def test_an_append_that_does_not_fit_behind_them_is_refused_and_writes_nothing(world: World) -> None:
    """LIVE-12, SEQ-02: by contiguity with what waits; both stay intact."""
    handle = await world.writer()
    world.publish(0, 1)
    with pytest.raises(SessionContiguityError) as refusal:
        await handle.append(batch(0, 2))
    assert (refusal.value.expected, refusal.value.got) == (2, 0)
    assert await world.seqs() == []
    await world.until(WINDOW + JOB)
    assert await world.log() == batch(0, 2)


@in_virtual_time
async def test_an_append_is_not_held_to_what_was_published_after_its_call(world: World) -> None:
    """SEQ-05: an event that follows an append in line is published behind it, although it waits for a shorter time."""
    handle = await world.writer()
    first = asyncio.ensure_future(handle.append(batch(0, 1)))
    await turns()
    second = asyncio.ensure_future(handle.append(batch(1, 1)))
    await turns()
    world.publish(1, 2)
    await asyncio.gather(first, second)
    assert await world.log() == batch(0, 2)
    # What took its seq was called before it: it can never be stored, and nothing behind it is stored in its place.
    for _ in range(2):
        with pytest.raises(SessionContiguityError, match="seq 1") as refusal:
            await world.hub.flush("s")
        assert (refusal.value.expected, refusal.value.got) == (2, 1)
    with pytest.raises(SessionContiguityError):
        await handle.close()
    assert await world.log() == batch(0, 2)


@in_virtual_time
async def test_a_gap_is_told_by_every_flush_and_the_close_and_never_filled(world: World) -> None:
    """LIVE-14, LIVE-10: what comes before the gap is stored, nothing behind it is; ownership is released."""
    handle = await world.writer()
    world.publish(0, 1, 3, 4)
    await world.until(WINDOW + JOB)
    assert await world.seqs() == [0, 1]
    for flush in (world.hub.flush("s"), handle.flush(), handle.flush()):
        with pytest.raises(SessionContiguityError, match="published with seq 3") as refusal:
            await flush
        assert (refusal.value.expected, refusal.value.got, refusal.value.session_id) == (2, 3, "s")
    with pytest.raises(ExceptionGroup) as group:
        await world.service.flush()
    assert [getattr(each, "session_id", None) for each in group.value.exceptions] == ["s"]
    with pytest.raises(SessionContiguityError, match="seq 3"):
        await handle.close()
    assert await world.seqs() == [0, 1]
    await (await world.service.open("s", "write")).close()


@in_virtual_time
async def test_an_append_may_fill_the_gap_in_front_of_what_waits(world: World) -> None:
    """LIVE-14, SEQ-01: appends are judged by the log alone; what waited fits then, and goes on by itself."""
    handle = await world.writer()
    world.publish(2, 3)
    await world.until(1)
    with pytest.raises(SessionContiguityError):
        await handle.append(batch(4, 1))
    await handle.append(batch(0, 2))
    assert await world.seqs() == [0, 1]
    await world.until(1 + JOB + WINDOW + JOB)
    assert await world.log() == batch(0, 4)
    await handle.flush()


@in_virtual_time
async def test_a_session_of_which_nothing_could_be_stored_never_was(world: World) -> None:
    """MAT-03, LIVE-14: a flush that is refused materialises nothing."""
    handle = await world.writer()
    world.publish(3)
    with pytest.raises(SessionContiguityError):
        await handle.flush()
    with pytest.raises(SessionContiguityError):
        await handle.close()
    assert await world.service.stat("s") is None
    assert await world.backend.open(world.root).list() == []


BAD: list[tuple[SessionEvent, type[Exception], str]] = [
    ({"type": "user/message", "seq": 0, "time": 1, "data": float("nan")}, ValueError, "seq 0"),
    ({"type": "user/message", "seq": 0, "time": 1, "data": {"at": {1}}}, TypeError, "seq 0"),
    ({"type": "user/message", "seq": 0, "time": True, "data": {}}, ValueError, "seq 0"),
    ({"type": "user/message", "seq": 0, "time": 1}, ValueError, "seq 0"),
    ({"type": "user/message", "seq": -1, "time": 1, "data": 1}, ValueError, "seq -1"),
    ({"type": "user/message", "seq": "0", "time": 1, "data": 1}, ValueError, "no usable seq"),
    ({"type": "never/heard", "seq": 0, "time": 1, "data": 1}, SessionFormatUnsupportedError, "seq 0"),
]


@pytest.mark.parametrize(("bad", "kind", "named"), BAD)
def test_what_can_never_be_stored_is_refused_at_publication(
    backend: object, bad: SessionEvent, kind: type[Exception], named: str, tmp_path: object, monkeypatch: object
) -> None:
    """LIVE-14: the producer hears it, with the seq, and the seq stays free."""

    @in_virtual_time
    async def program(world: World) -> None:
        await world.writer()
        with pytest.raises(kind, match=named) as refusal:
            world.hub.append("s", bad)
        if isinstance(refusal.value, SessionFormatUnsupportedError):
            assert refusal.value.location is not None
        await world.until(1)
        assert await world.seqs() == []
        world.publish(0)
        await world.hub.flush("s")
        assert await world.seqs() == [0]

    program(backend, tmp_path, monkeypatch)  # type: ignore[arg-type]


@in_virtual_time
async def test_no_more_than_a_bound_may_wait(world: World) -> None:
    """LIVE-11: the producer of one event too many is told, nothing that waits is dropped, and a flush makes room."""
    world.monkeypatch.setattr(live, "MAX_WAITING", 3)
    await world.writer()
    world.publish(0, 1, 2)
    with pytest.raises(SessionPersistenceError, match=r"'s'.*seq 3") as refusal:
        world.publish(3)
    assert refusal.value.session_id == "s"
    await world.hub.flush("s")
    world.publish(3, 4, 5)
    await world.until(1)
    world.publish(6)
    await world.hub.flush("s")
    assert await world.log() == batch(0, 7)


@in_virtual_time
async def test_no_more_bytes_than_a_bound_may_wait(world: World) -> None:
    """LIVE-11: large events count by their size, and a batch never outgrows what fits in one."""
    world.monkeypatch.setattr(live, "MAX_WAITING_BYTES", 1000)
    await world.writer()
    large = [event(seq, "x" * 400) for seq in range(4)]
    world.hub.append("s", large[0])
    world.hub.append("s", large[1])
    with pytest.raises(SessionPersistenceError, match="seq 2"):
        world.hub.append("s", large[2])
    await world.hub.flush("s")
    world.hub.append("s", large[2])
    world.hub.append("s", large[3])
    await world.hub.flush("s")
    assert await world.log() == large


@in_virtual_time
async def test_an_event_beyond_the_bound_is_taken_where_nothing_waits(world: World) -> None:
    """LIVE-11: the bound is on what waits, and not on what an event may hold."""
    world.monkeypatch.setattr(live, "MAX_WAITING_BYTES", 1000)
    await world.writer()
    large = [event(seq, "x" * 2000) for seq in range(2)]
    world.hub.append("s", large[0])
    with pytest.raises(SessionPersistenceError, match="seq 1"):
        world.hub.append("s", large[1])
    await world.hub.flush("s")
    world.hub.append("s", large[1])
    await world.hub.flush("s")
    assert await world.log() == large


@in_virtual_time
async def test_what_waits_takes_little_more_memory_than_its_lines(world: World) -> None:
    """LIVE-11: a bound on the bytes of the lines is a bound on memory."""
    await world.writer()
    # Plain ASCII: of other text, a string itself comes to hold its encoded form.
    events = [event(seq) | {"data": {"text": "x" * 5000}} for seq in range(200)]
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for each in events:
            world.hub.append("s", each)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert 200 * 5000 < grown < 200 * 5000 * 1.5
    await world.hub.flush("s")


@in_virtual_time
async def test_a_close_during_a_drain_waits_for_it_and_stores_the_rest(world: World) -> None:
    """LIVE-06, CLOSE-06: what was published before the close is covered by it, once."""
    handle = await world.writer()
    world.publish(0)
    await world.until(WINDOW + JOB / 2)
    world.publish(1)
    closing = asyncio.ensure_future(handle.close())
    await turns()
    world.publish(2)
    flush = asyncio.ensure_future(world.hub.flush("s"))
    await turns()
    # Neither a flush nor a write open outruns the close.
    with pytest.raises(SessionAlreadyOwnedError):
        await world.service.open("s", "write")
    assert not flush.done()
    await closing
    await flush
    assert await world.log() == batch(0, 2)
    with pytest.raises(SessionHandleClosedError):
        await handle.flush()


@in_virtual_time
async def test_a_disposal_is_a_close_from_its_first_step_on(world: World) -> None:
    """LIVE-06, CLOSE-02: the handle refuses as closed although the drain has only begun."""
    handle = await world.writer()
    world.publish(0)
    disposal = asyncio.ensure_future(world.hub.dispose("s"))
    await asyncio.sleep(0)
    with pytest.raises(SessionHandleClosedError):
        await handle.append(batch(1, 1))
    await disposal
    assert await world.seqs() == [0]
    await handle.close()


@in_virtual_time
async def test_a_cancelled_disposal_goes_on(world: World) -> None:
    """LIVE-06, CLOSE-04: the handle is drained and closed all the same."""
    await world.writer()
    world.publish(0)
    disposal = asyncio.ensure_future(world.hub.dispose("s"))
    await turns()
    disposal.cancel()
    with pytest.raises(asyncio.CancelledError):
        await disposal
    await world.until(1)
    assert await world.seqs() == [0]
    await (await world.service.open("s", "write")).close()


@pytest.mark.parametrize("where", ["under way", "in line", "not begun"])
@pytest.mark.parametrize("name", ["session/flush", "handle.flush"])
def test_a_cancelled_flush_loses_and_doubles_nothing(
    backend: object, name: str, where: str, tmp_path: object, monkeypatch: object
) -> None:
    """SEQ-08, LIVE-03: what was published is stored or waits, in order, and is stored by the end of its window."""

    @in_virtual_time
    async def program(world: World) -> None:
        handle = await world.writer()
        others: list[asyncio.Task[None]] = []
        if where == "in line":
            others = [asyncio.ensure_future(handle.append(batch(0, 2)))]
            await turns()
            world.publish(2, 3)
        else:
            world.publish(0, 1, 2, 3)
        flush = asyncio.ensure_future(BARRIERS[name](world, handle))
        if where != "not begun":
            await turns()
        flush.cancel()
        with pytest.raises(asyncio.CancelledError):
            await flush
        world.publish(4)
        await asyncio.gather(*others)
        await world.until(WINDOW + 2 * JOB)
        assert await world.log() == batch(0, 5)

    program(backend, tmp_path, monkeypatch)  # type: ignore[arg-type]


@in_virtual_time
async def test_a_closed_service_hears_nothing_more(world: World) -> None:
    """CLOSE-08: it ends its subscription; the hub goes on without it."""
    await world.writer()
    world.publish(0)
    await world.service.close()
    world.publish(1)
    await world.hub.flush("s")
    assert await world.seqs() == [0]
    assert world.hub._subscribers == []
