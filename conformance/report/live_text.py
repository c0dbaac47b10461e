"""The operations of a session hub, for people and for scripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.model.operations import Dispose, Flood, HubCreate, HubFlush, Operation, Publish, ReadWarnings

LIVE = (HubCreate, Publish, HubFlush, Dispose, ReadWarnings, Flood)

ATTACH = '''\

class Hubs:
    """One session hub for each instance, to which the backend subscribes when the instance is first published on."""

    def __init__(self) -> None:
        self.hubs = {}

    def __call__(self, instance):
        if instance not in self.hubs:
            self.hubs[instance] = SessionHub()
            load_backend(SPEC).live(instance, self.hubs[instance])
        return self.hubs[instance]


hub = Hubs()
'''
"""What a script needs; ``SPEC`` is to be replaced."""


def live_call_text(op: Operation, text: Callable[[Any], str]) -> str:
    """One operation on one line: ``hub1.append("s1", seq 0 user/message)``."""
    match op:
        case HubCreate(instance=instance, session=session, events=events):
            seed = f", {text(events)}" if events else ""
            return f"hub{instance}.create({text(session)}{seed})"
        case Publish(instance=instance, session=session, event=event, scribble=scribble):
            then = ", then overwrite it" if scribble else ""
            return f"hub{instance}.append({text(session)}, {text([event])[1:-1]}){then}"
        case HubFlush(instance=instance, session=session):
            return f"hub{instance}.flush({text(session)})"
        case Dispose(instance=instance, session=session):
            return f"hub{instance}.dispose({text(session)})"
        case Flood(instance=instance, session=session, count=count):
            return f"hub{instance}.append({text(session)}, …) {count:,} times, until one is not taken"
    return "what was logged as a warning"


def live_statement(op: Operation, of: Callable[[Any], str]) -> list[str]:
    """The lines of a script that do it; where it is one expression, its line is a call, awaited or plain."""
    match op:
        case HubCreate(instance=instance, session=session, events=events):
            return [f"hub(instance{instance}).create({of(session)}, {of(events)})"]
        case Publish(instance=instance, session=session, event=event, scribble=scribble):
            if scribble:
                call = f"hub(instance{instance}).append({of(session)}, published)"
                return [f"published = {of(event)}", call, "scribble(published)"]
            return [f"hub(instance{instance}).append({of(session)}, {of(event)})"]
        case HubFlush(instance=instance, session=session):
            return [f"await hub(instance{instance}).flush({of(session)})"]
        case Dispose(instance=instance, session=session):
            return [f"await hub(instance{instance}).dispose({of(session)})"]
        case Flood(instance=instance, session=session, first=first, count=count, width=width):
            return [
                f"for seq in range({first}, {first + count}):",
                f"    hub(instance{instance}).append({of(session)}, filler(seq, {width}))",
            ]
    return ["pass  # Look here at what was logged as a warning."]
