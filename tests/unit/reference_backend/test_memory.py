"""The in-memory backend, asked directly: what it keeps, refuses, shows and forgets."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from conformance.contract import (
    SEAMS,
    SessionAlreadyExistsError,
    SessionAlreadyOwnedError,
    SessionContiguityError,
    SessionFormatUnsupportedError,
    SessionHandleClosedError,
    SessionHeader,
    SessionPersistence,
    SessionPersistenceError,
    SessionPersistenceNotFoundError,
    SessionReadOnlyError,
)
from reference_backend.memory import MemoryHandle, MemoryPersistence, memory, open_memory

HEADER = SessionHeader("s", 1000, cwd="/c", origin={"by": ["me"]}, extra={"more": {"x": 1}})

Body = Callable[..., Coroutine[Any, Any, None]]


def on_a_loop(body: Body) -> Callable[..., None]:
    """The coroutine function as a plain one that runs on an event loop of its own."""

    @wraps(body)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(body(*args, **kwargs))

    return run


@pytest.fixture
def persistence() -> MemoryPersistence:
    """A fresh instance."""
    return open_memory(Path())


def events(first: int, count: int = 1) -> list[dict[str, Any]]:
    """A batch that starts at that seq."""
    return [
        {"type": "user/message", "seq": seq, "time": 5, "data": {"id": str(seq), "content": [{"n": seq}]}}
        for seq in range(first, first + count)
    ]


async def stored(persistence: MemoryPersistence, count: int = 3) -> MemoryHandle:
    """Session ``s`` with that many events, and its write handle."""
    handle = await persistence.create(HEADER)
    await handle.append(events(0, count))
    return handle


def test_registration_claims_what_memory_can_keep() -> None:
    """The registered record is ``memory``: no durability, no files, no seam."""
    assert memory.name == "memory"
    assert (memory.capabilities.durability, memory.capabilities.storage) == ("none", "memory")
    assert [seam for seam in SEAMS if memory.gives(seam)] == []
    as_the_contract_types_it: SessionPersistence = open_memory(Path("nowhere"))
    assert type(memory.open(Path("nowhere"))) is type(as_the_contract_types_it)


@on_a_loop
async def test_a_fresh_instance_is_a_new_empty_world(persistence: MemoryPersistence) -> None:
    """Two instances on one root share nothing."""
    await stored(persistence)
    fresh = open_memory(Path())
    assert await fresh.list() == []
    assert await fresh.stat("s") is None


@on_a_loop
async def test_create_shows_the_session_at_once(persistence: MemoryPersistence) -> None:
    """A created session has the header and count given and is visible, empty, through every door."""
    header = replace(HEADER, is_seeded=True)
    writer = await persistence.create(header, 2)
    reader = await persistence.open("s", "read")
    for handle, access in ((writer, "write"), (reader, "read")):
        assert (handle.id, handle.header, handle.inherited_event_count, handle.access) == ("s", header, 2, access)
    assert await reader.read() == []
    snapshot = await persistence.stat("s")
    assert snapshot is not None
    assert (snapshot.header, snapshot.event_count, snapshot.size_bytes) == (header, 0, None)
    assert await persistence.list() == [snapshot]


@pytest.mark.parametrize(
    ("header", "count"),
    [
        (replace(HEADER, id=""), None),
        (replace(HEADER, created_at=-1), None),
        (replace(HEADER, version=2), None),
        (replace(HEADER, origin={1}), None),
        (HEADER, 0),
        (replace(HEADER, is_seeded=True), None),
    ],
    ids=["id", "created_at", "version", "origin", "count given", "count missing"],
)
@on_a_loop
async def test_a_bad_header_creates_nothing(
    persistence: MemoryPersistence, header: SessionHeader, count: int | None
) -> None:
    """A refused create leaves no session behind, and its id stays free."""
    with pytest.raises((TypeError, ValueError)):
        await persistence.create(header, count)
    assert await persistence.list() == []
    await persistence.create(HEADER)


@on_a_loop
async def test_an_occupied_id_is_refused_and_nothing_changes(persistence: MemoryPersistence) -> None:
    """Creating over a pending, an owned or a stored session is refused and leaves it as it was."""
    writer = await persistence.create(HEADER)
    for prepare in (writer.flush, lambda: writer.append(events(0)), writer.close, None):
        before = await persistence.list()
        with pytest.raises(SessionAlreadyExistsError) as caught:
            await persistence.create(replace(HEADER, cwd="/other"))
        assert caught.value.session_id == "s"
        assert await persistence.list() == before
        if prepare is not None:
            await prepare()


@on_a_loop
async def test_an_absent_session_is_not_found(persistence: MemoryPersistence) -> None:
    """Both opens of an absent id reject and ``stat`` is None, whatever the id."""
    for session_id in ("s", "", "\ud800"):
        for access in ("read", "write"):
            with pytest.raises(SessionPersistenceNotFoundError):
                await persistence.open(session_id, access)
        assert await persistence.stat(session_id) is None


@on_a_loop
async def test_an_unknown_access_is_refused(persistence: MemoryPersistence) -> None:
    """Access is ``"read"`` or ``"write"``; anything else takes no ownership."""
    await (await stored(persistence)).close()
    with pytest.raises(ValueError, match="access"):
        await persistence.open("s", "rw")  # type: ignore[arg-type]
    await persistence.open("s", "write")


@on_a_loop
async def test_one_writer_at_a_time(persistence: MemoryPersistence) -> None:
    """A second write open is refused while a writer is active, reads are not, and close passes ownership on."""
    first = await persistence.create(HEADER)
    with pytest.raises(SessionAlreadyOwnedError):
        await persistence.open("s", "write")
    await first.append(events(0, 2))
    reader = await persistence.open("s", "read")
    await reader.close()
    with pytest.raises(SessionAlreadyOwnedError):
        await persistence.open("s", "write")
    await first.close()
    second = await persistence.open("s", "write")
    await second.append(events(2))
    assert await second.read() == events(0, 3)


@on_a_loop
async def test_only_the_owner_gives_ownership_up(persistence: MemoryPersistence) -> None:
    """Closing a former owner again, or collecting it, does not disturb the present one."""
    first = await stored(persistence)
    await first.close()
    second = await persistence.open("s", "write")
    await first.close()
    del first
    gc.collect()
    with pytest.raises(SessionAlreadyOwnedError):
        await persistence.open("s", "write")
    await second.append(events(3))


@on_a_loop
async def test_racing_creates_and_opens_have_one_winner(persistence: MemoryPersistence) -> None:
    """Of creates, and of write opens, that start together exactly one wins."""
    created = await asyncio.gather(*(persistence.create(HEADER) for _ in range(5)), return_exceptions=True)
    assert [type(each) for each in created] == [MemoryHandle] + [SessionAlreadyExistsError] * 4
    winner = created[0]
    assert isinstance(winner, MemoryHandle)
    await winner.flush()
    await winner.close()
    opened = await asyncio.gather(*(persistence.open("s", "write") for _ in range(5)), return_exceptions=True)
    assert [type(each) for each in opened] == [MemoryHandle] + [SessionAlreadyOwnedError] * 4


@on_a_loop
async def test_what_is_appended_is_read(persistence: MemoryPersistence) -> None:
    """Batches are kept in order, verbatim, with unknown keys and ignorable types."""
    writer = await persistence.create(HEADER)
    odd = {
        "seq": 3,
        "type": "my/type",
        "ignorable": True,
        "data": [-0.0, 1, 1.0, True, "\x00"],
        "time": -1,
        "x": {},
    }
    await writer.append(events(0, 3))
    await writer.append([odd])
    found = await writer.read()
    assert found == [*events(0, 3), odd]
    assert list(found[3]) == list(odd)
    assert [repr(value) for value in found[3]["data"]] == ["-0.0", "1", "1.0", "True", "'\\x00'"]


@pytest.mark.parametrize(
    ("batch", "error"),
    [
        (events(4), SessionContiguityError),
        (events(2), SessionContiguityError),
        ([*events(3), *events(5)], SessionContiguityError),
        ([*events(3), *events(3)], SessionContiguityError),
        ([*events(3), {**events(4)[0], "type": "my/type"}], SessionFormatUnsupportedError),
        ([*events(3), {**events(4)[0], "data": float("nan")}], ValueError),
        ([*events(3), {**events(4)[0], "time": None}], ValueError),
        ([*events(3), None], TypeError),
        (tuple(events(3)), TypeError),
    ],
    ids=["gap", "overlap", "gap inside", "repeat", "unknown type", "nan", "no time", "no dict", "tuple"],
)
@on_a_loop
async def test_a_refused_batch_stores_nothing(
    persistence: MemoryPersistence, batch: Any, error: type[Exception]
) -> None:
    """A batch with one fault anywhere is refused whole, and the next right one is taken."""
    writer = await stored(persistence)
    before = await persistence.stat("s")
    with pytest.raises(error):
        await writer.append(batch)
    assert await writer.read() == events(0, 3)
    assert await persistence.stat("s") == before
    await writer.append(events(3))
    assert await writer.read() == events(0, 4)


@on_a_loop
async def test_a_contiguity_error_names_the_first_offending_place(persistence: MemoryPersistence) -> None:
    """The refusal carries the seq expected, the one found, and the session."""
    writer = await stored(persistence)
    with pytest.raises(SessionContiguityError) as caught:
        await writer.append([*events(3), *events(7)])
    assert (caught.value.expected, caught.value.got, caught.value.session_id) == (4, 7, "s")


@on_a_loop
async def test_the_store_is_out_of_the_callers_reach(persistence: MemoryPersistence) -> None:
    """Changing an appended batch, a read result, or any header that was handed out changes nothing stored."""
    writer = await persistence.create(HEADER)
    batch = events(0, 2)
    await writer.append(batch)
    batch[0]["data"]["content"].append("later")
    batch.clear()
    found = await writer.read()
    found[1]["data"]["content"][0]["n"] = "later"
    found[0].clear()
    assert await writer.read() == events(0, 2)
    snapshot = await persistence.stat("s")
    assert snapshot is not None
    for header in (writer.header, snapshot.header, (await persistence.list())[0].header):
        header.origin["by"].append("you")
        header.extra["more"]["x"] = 2
    assert (await persistence.open("s", "read")).header == HEADER
    assert HEADER.origin == {"by": ["me"]}


@on_a_loop
async def test_a_task_captures_the_batch_at_its_first_step(persistence: MemoryPersistence) -> None:
    """What the caller does to the batch once the append was called does not reach the log."""
    writer = await persistence.create(HEADER)
    batch = events(0)
    append = asyncio.create_task(writer.append(batch))
    await asyncio.sleep(0)
    batch[0]["data"] = "later"
    await append
    assert await writer.read() == events(0)


@pytest.mark.parametrize("offset", [0, 1, 4, 5, 6, 2**70])
@pytest.mark.parametrize("length", [None, 0, 1, 4, 5, 2**70])
@on_a_loop
async def test_reads_are_slices(persistence: MemoryPersistence, offset: int, length: int | None) -> None:
    """``read`` is the slice of the log, empty at its end and past it, on every kind of handle."""
    writer = await stored(persistence, 5)
    expected = events(0, 5)[offset:][:length]
    assert await writer.read(offset, length) == expected
    assert await (await persistence.open("s", "read")).read(offset, length) == expected


@pytest.mark.parametrize(
    ("offset", "length"), [(-1, None), (0, -1), (True, None), (0, 1.0), ("0", None), (None, None)], ids=repr
)
@on_a_loop
async def test_other_ranges_are_refused(persistence: MemoryPersistence, offset: Any, length: Any) -> None:
    """A negative or non-integer offset or length is refused."""
    with pytest.raises((TypeError, ValueError)):
        await (await stored(persistence)).read(offset, length)


@on_a_loop
async def test_read_handles_see_later_appends_and_change_nothing(persistence: MemoryPersistence) -> None:
    """A reader opened before an append sees it after; its own append, also an empty one, and flush are refused."""
    writer = await persistence.create(HEADER)
    reader = await persistence.open("s", "read")
    await writer.append(events(0))
    assert await reader.read() == events(0)
    before = await persistence.list()
    for batch in (events(1), [], None):
        with pytest.raises(SessionReadOnlyError):
            await reader.append(batch)  # type: ignore[arg-type]
    with pytest.raises(SessionReadOnlyError):
        await reader.flush()
    assert await persistence.list() == before


@on_a_loop
async def test_the_revision_changes_exactly_with_the_log(persistence: MemoryPersistence) -> None:
    """Every append of events gives a new revision; nothing else does, and stat and list agree."""
    seen: list[Any] = []

    async def revision() -> Any:
        snapshot = await persistence.stat("s")
        assert snapshot is not None
        assert [snapshot] == await persistence.list()
        return snapshot.revision

    writer = await persistence.create(HEADER)
    for seq in range(3):
        seen.append(await revision())
        await writer.append([])
        await writer.flush()
        await persistence.flush()
        await writer.read()
        await (await persistence.open("s", "read")).close()
        assert await revision() == seen[-1]
        await writer.append(events(seq))
    seen.append(await revision())
    assert len(set(seen)) == 4
    await writer.close()
    writer = await persistence.open("s", "write")
    await writer.close()
    assert await revision() == seen[-1]


@on_a_loop
async def test_an_erased_session_and_its_successor_share_no_revision(persistence: MemoryPersistence) -> None:
    """A later session of the same id never has a revision of the earlier one."""
    revisions = []
    for _ in range(3):
        writer = await persistence.create(HEADER)
        snapshot = await persistence.stat("s")
        assert snapshot is not None
        revisions.append(snapshot.revision)
        await writer.close()
    assert len(set(revisions)) == 3


@pytest.mark.parametrize("attempt", ["nothing", "empty append", "refused append", "read"])
@on_a_loop
async def test_a_session_closed_before_it_was_stored_never_was(persistence: MemoryPersistence, attempt: str) -> None:
    """Without a resolved append of an event or a flush, close leaves nothing and frees the id."""
    writer = await persistence.create(HEADER)
    if attempt == "empty append":
        await writer.append([])
    elif attempt == "refused append":
        with pytest.raises(SessionContiguityError):
            await writer.append(events(1))
    elif attempt == "read":
        await writer.read()
    await writer.close()
    assert await persistence.list() == []
    assert await persistence.stat("s") is None
    with pytest.raises(SessionPersistenceNotFoundError):
        await persistence.open("s", "read")
    await (await persistence.create(replace(HEADER, cwd="/other"))).close()


@pytest.mark.parametrize("door", ["append", "flush", "service flush"])
@on_a_loop
async def test_a_session_that_was_stored_stays(persistence: MemoryPersistence, door: str) -> None:
    """One resolved append of an event, or a flush of either kind, keeps the session past its close."""
    writer = await persistence.create(HEADER)
    await {"append": lambda: writer.append(events(0)), "flush": writer.flush, "service flush": persistence.flush}[
        door
    ]()
    await writer.close()
    reader = await persistence.open("s", "read")
    assert await reader.read() == (events(0) if door == "append" else [])
    assert len(await persistence.list()) == 1


@on_a_loop
async def test_a_reader_of_an_erased_session_never_sees_its_successor(persistence: MemoryPersistence) -> None:
    """A read handle on a session that never was rejects, also when the id is taken again."""
    writer = await persistence.create(HEADER)
    reader = await persistence.open("s", "read")
    await writer.close()
    with pytest.raises(SessionPersistenceNotFoundError):
        await reader.read()
    await stored(persistence)
    with pytest.raises(SessionPersistenceNotFoundError):
        await reader.read()
    await reader.close()
    assert len(await persistence.list()) == 1


@pytest.mark.parametrize("access", ["read", "write"])
@on_a_loop
async def test_a_closed_handle_refuses_before_it_looks(persistence: MemoryPersistence, access: Any) -> None:
    """After close every operation rejects as closed, whatever its arguments, and closing again is nothing."""
    handle = await stored(persistence)
    if access == "read":
        handle = await persistence.open("s", "read")
    await asyncio.gather(handle.close(), handle.close(), handle.close())
    await handle.close()
    wrong: Any = object()
    for call in (lambda: handle.read(wrong, wrong), lambda: handle.append(wrong), handle.flush):
        with pytest.raises(SessionHandleClosedError) as caught:
            await call()
        assert caught.value.session_id == "s"


@on_a_loop
async def test_operations_take_effect_in_call_order(persistence: MemoryPersistence) -> None:
    """Appends, a flush and a close that start together take effect in the order of their calls."""
    writer = await persistence.create(HEADER)
    outcomes = await asyncio.gather(
        writer.append(events(0)),
        writer.append(events(1, 2)),
        writer.append(events(1)),
        writer.flush(),
        writer.close(),
        writer.append(events(3)),
        persistence.open("s", "write"),
        return_exceptions=True,
    )
    assert [type(each) for each in outcomes] == [
        type(None),
        type(None),
        SessionContiguityError,
        type(None),
        type(None),
        SessionHandleClosedError,
        MemoryHandle,
    ]
    assert await (await persistence.open("s", "read")).read() == events(0, 3)


@pytest.mark.parametrize("turns", [0, 1])
@on_a_loop
async def test_a_cancelled_operation_is_whole_or_not_at_all(persistence: MemoryPersistence, turns: int) -> None:
    """Cancelled before its first step an append or close never was; after it, it is done; the handle works on."""
    writer = await stored(persistence)
    append = asyncio.create_task(writer.append(events(3)))
    for _ in range(turns):
        await asyncio.sleep(0)
    append.cancel()
    await asyncio.gather(append, return_exceptions=True)
    assert await writer.read() == events(0, 3 + turns)
    await writer.append(events(3 + turns))
    close = asyncio.create_task(writer.close())
    for _ in range(turns):
        await asyncio.sleep(0)
    close.cancel()
    await asyncio.gather(close, return_exceptions=True)
    await writer.close()
    await persistence.open("s", "write")


@on_a_loop
async def test_leaving_the_context_closes_and_lets_the_exception_through(persistence: MemoryPersistence) -> None:
    """The async context manager is the handle itself, closes on the way out, and swallows nothing."""
    writer = await persistence.create(HEADER)

    async def leave_by_exception() -> None:
        async with writer as inside:
            assert inside is writer
            await writer.append(events(0))
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await leave_by_exception()
    with pytest.raises(SessionHandleClosedError):
        await writer.read()
    async with await persistence.open("s", "write") as again:
        assert await again.read() == events(0)


@on_a_loop
async def test_service_flush_keeps_every_pending_session(persistence: MemoryPersistence) -> None:
    """It stores the empty sessions of all active writers and leaves closed and read handles alone."""
    writers = [await persistence.create(replace(HEADER, id=name)) for name in "abc"]
    reader = await persistence.open("a", "read")
    await writers[2].close()
    await persistence.flush()
    await writers[0].close()
    await writers[1].close()
    assert [snapshot.header.id for snapshot in await persistence.list()] == ["a", "b"]
    assert await reader.read() == []


@on_a_loop
async def test_service_close_closes_every_handle(persistence: MemoryPersistence) -> None:
    """Afterwards handles refuse as closed, the service refuses everything, none hangs, and closing again is nothing."""
    writer = await stored(persistence)
    pending = await persistence.create(replace(HEADER, id="pending"))
    reader = await persistence.open("s", "read")
    await asyncio.gather(persistence.close(), persistence.close())
    await persistence.close()
    for handle in (writer, pending, reader):
        with pytest.raises(SessionHandleClosedError):
            await handle.read()
        with pytest.raises(SessionHandleClosedError):
            await handle.append(events(3))
        with pytest.raises(SessionHandleClosedError):
            await handle.flush()
        await handle.close()
    wrong: Any = object()
    for call in (
        lambda: persistence.create(wrong),
        lambda: persistence.open(wrong, wrong),
        lambda: persistence.stat("s"),
        persistence.list,
        persistence.flush,
    ):
        with pytest.raises(SessionPersistenceError, match="closed"):
            await call()


@pytest.mark.parametrize("create_first", [True, False])
@on_a_loop
async def test_a_create_beside_the_service_close_is_closed_or_rejected(
    persistence: MemoryPersistence, create_first: bool
) -> None:
    """A create called before the close gives a handle that is closed with the rest; one called after it rejects."""
    calls: list[Coroutine[Any, Any, Any]] = [persistence.create(HEADER), persistence.close()]
    outcomes = await asyncio.gather(*(calls if create_first else calls[::-1]), return_exceptions=True)
    created = outcomes[0] if create_first else outcomes[1]
    if create_first:
        assert isinstance(created, MemoryHandle)
        with pytest.raises(SessionHandleClosedError):
            await created.flush()
    else:
        assert isinstance(created, SessionPersistenceError)


@pytest.mark.parametrize(
    "names",
    [
        ["a/b", "a\\b", "a.b", "a:b", "a%2Fb", "../a"],
        ["A", "a", "é", "e\u0301", "a.", "a ", "CON", "\x00", "\x01"],
        ["x" * 1024, "x" * 1023, "字" * 255, "字" * 254],
    ],
    ids=["separators", "look-alikes", "lengths"],
)
@on_a_loop
async def test_distinct_ids_are_distinct_sessions(persistence: MemoryPersistence, names: list[str]) -> None:
    """No two ids share a log, however alike they look."""
    for index, name in enumerate(names):
        writer = await persistence.create(replace(HEADER, id=name, created_at=index))
        await writer.append(events(0, index + 1))
        await writer.close()
    for index, name in enumerate(names):
        handle = await persistence.open(name, "read")
        assert (handle.header.created_at, len(await handle.read())) == (index, index + 1)
