"""Conversations: by the turn grammar, numbered, stopping anywhere, deviating as tolerated, shrinking to one turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from hypothesis import given, settings

import strategies
from conformance.contract import Capabilities
from conformance.model.batches import batch_refusals
from strategies.conversations import (
    FAILED,
    NO_ID,
    NO_MESSAGE,
    PARALLEL,
    REASONING,
    SECOND_MESSAGE,
    STREAMED,
    TITLED,
    conversation,
)

Event = dict[str, Any]
EVERYTHING = STREAMED | PARALLEL | FAILED | REASONING


class Grammar:
    """Follows a conversation event by event; an event out of place is an assertion that fails."""

    def __init__(self) -> None:
        self.turn = self.step = self.time = 0
        self.in_turn = self.in_step = False
        self.requested: list[str] = []
        self.started: list[str] = []

    def take(self, event: Event) -> None:
        """One more event."""
        assert event["time"] >= self.time
        self.time = event["time"]
        getattr(self, "on_" + event["type"].replace("/", "_"))(event["data"])

    def on_turn_start(self, data: Event) -> None:
        """A turn begins where none is open, numbered one more than the last."""
        assert not self.in_turn
        self.turn, self.step, self.in_turn = self.turn + 1, 0, True
        assert data == {"turn": self.turn}

    def on_user_message(self, data: Event) -> None:
        """A user's message stands in a turn and before its steps."""
        assert self.in_turn
        assert not self.step
        assert data["role"] == "user"
        assert data["content"][0]["type"] == "text"

    def on_session_title(self, data: Event) -> None:
        """A title says something."""
        assert data["title"]

    def on_step_start(self, data: Event) -> None:
        """A step begins in a turn where no step is open."""
        assert self.in_turn
        assert not self.in_step
        self.step, self.in_step = self.step + 1, True
        self.requested, self.started = [], []
        assert data == {"turn": self.turn, "step": self.step}

    def here(self, data: Event) -> None:
        """The event belongs to the open step."""
        assert self.in_step
        assert (data["turn"], data["step"]) == (self.turn, self.step)

    def on_assistant_chunk(self, data: Event) -> None:
        """A delta of a block."""
        self.here(data)
        assert data["chunk"]["type"] in ("text-delta", "reasoning-delta", "tool-call-delta")

    def on_assistant_message(self, data: Event) -> None:
        """The message may be missing; what it asks for is remembered."""
        self.here(data)
        content = data.get("message", {"content": []})["content"]
        self.requested = [block["id"] for block in content if block["type"] == "tool-call"]
        self.known = "message" in data

    def on_tool_call(self, data: Event) -> None:
        """A call is one that was asked for, where what was asked for is known."""
        self.here(data)
        assert not self.known or data["callId"] in self.requested
        self.started.append(data["callId"])

    def on_tool_result(self, data: Event) -> None:
        """A result answers the call that waits longest."""
        self.here(data)
        (block,) = data["message"]["content"]
        assert block["toolCallId"] == data["message"]["source"]["callId"] == self.started.pop(0)

    def on_step_end(self, data: Event) -> None:
        """A step ends with every call answered."""
        self.here(data)
        assert not self.started
        self.in_step = False

    def on_turn_end(self, data: Event) -> None:
        """A turn ends where no step is open."""
        assert self.in_turn
        assert not self.in_step
        assert data == {"turn": self.turn, "reason": {"kind": "completed"}}
        self.in_turn = False


@settings(deadline=None)
@given(strategies.conversations())
def test_conversations_follow_the_grammar(events: list[Event]) -> None:
    """Event by event, as far as the conversation goes; each call is answered in order."""
    grammar = Grammar()
    for event in events:
        grammar.take(event)


@settings(deadline=None)
@given(strategies.conversations(2, first_seq=8, complete=True))
def test_complete_conversations_end_their_turns(events: list[Event]) -> None:
    """The last event ends a turn, and the seqs go on from where they were asked to."""
    assert events[-1]["type"] == "turn/end"
    assert [event["seq"] for event in events] == list(range(8, 8 + len(events)))
    assert not batch_refusals(events, 8, Capabilities()).must


