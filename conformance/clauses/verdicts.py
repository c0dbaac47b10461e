"""The eight verdicts; each selected clause gets exactly one.

Four of them (``NOT_CLAIMED``, ``NOT_APPLICABLE``, ``NOT_MEASURED``, ``NOT_BUILT``) come from the table in
``conformance.clauses.applicability`` before anything runs; the other four come from the model's judgement of histories.
"""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """What is said of one clause at the end of a run; the values are the words of reports, in the order of reports."""

    PASS = "pass"
    """Exercised, with at least one witness, and no violation."""
    FAIL = "fail"
    """A violation."""
    KNOWN = "known"
    """A violation that the baseline lists."""
    NOT_CLAIMED = "not claimed"
    """The backend does not give the capability or seam that would claim it."""
    NOT_APPLICABLE = "not applicable"
    """A declared capability, or a seam that is not given, makes it meaningless."""
    NOT_MEASURED = "not measured"
    """The route or the machine cannot measure it; always told with the reason."""
    NOT_BUILT = "not built yet"
    """The kit has no check for it yet."""
    NOT_EXERCISED = "not exercised"
    """Everything it needs was there, and no witness came."""
