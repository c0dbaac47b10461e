"""Judging a history as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from conformance.clauses import Violation
from conformance.contract import Capabilities
from conformance.model.history import Event
from conformance.model.judge import Judge


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a whole history came to."""

    witnesses: Counter[str]
    violation: Violation | None


def judge_history(history: Iterable[Event], capabilities: Capabilities, *, located: bool = True) -> Judgement:
    """Fold a whole history; stops at the first violation. ``located`` as in ``Judge``."""
    judge = Judge(capabilities, located=located)
    try:
        for event in history:
            judge.feed(event)
    except Violation as found:
        return Judgement(judge.witnesses, found)
    return Judgement(judge.witnesses, None)