def test_the_shortest_conversation_is_plain(minimal: Callable[..., Any]) -> None:
    """One whole turn of one step without calls, in which every text is ``ok``."""
    found = minimal(strategies.conversations())
    assert found == strategies.numbered(conversation([(0, [(0, 0)])]))
    assert [event["type"] for event in found] == [
        "turn/start",
        "user/message",
        "step/start",
        "assistant/message",
        "step/end",
        "turn/end",
    ]
    assert str(found).isascii()
    assert str(found).count("'ok'") == 2


def test_text_shrinks_apart_from_the_shape(minimal: Callable[..., Any]) -> None:
    """A conversation that needs a failed call keeps it, with plain text; one that needs foreign text keeps the text."""
    failed = minimal(strategies.conversation_bodies(), lambda bodies: "'isError': True" in str(bodies))
    assert failed == conversation([(0, [(1, FAILED)])])
    foreign = minimal(strategies.conversation_bodies(), lambda bodies: not str(bodies).isascii())
    assert len(foreign) <= 7


def test_conversations_have_everything(examples: Callable[..., list[Any]]) -> None:
    """Whole and interrupted ones of one to three turns, tolerated deviations, deltas, errors, parallel calls."""
    drawn = examples(strategies.conversation_bodies(), 300)
    last = Counter(bodies[-1]["type"] for bodies in drawn)
    assert last["turn/end"] > 60
    assert {"turn/start", "user/message", "step/start", "tool/call", "tool/result", "step/end"} <= last.keys()
    assert {sum(body["type"] == "turn/start" for body in bodies) for bodies in drawn} == {1, 2, 3}
    bodies = [body for each in drawn for body in each]
    assert any(body["type"] == "assistant/message" and "message" not in body["data"] for body in bodies)
    assert any(body["type"] == "user/message" and "id" not in body["data"] for body in bodies)
    assert any("reasoning-delta" in str(body) for body in bodies)
    assert any(a["type"] == b["type"] == "tool/call" for each in drawn for a, b in pairwise(each))


def test_each_style_bit_does_what_it_says() -> None:
    """The shape of a conversation can be asked for directly."""

    def types(style: int, bits: int, calls: int = 2) -> list[str]:
        return [body["type"] for body in conversation([(style, [(calls, bits)])])]

    assert types(0, 0)[4:8] == ["tool/call", "tool/result"] * 2
    assert types(0, PARALLEL)[4:8] == ["tool/call"] * 2 + ["tool/result"] * 2
    assert types(SECOND_MESSAGE | TITLED, 0)[:4] == ["turn/start", "user/message", "session/title", "user/message"]
    assert types(0, STREAMED | REASONING, 1).count("assistant/chunk") == 6
    assert "id" not in conversation([(NO_ID, [(0, 0)])])[1]["data"]
    assert "message" not in conversation([(0, [(0, NO_MESSAGE)])])[3]["data"]


def test_deltas_add_up_to_the_message() -> None:
    """What was streamed is what the message says in the end."""
    bodies = conversation([(0, [(2, EVERYTHING)])], seed=10**9)
    chunks = [body["data"]["chunk"] for body in bodies if body["type"] == "assistant/chunk"]
    (message,) = (body["data"]["message"] for body in bodies if body["type"] == "assistant/message")
    for index, block in enumerate(message["content"]):
        mine = [chunk for chunk in chunks if chunk["index"] == index]
        text = "".join(chunk.get("text", "") + chunk.get("argumentsDelta", "") for chunk in mine)
        assert text == block.get("text", block.get("arguments"))


def test_any_prefix_can_be_drawn() -> None:
    """Thousandths that are missing cut the end off, down to the first event."""
    whole = conversation([(0, [(1, 0)])])
    lengths = {len(conversation([(0, [(1, 0)])], missing=missing)) for missing in range(1000)}
    assert lengths == set(range(1, len(whole) + 1))
