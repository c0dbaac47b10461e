"""What programs about the live path are made with: numbers for handles, events that differ, the declared window."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from conformance.contract import Capabilities
from conformance.model.operations import FILLED_AT, Operation
from conformance.sim import Choices

SECOND = 1_000_000
"""Virtual microseconds."""

MODES = (["write"], ["sync"], ["write", "sync"])
"""Which storage calls fail."""


def window_of(capabilities: Capabilities) -> int:
    """The declared window in virtual microseconds; a second where none is declared."""
    window = capabilities.live_window
    return round((1.0 if window is None else window) * SECOND)


@dataclass(slots=True)
class LiveMaker:
    """A program in the making.

    Attributes:
        window_us: the declared window. handles, serial: how many handles and events there are.
    """

    choices: Choices
    window_us: int
    handles: int = field(default=0, kw_only=True)
    serial: int = field(default=0, kw_only=True)
    operations: list[Operation] = field(default_factory=list, kw_only=True)

    def handle(self) -> int:
        """The number of another handle."""
        self.handles += 1
        return self.handles

    def event(self, seq: int) -> dict[str, Any]:
        """No two events of a program are alike."""
        self.serial += 1
        return {"type": "user/message", "seq": seq, "time": FILLED_AT + seq, "data": {"n": self.serial, "list": [seq]}}
