"""A driver in another process that may use only so much more memory than it begins with.

The process is a copy of this one, so that any backend that is loaded here can be asked there, a writer with its open
files and the readers beside it too. Its limit is the operating system's own. Operations go there and outcomes come back
in their JSON forms, one at a time; a process that dies or never answers is told as such.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, Protocol

from conformance.contract import CONTRACT_ERRORS
from conformance.drivers.descriptors import out_of_the_way
from conformance.drivers.errors import KitError, SetupError
from conformance.model.history import ErrorView, Hung, Outcome, Raised, Skipped
from conformance.model.history_forms import outcome_from_json, outcome_to_json
from conformance.model.operations import Operation, operation_from_json

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

LONGEST = 60.0
"""Wall seconds without an answer after which the process is ended."""

_STATUS = Path("/proc/self/statm")

_UNTOLD = 70
"""What the process ends with where it could not even tell what went wrong."""

Answer = dict[str, Any]
"""What comes back: ``outcome`` and the driver's time ``at`` after it, or the ``problem`` that the kit itself had."""


class Performer(Protocol):
    """What is needed of a driver."""

    def perform(self, operation: Operation, call: int | None = None) -> Outcome:
        """Perform one operation to its end."""

    def now_us(self) -> int:
        """The time of the history, in microseconds."""


def can_confine() -> bool:
    """Whether this system copies processes, limits their memory and says how much they have."""
    return resource is not None and hasattr(os, "fork") and _STATUS.exists()


class Confined:
    """A driver that is made and asked in a process with ``room`` more bytes of memory than this one has.

    Args:
        make: makes the driver, there; it has done nothing yet.
    """

    def __init__(self, make: Callable[[], Performer], room: int) -> None:
        self._at = 0
        self._left = b""
        # They go into the copy, where what a dead backend leaves may close them, as one is bound to with its locks.
        requests, self._requests = map(out_of_the_way, os.pipe())
        self._answers, answers = map(out_of_the_way, os.pipe())
        with warnings.catch_warnings():
            # The other threads of this process only wait; the copy asks nothing of them.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            os.close(self._requests)
            os.close(self._answers)
            _serve(make, room, requests, answers)
        os.close(requests)
        os.close(answers)
        self._child: int | None = child

    def perform(self, operation: Operation, call: int | None = None) -> Outcome:
        """As a driver's; ``Skipped`` once the process has ended.

        Raises:
            KitError: the driver there raised something that is no observation.
        """
        if self._child is None:
            return Skipped()
        line = json.dumps({"operation": operation.to_json(), "call": call}).encode() + b"\n"
        try:
            _write_all(self._requests, line)
            told = self._line(time.monotonic() + LONGEST)
        except BrokenPipeError:
            told = b""
        if told is None:
            self.finish()
            return Hung(f"nothing within {LONGEST:g} s in a process of its own")
        if not told:
            code = self.finish()
            return Raised(ErrorView("Died", "Died", f"the process ended with {code} and said nothing"))
        answer: Answer = json.loads(told)
        if "problem" in answer:
            raise KitError(f"the driver in a process of its own: {answer['problem']}")
        self._at = answer["at"]
        return outcome_from_json(answer["outcome"])

    def now_us(self) -> int:
        """The time of the history there, as of the latest answer."""
        return self._at

    def finish(self) -> int:
        """End the process; returns what it ended with, and 0 where it had ended before."""
        if self._child is None:
            return 0
        child, self._child = self._child, None
        os.close(self._requests)
        os.close(self._answers)
        # Where it ended by itself nobody has asked for it yet, so that the number is still its own.
        os.kill(child, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def _line(self, until: float) -> bytes | None:
        """The next line that is sent; b"" where the other side has closed, None where nothing came in time."""
        # A backend that leaves its files open gives this pipe a number that ``select`` cannot take.
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            while b"\n" not in self._left:
                left = until - time.monotonic()
                if left <= 0 or not selector.select(left):
                    return None
                piece = os.read(self._answers, 1 << 16)
                if not piece:
                    return b""
                self._left += piece
        line, _, self._left = self._left.partition(b"\n")
        return line


def _serve(make: Callable[[], Performer], room: int, requests: int, answers: int) -> NoReturn:
    """Perform what is asked for until nobody asks any more; nothing of the copied process is cleaned up."""
    status = _UNTOLD
    try:
        pages = int(_STATUS.read_text().split()[0])
        limit = pages * os.sysconf("SC_PAGE_SIZE") + room
        with _limited(limit):
            driver = make()
        with open(requests, "rb") as lines:
            for line in lines:
                asked = json.loads(line)
                answer = _answer(driver, operation_from_json(asked["operation"]), asked["call"], limit)
                _write_all(answers, json.dumps(answer).encode() + b"\n")
        status = 0
    except BaseException:  # noqa: BLE001
        # Whatever it is, whoever asks has to hear of it: silence would be taken for the backend's death.
        _write_all(answers, json.dumps({"problem": traceback.format_exc()}).encode() + b"\n")
        status = 0
    finally:
        os._exit(status)


@contextmanager
def _limited(limit: int) -> Iterator[None]:
    """For what the backend does; the kit's own part there has to tell what came of it with whatever that takes."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _answer(driver: Performer, operation: Operation, call: int | None, limit: int) -> Answer:
    try:
        with _limited(limit):
            outcome = driver.perform(operation, call)
        told = outcome_to_json(outcome)
    except MemoryError as error:
        told = outcome_to_json(Raised(ErrorView("MemoryError", "MemoryError", str(error))))
    except SetupError as error:
        # Here an instance that does not come up is an answer like any other.
        told = outcome_to_json(Raised(_view_of(error.__cause__ or error)))
    return {"outcome": told, "at": driver.now_us()}


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _view_of(error: BaseException) -> ErrorView:
    kinds = (name for name, kind in CONTRACT_ERRORS.items() if isinstance(error, kind))
    name = type(error).__name__
    return ErrorView(next(kinds, name), name, str(error)[:2000])
