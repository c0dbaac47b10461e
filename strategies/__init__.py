"""Public Hypothesis strategies for what a session log is made of, usable alone.

This is the first layer of the project that knows Hypothesis. Values are built, not filtered, and each strategy says how
what it draws shrinks. What is here serves the sequential machine; ids, values and conversations that are hostile on
purpose are not here yet.
"""

from __future__ import annotations

from strategies.batches import (
    DATA_PALETTE,
    EVENT_TYPES,
    broken_batches,
    event_bodies,
    misplaced_seqs,
    small_bodies,
)
from strategies.choices import DrawnChoices
from strategies.headers import headers, refused_headers, session_ids, small_headers
from strategies.json_values import json_values

__all__ = [
    "DATA_PALETTE",
    "EVENT_TYPES",
    "DrawnChoices",
    "broken_batches",
    "event_bodies",
    "headers",
    "json_values",
    "misplaced_seqs",
    "refused_headers",
    "session_ids",
    "small_bodies",
    "small_headers",
]
