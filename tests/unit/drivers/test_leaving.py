"""A process ends with its exit code whatever a backend left running."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import multiprocessing, sys, threading
from conformance.drivers import leaving

{before}
before = leaving.running()
{left}
leaving.GRACE_S = 0.05
leaving.leave_in_time(3, before)
print("told")
sys.exit(3)
"""
WORKER = (
    "import concurrent.futures; pool = concurrent.futures.ThreadPoolExecutor(1, 'worker');"
    "pool.submit(threading.Event().wait)"
)
THREAD = "threading.Thread(target=threading.Event().wait, name='forgotten').start()"
DAEMON = "threading.Thread(target=threading.Event().wait, daemon=True).start()"
CHILD = "multiprocessing.get_context('fork').Process(target=threading.Event().wait, name='child').start()"


def end(left: str, before: str = "") -> tuple[int, str, str]:
    """Exit code and output of a process in which this was left running."""
    program = PROGRAM.format(left=left, before=before)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("left", "name"),
    [(THREAD, "forgotten"), (CHILD, "child"), (WORKER, "worker_0")],
    ids=["thread", "process", "executor"],
)
def test_what_python_would_wait_for_is_left(left: str, name: str) -> None:
    """The exit code and what was printed are those of the run, and what was left is named."""
    code, out, err = end(left)
    assert (code, out) == (3, "told\n")
    assert f"(FAULT-06): {name}" in err


@pytest.mark.parametrize("left", ["", DAEMON], ids=["nothing", "daemon"])
def test_what_ends_by_itself_is_not_spoken_of(left: str) -> None:
    """A thread that is a daemon ends with the process."""
    assert end(left) == (3, "told\n", "")


def test_what_ran_before_is_waited_for() -> None:
    """A thread of whoever runs the kit is waited for as ever, however long it takes."""
    waits = "threading.Thread(target=lambda: (threading.Event().wait(0.3), print('done'))).start()"
    assert end("", before=waits) == (3, "told\ndone\n", "")


@pytest.mark.parametrize(("code", "wanted"), [(0, 4), (7, 7)])
def test_an_end_by_the_backend_is_no_verdict(code: int, wanted: int) -> None:
    """``os._exit`` says that it was called, and 0 becomes the exit code of a run without a verdict."""
    found, out, err = end(f"leaving.tell_exits(); import os; os._exit({code})")
    assert (found, out) == (wanted, "")
    assert f"os._exit({code})" in err


def test_a_copy_of_the_process_ends_as_it_likes() -> None:
    """What a child that was forked ends with is its own business."""
    code = "leaving.tell_exits(); import os\nif os.fork() == 0: os._exit(0)\nos.wait()"
    assert end(code) == (3, "told\n", "")


def test_a_signal_to_end_interrupts() -> None:
    """It comes as an interrupt from the keyboard does, so that everything is put away."""
    code = (
        "import os, signal\nleaving.interrupt_by('SIGTERM', 'SIGNONE')\n"
        "try: os.kill(os.getpid(), signal.SIGTERM); threading.Event().wait(5)\n"
        "except KeyboardInterrupt: print('interrupted')"
    )
    assert end(code) == (3, "interrupted\ntold\n", "")


INTERRUPTED = """
import os, signal
# A shell has what it runs in the background ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
leaving.interrupt_by('SIGINT')
for count in range({count}):
    try:
        signal.raise_signal(signal.SIGINT)
        threading.Event().wait(5)
    except KeyboardInterrupt:
        print('interrupted')
try:
    leaving.heed_interrupts()
except KeyboardInterrupt:
    print('heeded')
"""


def test_an_interrupt_that_was_swallowed_is_heeded_later() -> None:
    """Python swallows it in callbacks of weak references, and a backend may do so anywhere."""
    assert end(INTERRUPTED.format(count=1)) == (3, "interrupted\nheeded\ntold\n", "")
    assert end(INTERRUPTED.format(count=0)) == (3, "told\n", "")


def test_the_third_interrupt_ends_the_process() -> None:
    """Whatever became of the two before it, and without a verdict."""
    code, _, err = end(INTERRUPTED.format(count=3))
    assert (code, err) == (130, "torntail: ended at the third interrupt; there is no verdict\n")
