"""How a process ends in which a backend runs: with the exit code of the run, neither earlier nor much later.

Python waits at its end for every thread that is no daemon, and for the processes of ``multiprocessing``. What a backend
forgot (FAULT-06) would keep a run for ever whose report is long printed, and with it whoever waits for its exit code.
A backend that ends the process itself must not pass for a verdict.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection
from types import FrameType
from typing import Any, NoReturn

from conformance.drivers.children import end_left

GRACE_S = 5.0
"""Wall seconds that threads and processes are given once Python waits for nothing else."""


NAMED = 5
"""How many are told by name."""


EXIT_KIT = 4
"""What a process ends with that a backend ended, where it said 0: there is no verdict."""

EXIT_INTERRUPTED = 130

ENOUGH = 3
"""Interrupts after which nothing is put away any more."""

_LOOK_S = 0.1
_STREAMS = ("stdin", "stdout", "stderr")
_exit = os._exit
_interrupts: list[int] = []
"""The signals that came."""


def fill_streams() -> frozenset[str]:
    """Lead the standard streams that this process was started without to nowhere; returns which, as ``stdout``.

    Otherwise the next files to be opened get their numbers, and with them whatever is written to a standard stream.
    """
    missing = frozenset(name for name in _STREAMS if getattr(sys, name) is None)
    for name in _STREAMS:
        if name in missing:
            number = os.open(os.devnull, os.O_RDWR)
            # A process that a backend starts has it too.
            os.set_inheritable(number, True)
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
    return missing


def tell_exits() -> Callable[[], None]:
    """Have ``os._exit`` say who called it, in this process, and never with 0; returns what ends that."""
    process = os.getpid()

    def exit_told(status: int) -> NoReturn:
        if os.getpid() == process:
            sys.stderr.write(f"torntail: ended by os._exit({status}) in what was run here; there is no verdict\n")
            sys.stderr.flush()
            end_left()
            _exit(status or EXIT_KIT)
        _exit(status)

    def end() -> None:
        os._exit = _exit

    os._exit = exit_told
    return end


def interrupt_by(*names: str) -> None:
    """Let these signals interrupt, also where they would end the process at once; the third one ends it in any case.

    Python drops an interrupt that comes while it runs ``__del__`` or the callback of a weak reference, and a backend
    may swallow it.
    """
    process = os.getpid()

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        _interrupts.append(number)
        if len(_interrupts) >= ENOUGH and os.getpid() == process:
            try:
                # The main thread may be in the middle of writing to a stream, which nobody else can then.
                os.write(2, b"torntail: ended at the third interrupt; there is no verdict\n")
                end_left()
            finally:
                _exit(EXIT_INTERRUPTED)
        raise KeyboardInterrupt

    for name in names:
        known = getattr(signal, name, None)
        if known is not None and signal.getsignal(known) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(known, interrupt)


def heed_interrupts() -> None:
    """To be called between two checks.

    Raises:
        KeyboardInterrupt: one came and got lost.
    """
    if _interrupts:
        raise KeyboardInterrupt


def running() -> frozenset[threading.Thread]:
    """The threads that run now."""
    return frozenset(threading.enumerate())


def leave_in_time(status: int, before: Collection[threading.Thread]) -> None:
    """See to it that this process ends with this exit code soon after its main thread has.

    Args:
        before: the threads that ran before any backend was loaded, which are left to whoever started them.
    """
    if _left(before):
        threading.Thread(target=_end, args=(status, before), name="torntail-leaving", daemon=True).start()


def _end(status: int, before: Collection[threading.Thread]) -> None:
    # Daemons go on until Python has waited for all the others. It does so at its end only: the program that called
    # pytest may go on for as long as it likes.
    while not _is_waiting():
        time.sleep(_LOOK_S)
    time.sleep(GRACE_S)
    if left := _left(before):
        sys.stderr.write(f"torntail: ended though the backend left this running (FAULT-06): {_names(left)}\n")
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        for each in _children():
            # It has the output of this one, and whoever reads that would wait for it. Behind this the main thread may
            # go on with the end of Python, in which no other one may touch a stream.
            each.kill()
        end_left()
        _exit(status)


def _is_waiting() -> bool:
    """Whether the main thread is over, or waits for the others to be."""
    main = threading.main_thread()
    frame = sys._current_frames().get(main.ident or -1)
    while frame is not None:
        if frame.f_code.co_name == "_shutdown" and frame.f_globals.get("__name__") == "threading":
            return True
        frame = frame.f_back
    return not main.is_alive()


def _names(left: list[str]) -> str:
    more = f" and {len(left) - NAMED} more" if len(left) > NAMED else ""
    return ", ".join(left[:NAMED]) + more


def _left(before: Collection[threading.Thread]) -> list[str]:
    """The names of the threads and processes that Python waits for."""
    waited_for = [each for each in (*threading.enumerate(), *_children()) if not each.daemon and each not in before]
    return [each.name for each in waited_for if each is not threading.main_thread()]


def _children() -> list[Any]:
    """The processes of ``multiprocessing``, where that is in use."""
    module = sys.modules.get("multiprocessing")
    return [] if module is None else module.active_children()
