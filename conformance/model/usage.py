"""What a backend used while it was counted: input and output, and memory, as plain numbers.

Two counts of input and output stand side by side, because neither is right alone. The recorder sees exactly what goes
to the files under the root, and nothing that a C extension does by itself; the operating system sees that too, but
counts the whole process. Which of them counts is decided in ``model.cost_rules``. These are the only numbers in a
history that may differ between two runs of one program.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class InputOutput:
    """Input and output of some calls.

    Attributes:
        bytes_read, bytes_written: bytes.
        accesses: calls of input and output: of the recorder's count every read, write, open, sync and look at
            metadata, and each directory entry listed; of the operating system's the reads and writes only.
    """

    bytes_read: int = 0
    bytes_written: int = 0
    accesses: int = 0

    @property
    def moved(self) -> int:
        """Bytes read and written."""
        return self.bytes_read + self.bytes_written

    def __add__(self, other: InputOutput) -> InputOutput:
        return InputOutput(
            self.bytes_read + other.bytes_read,
            self.bytes_written + other.bytes_written,
            self.accesses + other.accesses,
        )


@dataclass(frozen=True, slots=True)
class Usage:
    """What the calls between two readings of the counters used.

    Attributes:
        recorded: under the root, as the in-process recorder saw it.
        process: by the whole process while calls were under way, as the operating system counted it; None where it
            tells nothing, or where modules were imported meanwhile.
        peak: most memory that one call held at once beyond what was there when it began, in bytes; None where memory
            was not traced.
        allocated: the sum of the peaks of all calls; None likewise.
        doubt: why the recorder may lack something, as far as it noticed, or "".
    """

    recorded: InputOutput = InputOutput()
    process: InputOutput | None = None
    peak: int | None = None
    allocated: int | None = None
    doubt: str = ""

    def to_json(self) -> dict[str, Any]:
        """All fields by name."""
        return asdict(self)

    @classmethod
    def from_json(cls, form: dict[str, Any]) -> Usage:
        """The inverse of ``to_json``."""
        process = form["process"]
        return cls(
            InputOutput(**form["recorded"]),
            None if process is None else InputOutput(**process),
            form["peak"],
            form["allocated"],
            form["doubt"],
        )
