"""Named scenarios for SEQ: what a batch must be, and what a refused one leaves behind."""

from __future__ import annotations

from conformance.checks.registry import scenario
from conformance.checks.script import Script, batch


@scenario("SEQ-02")
def gap_is_refused_whole(s: Script) -> None:
    """A batch that starts past the next seq is refused, and nothing of it is stored."""
    a = s.instance()
    w = s.create(a)
    s.append(w, batch(0, 2))
    s.append(w, batch(3, 1))
    s.read(w)
