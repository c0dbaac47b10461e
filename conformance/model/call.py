"""A call that the model has heard the begin of, and not yet the end."""

from __future__ import annotations

from conformance.model.operation import Operation


class Call:
    """A call under way; a plain class, for one is made for each call.

    Attributes:
        floors: session serial -> how many events it must see at least.
        alone_since: when it began, in virtual microseconds; None where others were in flight beside it.
    """

    __slots__ = ("alone_since", "floors", "number", "operation")

    def __init__(self, number: int, operation: Operation, alone_since: int | None = None) -> None:
        self.number = number
        self.operation = operation
        self.floors: dict[int, int] = {}
        self.alone_since = alone_since
