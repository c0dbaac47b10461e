"""The backends that are right, in one table: the reference, and everything in ``tests/variants`` that differs from it.

The kit must stay silent about all of them. Each says in which way it differs, and which should clauses about costs it
does not meet; to be told of those is no false alarm, and not to be told would be a failure of the checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from conformance.model.operations import Program

VARIANTS = "tests/variants"


@dataclass(frozen=True, slots=True)
class Alarm:
    """A false alarm that is not mended yet: why it comes, and the shortest program that raises it."""

    reason: str
    program: Program


@dataclass(frozen=True, slots=True)
class Conforming:
    """One conforming backend.

    Attributes:
        spec: how it is addressed from the root of the repository.
        differs: what it does that the reference does not, in a few words for each thing.
        dear: the should clauses about costs that it does not meet.
        door: the one that it is, opened in another way, or "".
        alarm: where the kit still calls it wrong, or None.
    """

    spec: str
    differs: tuple[str, ...]
    dear: frozenset[str] = field(default_factory=frozenset)
    door: str = ""
    alarm: Alarm | None = None

    @property
    def name(self) -> str:
        """What stands behind the colon."""
        return self.spec.rpartition(":")[2]


NOTHING: frozenset[str] = frozenset()
READS_WHOLE_FILES = frozenset({"SVC-10", "READ-05"})
"""It keeps no index, and reads a file whole."""


def _table() -> Iterator[Conforming]:
    yield Conforming("jsonl", ("the reference",))
    yield Conforming("jsonl-raw", ("the reference without compression",), frozenset({"SVC-10"}))
    yield Conforming("memory", ("keeps nothing",))
    for module, name, dear, *differs in (
        ("plain_files", "plain_files", READS_WHOLE_FILES, "refuses what is beyond common JSON", "no lock on storage"),
        ("plain_files", "eager_files", READS_WHOLE_FILES, "materialises in create"),
        ("queued_files", "queued_files", READS_WHOLE_FILES, "calls wait in line, and are done in threads"),
        ("buffered_files", "buffered_files", READS_WHOLE_FILES, "buffers, and writes at barriers"),
        ("marked_files", "marked_files", READS_WHOLE_FILES, "syncs at flush, with a durable mark in each batch"),
        ("good_store", "good_store", READS_WHOLE_FILES, "a checksum in each line, and a sync of each batch"),
        ("newer_types", "newer_types", READS_WHOLE_FILES, "stores unknown types"),
        ("wide_values", "wide_values", READS_WHOLE_FILES, "accepts and returns what is beyond common JSON"),
        ("frozen_results", "frozen_results", READS_WHOLE_FILES, "results that cannot be changed"),
        ("one_file", "one_file", READS_WHOLE_FILES | {"SEQ-10"}, "one file for all sessions"),
        (
            "sqlite_rows",
            "sqlite_rows",
            frozenset(),
            "SQLite in one file",
            "synchronous",
            "exception classes of its own",
        ),
        ("live_files", "prompt_files", READS_WHOLE_FILES, "stores what is published at once, one event at a time"),
        (
            "live_files",
            "patient_files",
            READS_WHOLE_FILES,
            "stores what is published after a second",
            "refuses appends by hand while published events wait",
            "tells of what cannot be stored at every barrier",
        ),
        ("live_memory", "live_memory", NOTHING, "published events never wait"),
        ("factories", "managed_rows", NOTHING, "the factory is a context manager"),
        ("factories", "managed_files", READS_WHOLE_FILES, "the factory is an async context manager"),
        ("factories", "token_files", READS_WHOLE_FILES, "the factory takes env", "revisions of each instance's own"),
    ):
        yield Conforming(f"{VARIANTS}/{module}.py:{name}", tuple(differs), dear, DOORS.get(name, ""), ALARMS.get(name))


DOORS = {"managed_rows": "sqlite_rows", "managed_files": "buffered_files"}
"""What is the same service as another backend of the table."""

ALARMS: dict[str, Alarm] = {}
"""Conforming backends about which the kit is not silent yet; an entry that no longer holds fails."""

CONFORMING = tuple(_table())
