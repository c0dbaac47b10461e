"""An overlap in a printed program: an inner coroutine for each client, and tasks for the calls that it makes.

The calls begin in the order of the run, and pauses and cancellations stand where they stood. What a real loop cannot
repeat is how long the backend's own jobs take, so that a script may come out otherwise than the run; it says so.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from conformance.model.history import Event, Skipped
from conformance.model.operations import Append, Create, HubCreate, OpenSession, Operation, Overlap, Publish, Read, Step
from conformance.report.abbreviate import handle_name, printable
from conformance.report.program_helpers import CLIENTS, SCRIBBLE, SHOWN
from conformance.report.python_values import Expressions, text_expression
from conformance.report.timeline import Place, Row, brief_call, overlap_rows

WIDTH = 100
TEXT = 60
"""Characters of a call that are printed with what it came to."""

REST = """\
# What the calls left under way comes to rest, then the kit looks.
await asyncio.sleep(0.5)"""


class Maker(Protocol):
    """What writes single calls into a script."""

    values: Expressions
    names: Mapping[int, str]

    def statement(self, number: int, operation: Operation) -> list[str]:
        """The lines that make the call; where it is one expression, they begin with ``await``."""

    def offending(self, number: int, operation: Operation) -> list[str]:
        """The same for a call whose answer, or error, goes into ``answer``."""

    def batch(self, events: object) -> list[str]:
        """A batch as lines of one expression."""

    def helper(self, source: str) -> None:
        """What the script has to define."""


def overlap_lines(
    number: int, overlap: Overlap, history: Sequence[Event], maker: Maker, *, offending: Place | None = None
) -> list[str]:
    """The lines that perform an overlap, and what the kit looked at after it.

    Args:
        number: the call that it is in program and history.
        offending: client and step of the call that broke a clause; its answer goes into ``answer``.
    """
    maker.helper(CLIENTS)
    rows = {row.place: row for row in overlap_rows(number, overlap, history)}
    lines = [*_told(number, overlap), "clients = Clients()"]
    lines += [f"{handle_name(handle, maker.names)} = None  # A client asks for it." for handle in opened(overlap)]
    for client, row in enumerate(overlap.rows, 1):
        lines += ["", f"async def client{client}():"]
        inside: list[str] = []
        for at, step in enumerate(row):
            place = client, at
            inside += ["# This is the call that breaks it."] if place == offending else []
            inside += _step(number, place, step, rows[place], maker)
        lines += _indented(inside[not inside[0] :] if inside else ["pass"])
    lines += ["", f"await clients.run({', '.join(f'client{client}()' for client in range(1, len(overlap.rows) + 1))})"]
    looks = [row for row in rows.values() if not row.client]
    if looks:
        lines += REST.splitlines()
        maker.helper(SHOWN)
        maker.values.modules.add("contextlib")
    for _, group in itertools.groupby(looks, lambda row: getattr(row.call, "handle", None)):
        lines.append(f"with shown({number}):")
        for look in group:
            if look.place == offending:
                return [*lines, "    pass", *maker.offending(number, look.call)]
            statement = maker.statement(number, look.call)
            shown = [f'print("look:", {statement[0]})'] if isinstance(look.call, Read) else statement
            lines += _indented(shown)
    if offending is not None:
        lines.append(f'answer = clients.answers.get({offending}, "nothing")')
    return lines


def opened(overlap: Overlap) -> Iterator[int]:
    """The handles that its calls ask for."""
    return (step.call.handle for _, _, step in overlap.steps() if isinstance(step.call, Create | OpenSession))


def listed(overlap: Overlap, names: Mapping[int, str]) -> list[str]:
    """Its calls as text, one a line, where a script can only name them."""
    return [f"client {client}: {_flat(step.call, names)}" for client, _, step in overlap.steps()]


def _told(number: int, overlap: Overlap) -> list[str]:
    clients = f"{len(overlap.rows)} client{'' if len(overlap.rows) == 1 else 's'}"
    text = (
        f"Call {number}: {clients} at once. On a real loop the backend's own jobs take as long as they take, not as"
        " long as in the run, so that it may come out otherwise here; torntail replay performs the very same."
    )
    return ["", *textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ")]


def _step(number: int, place: Place, step: Step, row: Row, maker: Maker) -> list[str]:
    lines = [f"await asyncio.sleep({_seconds(step.after)})"] if step.after else []
    if isinstance(row.outcome, Skipped):
        return [*lines, f"# {_flat(step.call, maker.names)} was not made: what it needs was never returned."]
    before, function = _function(number, place, step.call, maker)
    text = text_expression(textwrap.shorten(_flat(step.call, maker.names), TEXT, placeholder=" …"))
    asked = "task = " if step.waits or step.cancels else ""
    head = f"{asked}clients.call({place[0]}, {place[1]}, {text},"
    if len(function) > 1 or len(head) + len(function[0]) < WIDTH:
        made = [f"{head} {function[0]}", *function[1:]]
    else:
        made = [head, f"    {function[0]}"]
    lines += [*before, *made]
    lines[-1] += ")"
    if step.cancels:
        moments = ", ".join(f"({_seconds(us)}, {turns})" for us, turns in step.cancels)
        lines.append(f"clients.cancel(task, {moments})")
    lines.append("await asyncio.sleep(0)")
    if isinstance(step.call, Append) and step.call.scribble:
        lines.append(f"scribble(batch{place[1]})")
    return [*lines, "await asyncio.wait([task])"] if step.waits else lines


def _function(number: int, place: Place, call: Operation, maker: Maker) -> tuple[list[str], list[str]]:
    """What has to stand before, and the lines of an expression that makes the call when it is called."""
    if isinstance(call, Append) and call.scribble:
        maker.helper(SCRIBBLE)
        batch = maker.batch(call.events)
        name = f"batch{place[1]}"
        handle = handle_name(call.handle, maker.names)
        return [f"{name} = {batch[0]}", *batch[1:]], [f"lambda: {handle}.append({name})"]
    if isinstance(call, Read) and call.scribble:
        maker.helper(SCRIBBLE)
        maker.values.modules.add("copy")
        statement = maker.statement(number, replace(call, scribble=False))
        body = [f"got = {statement[0]}", "kept = copy.deepcopy(got)", "scribble(got)", "return kept"]
        return ["", f"async def read{place[1]}():", *_indented(body), ""], [f"read{place[1]}"]
    statement = maker.statement(number, call)
    if isinstance(call, HubCreate | Publish):
        return ["", f"async def publish{place[1]}():", *_indented(statement), ""], [f"publish{place[1]}"]
    if isinstance(call, Create | OpenSession):
        name = handle_name(call.handle, maker.names)
        body = [f"nonlocal {name}", *statement, f"return {name}"]
        return ["", f"async def get_{name}():", *_indented(body), ""], [f"get_{name}"]
    return [], [f"lambda: {statement[0].removeprefix('await ')}", *statement[1:]]


def _flat(call: Operation, names: Mapping[int, str]) -> str:
    return " ".join(printable(brief_call(call, names)).split())


def _seconds(us: int) -> str:
    return f"{us / 1_000_000:.6f}".rstrip("0").rstrip(".")


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" if line else "" for line in lines]
