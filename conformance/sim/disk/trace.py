"""What a recording came to: the disk before it, the operations, and the disk after them.

Promises: `Trace.until` gives the trace as it was at an earlier moment, `Trace.with_part_of` one whose next write
was in flight and arrived in part. A trace shares nothing that a recording still changes.

Does not: know what is durable, or what a crash may take of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from conformance.sim.disk.image import FileSystem
from conformance.sim.disk.ops import Ack, CallBegin, DiskOp, Marker, Write


@dataclass(frozen=True, slots=True)
class Trace:
    """A recording at one moment.

    Attributes:
        base: the disk before the first operation; nobody changes it any more.
        ops: the operations and markers, in order.
        calls: for each of them the API call it belongs to, or None.
        image: the disk after all of them, files without a name too.
        next_ino: the number that the next new inode gets.
    """

    base: FileSystem
    ops: Sequence[DiskOp]
    calls: Sequence[int | None]
    image: FileSystem
    next_ino: int

    def until(self, index: int) -> Trace:
        """The trace before the operation of that index. Costs one copy of the base and every operation again."""
        if index >= len(self.ops):
            return self
        image = self.base.copy()
        for op in self.ops[:index]:
            image.apply(op)
        return replace(self, ops=self.ops[:index], calls=self.calls[:index], image=image)

    def place_of(self, call: int, after: int | None) -> int:
        """The index at which so many operations of a call were done, its markers not counted; None: all of them.

        Operations of no call between them have been done too. A call that did fewer has done them all.

        Raises:
            ValueError: no such call began.
        """
        marker = CallBegin(call)
        begin = next((index for index in reversed(range(len(self.ops))) if self.ops[index] == marker), None)
        if begin is None:
            raise ValueError(f"no such call began: {call=}")
        own = [
            index + 1
            for index in range(begin + 1, len(self.ops))
            if self.calls[index] == call and not isinstance(self.ops[index], Marker)
        ]
        if after is None or after > len(own):
            return len(self.ops)
        return own[after - 1] if after else begin + 1

    def place_after_calls(self, after: int) -> int:
        """The index at which so many operations were done since the latest call was acknowledged."""
        latest = next((index for index in reversed(range(len(self.ops))) if isinstance(self.ops[index], Ack)), -1)
        later = [index + 1 for index in range(latest + 1, len(self.ops)) if not isinstance(self.ops[index], Marker)]
        return latest + 1 if after == 0 else later[min(after, len(later)) - 1] if later else len(self.ops)

    def with_part_of(self, op: DiskOp | None, size: int, call: int | None) -> Trace:
        """This trace, and the first `size` bytes of a write that was in flight; unchanged where it is no write."""
        if not isinstance(op, Write) or size <= 0:
            return self
        part = Write(op.ino, op.offset, op.data[:size])
        image = self.image.copy()
        image.apply(part)
        return replace(self, ops=[*self.ops, part], calls=[*self.calls, call], image=image)
