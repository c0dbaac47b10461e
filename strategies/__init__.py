"""Public Hypothesis strategies for what a session log is made of, usable alone.

This is the first layer of the project that knows Hypothesis. Values are built, not filtered, and each strategy says
how what it draws shrinks. There is something for every argument at the seam: what a backend must take, what it may
refuse and must not alter, and what it must refuse.

    from hypothesis import given
    import strategies

    @given(strategies.conversations(), strategies.hostile_ids())
    def check_my_log(events, session_id): ...

For a machine that draws in every step there are cheap ones of one to four draws: ``small_bodies``, ``small_headers``,
``broken_batches``, ``misplaced_seqs``, ``refused_headers``, ``session_ids``.
"""

from __future__ import annotations

from strategies.batches import (
    DATA_PALETTE,
    EVENT_TYPES,
    batches,
    cut_into_batches,
    event_bodies,
    numbered,
    palette_bodies,
    small_bodies,
)
from strategies.broken_batches import (
    beyond_common_bodies,
    bodies_with,
    broken_batches,
    debatable_bodies,
    misplaced_seqs,
    refused_bodies,
)
from strategies.choices import DrawnChoices
from strategies.conversations import conversation, conversation_bodies, conversations
from strategies.headers import beyond_common_headers, debatable_headers, headers, refused_headers, small_headers
from strategies.hostile_values import beyond_common_values, refused_values
from strategies.ids import ID_POOLS, colliding_ids, escaping_ids, hostile_ids, long_ids, ordinary_ids, session_ids
from strategies.json_values import (
    VALUE_KINDS,
    deep_values,
    floats,
    huge_texts,
    integers,
    json_values,
    keys,
    long_texts,
    page_texts,
    texts,
)
from strategies.sized_batches import boundary_batches, line_bytes, sized_batches
from strategies.sizes import boundary_sizes
from strategies.swarm import swarm
from strategies.vocabulary import ignorable_bodies, unknown_bodies, unknown_types
from strategies.world_text import LOCALES, text_seeds, world_text, world_texts

__all__ = [
    "DATA_PALETTE",
    "EVENT_TYPES",
    "ID_POOLS",
    "LOCALES",
    "VALUE_KINDS",
    "DrawnChoices",
    "batches",
    "beyond_common_bodies",
    "beyond_common_headers",
    "beyond_common_values",
    "bodies_with",
    "boundary_batches",
    "boundary_sizes",
    "broken_batches",
    "colliding_ids",
    "conversation",
    "conversation_bodies",
    "conversations",
    "cut_into_batches",
    "debatable_bodies",
    "debatable_headers",
    "deep_values",
    "escaping_ids",
    "event_bodies",
    "floats",
    "headers",
    "hostile_ids",
    "huge_texts",
    "ignorable_bodies",
    "integers",
    "json_values",
    "keys",
    "line_bytes",
    "long_ids",
    "long_texts",
    "misplaced_seqs",
    "numbered",
    "ordinary_ids",
    "page_texts",
    "palette_bodies",
    "refused_bodies",
    "refused_headers",
    "refused_values",
    "session_ids",
    "sized_batches",
    "small_bodies",
    "small_headers",
    "swarm",
    "text_seeds",
    "texts",
    "unknown_bodies",
    "unknown_types",
    "world_text",
    "world_texts",
]
