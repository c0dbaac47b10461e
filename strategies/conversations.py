"""Whole conversations by the turn grammar: what an agent's session log really holds.

The shape of a conversation (turns, steps, tool calls) is drawn piece by piece and shrinks piece by piece; all of its
text comes from one integer (``strategies.world_text``). A conversation may stop anywhere, as a crash or a user stops
it, and holds the deviations that readers of turns have to tolerate.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from functools import cache
from typing import Any

from hypothesis import strategies as st

from strategies.world_text import text_seeds, world_text

Body = dict[str, Any]
StepShape = tuple[int, int]
"""Number of tool calls, and a sum of the step's style bits."""
TurnShape = tuple[int, Sequence[StepShape]]
"""A sum of the turn's style bits, and its steps."""

STREAMED, PARALLEL, NO_MESSAGE, FAILED, REASONING = 1, 2, 4, 8, 16
"""Style bits of a step: deltas before the message, all calls before the first result, an assistant message without its
``message``, results that are errors, a reasoning block."""

NO_ID, SECOND_MESSAGE, TITLED = 1, 2, 4
"""Style bits of a turn: a user message without ``id``, a second user message, a title made up after the first."""

START_TIME = 1_700_000_000_000
"""Unix ms of the first event."""

_TOOLS = ("bash", "read_file", "todo_write")


@cache
def conversation_bodies(max_turns: int = 3, *, complete: bool = False) -> st.SearchStrategy[list[Body]]:
    """The events of a conversation without their seqs: type, time, data. Never empty; times never fall.

    One to ``max_turns`` turns of one to three steps of up to three tool calls. Shrinks to one turn of one step
    without calls, whole, in which every text is ``ok``.

    Args:
        max_turns: turns at most.
        complete: every turn ends; otherwise half of the conversations stop somewhere.
    """
    step = st.tuples(st.integers(0, 3), st.integers(0, 31))
    turn = st.tuples(st.integers(0, 7), st.lists(step, min_size=1, max_size=3))
    missing = st.just(0) if complete else st.just(0) | st.integers(1, 999)
    return st.builds(conversation, st.lists(turn, min_size=1, max_size=max_turns), text_seeds(), missing)


def conversations(
    max_turns: int = 3, *, first_seq: int = 0, complete: bool = False
) -> st.SearchStrategy[list[dict[str, Any]]]:
    """The events of a conversation with their seqs, ready to be appended.

    Drawn as ``conversation_bodies`` are. Shrinks to one short whole turn.

    Args:
        max_turns: turns at most.
        first_seq: of the first event.
        complete: every turn ends.
    """
    return conversation_bodies(max_turns, complete=complete).map(
        lambda bodies: [{**body, "seq": seq} for seq, body in enumerate(bodies, start=first_seq)]
    )


def conversation(turns: Sequence[TurnShape], seed: int = 0, missing: int = 0) -> list[Body]:
    """The bodies of one conversation.

    Args:
        turns: the shape.
        seed: of its text and of the time that passes.
        missing: thousandths of the events that are cut off the end; the first event always stays.
    """
    writer = _Writer(seed)
    for number, (style, steps) in enumerate(turns, start=1):
        writer.turn(number, style, steps)
    return writer.bodies[: max(1, len(writer.bodies) * (1000 - missing) // 1000)]


class _Writer:
    """Writes one conversation, event by event."""

    def __init__(self, seed: int) -> None:
        self.bodies: list[Body] = []
        self._seed = seed
        self._texts = self._calls = 0
        self._time = START_TIME
        self._clock = random.Random(seed)

    def _add(self, type: str, **data: Any) -> None:
        self.bodies.append({"type": type, "time": self._time, "data": data})
        # Several events within one tick of the clock are common, and so is a pause.
        self._time += self._clock.choice((0, 0, 1, 20, 1_500)) if self._seed else 1

    def _text(self) -> str:
        self._texts += 1
        return world_text(self._seed, self._texts)

    def turn(self, number: int, style: int, steps: Sequence[StepShape]) -> None:
        self._add("turn/start", turn=number)
        self._user_message(style)
        if style & TITLED:
            self._add("session/title", title=self._text())
        if style & SECOND_MESSAGE:
            self._user_message(style)
        for place, (calls, bits) in enumerate(steps, start=1):
            self._step(number, place, calls, bits)
        self._add("turn/end", turn=number, reason={"kind": "completed"})

    def _user_message(self, style: int) -> None:
        message = {"role": "user", "content": [{"type": "text", "text": self._text()}], "source": {"kind": "user"}}
        self._add("user/message", **({} if style & NO_ID else {"id": f"m{len(self.bodies)}"}), **message)

    def _step(self, turn: int, step: int, count: int, style: int) -> None:
        where = {"turn": turn, "step": step}
        self._add("step/start", **where)
        content: list[dict[str, Any]] = []
        if style & REASONING:
            content.append({"type": "reasoning", "text": self._text()})
        content.append({"type": "text", "text": self._text()})
        calls = [self._call() for _ in range(count)]
        content.extend(calls)
        if style & STREAMED:
            self._stream(where, content)
        message = {
            "id": f"m{len(self.bodies)}",
            "role": "assistant",
            "content": content,
            "source": {"kind": "model"},
        }
        self._add("assistant/message", **where, **({} if style & NO_MESSAGE else {"message": message}))
        if style & PARALLEL:
            for call in calls:
                self._start_call(where, call)
        for call in calls:
            if not style & PARALLEL:
                self._start_call(where, call)
            self._result(where, call, failed=bool(style & FAILED))
        self._add("step/end", **where)

    def _call(self) -> dict[str, Any]:
        self._calls += 1
        # Arguments are JSON inside a text, so that a log holds everything that needs escaping twice.
        arguments = json.dumps({"command": self._text()}, ensure_ascii=False)
        name = _TOOLS[self._calls % len(_TOOLS)]
        return {"type": "tool-call", "id": f"c{self._calls}", "name": name, "arguments": arguments}

    def _stream(self, where: dict[str, int], content: list[dict[str, Any]]) -> None:
        for index, block in enumerate(content):
            head = {"type": f"{block['type']}-delta", "index": index}
            if block["type"] == "tool-call":
                for place, piece in enumerate(_halves(block["arguments"])):
                    named = {"name": block["name"]} if not place else {}
                    chunk = {**head, "id": block["id"], **named, "argumentsDelta": piece}
                    self._add("assistant/chunk", **where, chunk=chunk)
            else:
                for piece in _halves(block["text"]):
                    self._add("assistant/chunk", **where, chunk={**head, "text": piece})

    def _start_call(self, where: dict[str, int], call: dict[str, Any]) -> None:
        self._add("tool/call", **where, callId=call["id"], name=call["name"], arguments=call["arguments"])

    def _result(self, where: dict[str, int], call: dict[str, Any], *, failed: bool) -> None:
        block = {
            "type": "tool-result",
            "toolCallId": call["id"],
            "isError": failed,
            "content": [{"type": "text", "text": self._text()}],
        }
        message = {
            "id": f"m{len(self.bodies)}",
            "role": "user",
            "source": {"kind": "tool", "callId": call["id"]},
            "content": [block],
        }
        self._add("tool/result", **where, message=message)


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]
