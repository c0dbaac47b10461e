"""A quick look leaves nothing out that the loop or the observer would have shown."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from conformance.contract import Backend, SessionHeader
from conformance.drivers.outcomes import Observer
from conformance.drivers.probe import Prober, _view_of_plain
from conformance.drivers.registry import load_backend

HEADER = SessionHeader("s", 1000, cwd="/c")


@dataclass
class Handle:
    """What a handle says of itself."""

    id: Any = "s"
    header: Any = HEADER
    access: Any = "write"
    inherited_event_count: Any = None


class Text(str):
    """Text of a class of its own."""


ODD = {
    "id of a class of its own": Handle(id=Text("s")),
    "access in a list": Handle(access=["write"]),
    "fractional count": Handle(inherited_event_count=1.0),
    "origin": Handle(header=SessionHeader("s", 1000, origin={"kind": "user"})),
    "extra": Handle(header=SessionHeader("s", 1000, extra={"x": [1]})),
    "no header": Handle(header="no header"),
    "no handle": object(),
}


@pytest.mark.parametrize(
    "handle",
    [
        Handle(),
        Handle(header=SessionHeader("s", 1)),
        # Equal to the one before, and not the same.
        Handle(header=SessionHeader("s", True)),
        Handle(header=SessionHeader("s", 1, is_seeded=True, extra=MappingProxyType({})), inherited_event_count=2),
    ],
)
def test_plain_handle_is_seen_as_the_observer_sees_it(handle: Any) -> None:
    """What is seen at once says the same as the observer, to the type of each value."""
    backend = load_backend("memory")
    assert repr(_view_of_plain(handle)) == repr(Observer(backend).handle(handle))


@pytest.mark.parametrize("handle", ODD.values(), ids=ODD)
def test_other_handles_are_for_the_observer(handle: Any) -> None:
    """Whatever could be changed later, or is of another class, is not seen at once."""
    assert _view_of_plain(handle) is None


def test_what_a_close_leaves_to_the_loop_is_done(tmp_path: Path) -> None:
    """Before the next instance is opened the loop has had its turns, where anything waits for one."""
    jsonl = load_backend("jsonl")
    happened: list[str] = []

    def opened(root: Path, env: Any = None) -> Any:
        happened.append("open")
        service = jsonl.open(root)
        close = service.close

        async def closing_later() -> None:
            await close()
            loop = asyncio.get_running_loop()
            loop.call_soon(loop.call_soon, happened.append, "done")

        service.close = closing_later
        return service

    backend: Backend = replace(jsonl, open=opened)
    seen = Prober(backend, thorough=False).look(tmp_path / "root", ["s"])
    assert seen.failed is None
    assert happened == ["open", "done", "open", "done"]
