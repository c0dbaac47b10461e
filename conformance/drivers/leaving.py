"""The end of a process in which a backend left something running that nobody will ever end.

Python waits at its end for every thread that is no daemon, and for the processes of ``multiprocessing``. What a backend
forgot (FAULT-06) would keep a run for ever whose report is long printed, and with it whoever waits for its exit code.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Collection
from typing import Any

GRACE_S = 5.0
"""Wall seconds that threads and processes are given once Python waits for nothing else."""


NAMED = 5
"""How many are told by name."""


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
    # The main thread is over where Python begins to wait for the others; daemons go on until it has.
    threading.main_thread().join()
    time.sleep(GRACE_S)
    if left := _left(before):
        sys.stderr.write(f"torntail: ended though the backend left this running (FAULT-06): {_names(left)}\n")
        for each in _children():
            # It has the output of this one, and whoever reads that would wait for it.
            each.kill()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(status)


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
