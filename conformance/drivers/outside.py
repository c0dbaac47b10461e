"""Whether the recorder in the process misses something: one program, recorded there and by ``strace``, both at once.

A barrier that the recorder does not see leaves every image right, and turns a right backend red. So one session is
stored, opened again and continued in a process of its own, with both recorders on, and the two lists of disk operations
have to agree, syncs included. Where they do not, no crash of that backend can be judged, and the first difference says
why. Where the comparison cannot be made (no ``strace`` here, or it may not trace) nothing is known, and reports say so.

Does not: see what goes through memory mappings or io_uring; where one is set up that is a difference too.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile, zip_longest
from pathlib import Path

from conformance.drivers.calibration import store_and_continue
from conformance.drivers.inprocess import InProcessDriver
from conformance.drivers.premises import Premises
from conformance.drivers.registry import is_held, load_backend
from conformance.drivers.watchdog import Watchdog
from conformance.drivers.workspace import Workspace
from conformance.sim.disk import Patching, real
from conformance.sim.disk.fates import texts
from conformance.sim.disk.strace import Replay
from conformance.sim.disk.strace_lines import command, hexed
from conformance.sim.disk.trace import Trace

LONGEST = 60.0
"""Wall seconds after which the program is given up."""

UNSEEN = "a barrier may be unseen"

_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from conformance.drivers.outside import child; child()"
)
_SYNCS = ("fsync", "fdatasync", "sync ")


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of comparing the two recorders.

    Attributes:
        difference: where they do not agree, as a phrase; "" where they agree, or were not compared.
        gap: why they were not compared, as a phrase; "" where they were.
        operations: how many they agree on; syncs: how many of these are syncs.
    """

    difference: str = ""
    gap: str = ""
    operations: int = 0
    syncs: int = 0

    @property
    def agrees(self) -> bool:
        """Whether the recorder in the process saw all that ``strace`` saw, and nothing else."""
        return not self.difference and not self.gap

    @property
    def reason(self) -> str:
        """Why crashes of that backend are not measured; "" where the comparison says nothing against it."""
        return f"{UNSEEN}: {self.difference}" if self.difference else ""


def compare(spec: str, base: Path, home: Path) -> Comparison:
    """Record one program of the backend both ways.

    Args:
        spec, base: as for ``load_backend``, by which the other process finds the backend.
        home: the working directory in which that process begins.
    """
    if shutil.which("strace") is None:
        return Comparison(gap="strace is not there")
    if is_held(spec):
        return Comparison(gap="the backend was given as an object, which no other process can load")
    with Workspace() as workspace:
        place = workspace.fresh_root()
        premises = Premises(place)
        premises.prepare()
        replay = Replay(premises.root, str(home))
        lines, told, end = (workspace.directory / name for name in ("lines", "told", "end"))
        given = {"spec": spec, "base": str(base), "place": str(place), "told": str(told), "end": str(end)}
        # What -O takes out of a backend here is to be missing there too.
        same = ["-O"] * sys.flags.optimize
        program = [sys.executable, *same, "-c", _BOOT, json.dumps(sys.path), json.dumps(given)]
        failed = _run(command(program, str(lines)), home)
        if not told.exists():
            return Comparison(gap=f"the program did not run under strace ({failed or 'it said nothing'})")
        mark = hexed(str(end))
        with lines.open(encoding="ascii", errors="replace") as stream:
            replay.feed(takewhile(lambda line: mark not in line, stream))
        answer = json.loads(told.read_text("utf-8"))
    found = (*replay.reasons, *answer["doubts"])
    outside = _told(replay.trace())
    return Comparison(
        "; ".join(found) or difference(outside, answer["operations"]),
        operations=len(outside),
        syncs=sum(each.startswith(_SYNCS) for each in outside),
    )


def _run(arguments: Sequence[str], home: Path) -> str:
    """Run the program to its end; the last line that it complained with, or why it was ended."""
    # In a session of its own, for whatever strace has started has to end with it.
    with subprocess.Popen(
        arguments,
        cwd=home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            _, said = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return f"nothing within {LONGEST:g} s"
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


def difference(outside: Sequence[str], inside: Sequence[str]) -> str:
    """The first operation in which the lists differ, as a phrase; "" where they are equal.

    Args:
        outside: what ``strace`` saw, in words. inside: what the recorder in the process saw.
    """
    for number, (theirs, ours) in enumerate(zip_longest(outside, inside, fillvalue=""), 1):
        if theirs != ours:
            return (
                f"the {number}. disk operation is {_quoted(theirs)} as strace saw it, and {_quoted(ours)} as the"
                " recorder in the process did"
            )
    return ""


def _quoted(text: str) -> str:
    return f'"{text}"' if text else "none"


def child() -> None:
    """The program itself, in the process that ``strace`` watches: what the recorder saw is written down as JSON."""
    given = json.loads(sys.argv[2])
    with Patching(), Watchdog() as watchdog:
        driver = InProcessDriver(
            load_backend(given["spec"], Path(given["base"])), Path(given["place"]), watchdog=watchdog, crashes=True
        )
        try:
            store_and_continue(driver)
            recorder = driver.recorder
            if recorder is None:
                raise RuntimeError("nothing is recorded, and there is nothing to compare")
            with recorder.still():
                # What is done from here on is nobody's business: the lines of strace are read up to this name.
                real.mkdir(given["end"])
                answer = {"operations": _told(recorder.trace()), "doubts": recorder.doubts()}
        finally:
            driver.finish()
        Path(given["told"]).write_text(json.dumps(answer), "utf-8")


def _told(trace: Trace) -> list[str]:
    """The operations in words, with the names that things had at that moment; no markers."""
    return [text for text in texts(trace) if text]
