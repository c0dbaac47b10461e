"""What the machines draw: kinds of batches, headers and ids that a program may be about, and small numbers.

Every strategy here costs one draw to a few, but for the kinds that a program is about only where their switch is on.
Nothing here performs anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

import strategies
from conformance.contract import SessionHeader
from conformance.model.operations import (
    CloseInstance,
    Create,
    FlushInstance,
    ListSessions,
    OpenSession,
    Operation,
    Stat,
)

SPECIAL: Mapping[str, st.SearchStrategy[list[dict[str, Any]]]] = {
    "rich": strategies.event_bodies(),
    "many": strategies.small_bodies(),
    "refused": strategies.refused_bodies(),
    "beyond": strategies.beyond_common_bodies(),
    "unknown": strategies.unknown_bodies(),
    "ignorable": strategies.ignorable_bodies(),
}
"""Kinds of batches that a program may be about besides small ordinary ones."""

MAY_BE_REFUSED = frozenset({"refused", "beyond"})
"""Those that have many forms and, refused, leave nothing behind."""

HEADERS: Mapping[str, st.SearchStrategy[tuple[SessionHeader, int | None]]] = {
    "headers": strategies.headers(),
    "beyond": strategies.beyond_common_headers(),
}
"""Kinds of headers likewise."""

KINDS = ("plain", *SPECIAL, "headers", "inspect")
"""What is switched on and off for each program."""

MANY = 60

INDEX = st.integers(0, 5)
SMALL = st.integers(0, 4)
SESSION = st.integers(0, 2)
LENGTH = st.none() | st.integers(0, 4)
POOLS = st.one_of(
    # First, because what shrinks to the fewest draws ends here.
    st.sampled_from(strategies.ID_POOLS),
    st.builds(
        lambda group, first: tuple(group[(first + place) % len(group)] for place in range(3)),
        strategies.colliding_ids(),
        st.integers(0, 40),
    ),
    st.tuples(strategies.ordinary_ids(), strategies.hostile_ids(), strategies.hostile_ids()),
)
"""Three ids for one program, of which two may be one: ordinary ones, ones that careless backends mix up, any."""

BAD_RANGE = st.sampled_from([(-1, None), (0, -1), (1.5, None), ("0", None), (0, 2.0), (None, None), (0, "1")])


def call_of(kind: int, instance: int, handle: int, session: str) -> Operation:
    """One of the six calls of a service, by a number from 0 to 5."""
    header = SessionHeader(session, 0)
    choices: list[Operation] = [
        Stat(instance, session),
        CloseInstance(instance),
        ListSessions(instance),
        OpenSession(instance, handle, session, "read"),
        FlushInstance(instance),
        Create(instance, handle, header),
    ]
    return choices[kind]


def with_id(header: SessionHeader, session: str) -> SessionHeader:
    """The header under another id."""
    values = {name: getattr(header, name) for name in SessionHeader.__dataclass_fields__}
    return SessionHeader(**{**values, "id": session})
