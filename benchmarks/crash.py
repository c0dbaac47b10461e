"""The crash laboratory's rate: how many crash states of `jsonl` one core opens and judges in a second.

The states are real ones: workloads are recorded, and every distinct state that a power loss may leave of them is taken.
Each is then written out, opened through the public API and removed again, by the minimum check and by every look of
`disk_model.md` section 5. A whole sweep gives the rate of states judged, repeated images included. Against them stands
what is done without a laboratory: a writer in a process of its own, killed after its n-th append, and a fresh process
that verifies; both import nothing but the backend.
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Hashable, Iterator
from pathlib import Path
from time import perf_counter, thread_time

from conformance.contract import Backend
from conformance.drivers.crashes import Frozen
from conformance.drivers.images import Stage
from conformance.drivers.probe import Prober
from conformance.drivers.registry import load_backend
from conformance.drivers.workspace import Workspace
from conformance.machines.job import Job
from conformance.machines.points import points, record
from conformance.machines.sweep import CrashSweep, Tier
from conformance.machines.workloads import workloads
from conformance.sim.disk import Patching
from conformance.sim.disk.states import Disk, State

ROUNDS = 5

WRITER = """
import asyncio, sys
from pathlib import Path
from conformance.contract import SessionHeader
from reference_backend import jsonl

async def main():
    service = jsonl.open(Path(sys.argv[1]))
    handle = await service.create(SessionHeader("s", 1000))
    for seq in range(int(sys.argv[2])):
        await handle.append([{"type": "user/message", "seq": seq, "time": seq, "data": {"text": "x" * 40}}])
        await handle.flush()
    print("ready", flush=True)
    sys.stdin.read()

asyncio.run(main())
"""

VERIFIER = """
import asyncio, sys
from pathlib import Path
from reference_backend import jsonl

async def main():
    service = jsonl.open(Path(sys.argv[1]))
    handle = await service.open("s", "write")
    log = await handle.read()
    assert len(log) == int(sys.argv[2])
    await handle.append([{"type": "user/message", "seq": len(log), "time": 1, "data": {}}])
    await service.close()
    again = await (await jsonl.open(Path(sys.argv[1])).open("s", "read")).read()
    assert len(again) == len(log) + 1

asyncio.run(main())
"""


def job_for(backend: Backend, workspace: Workspace) -> Job:
    """A job without a partner, a journal and a watchdog."""
    return Job(backend, None, workspace, None, None, "benchmark", 0, 0)


def distinct_states(job: Job, preset: str, most: int) -> list[tuple[State, tuple[str, ...], Frozen]]:
    """That many distinct states of short workloads, with the sessions to look for in them."""
    found: dict[Hashable, tuple[State, tuple[str, ...], Frozen]] = {}
    for workload in workloads(4):
        execution = job.begin(crashes=True)
        try:
            recorded = record(execution, workload.operations, len(workload.operations) - workload.new)
        finally:
            job.end(execution)
        for point, disk in points(recorded, Disk(recorded.frozen.trace.base, preset), cuts=False):
            sessions = tuple(each.session for each in point.promises)
            for state in disk.states().states:
                if sessions:
                    found.setdefault(state.key, (state, sessions, recorded.frozen))
        if len(found) >= most:
            break
    return list(found.values())[:most]


def opened(
    backend: Backend, states: list[tuple[State, tuple[str, ...], Frozen]], root: Path, *, all_looks: bool
) -> float:
    """Seconds of processor time for each state: written out, opened, removed."""
    stage = Stage(Prober(backend, thorough=all_looks), root)
    begin = thread_time()
    for state, sessions, frozen in states:
        seen = stage.look(state.tree, frozen.attributes_at(state.tree), sessions)
        if seen.failed is not None:
            raise RuntimeError(f"the reference fails in a legal state: {seen.failed}")
    return (thread_time() - begin) / len(states)


def swept(backend: Backend, preset: str, calls: int) -> tuple[float, int, int, str]:
    """Processor seconds of a whole sweep, states judged, images opened, and its coverage line."""
    with Workspace() as workspace:
        job = job_for(backend, workspace)
        sweep = CrashSweep(job, preset, Tier(calls=calls, second_lives=2))
        begin = thread_time()
        sweep.run()
        seconds = thread_time() - begin
    if job.findings:
        raise RuntimeError(f"the reference is at fault: {job.findings}")
    return seconds, sweep.laboratory.tally.judged, sweep.laboratory.tally.opened, job.coverage


def killed(root: Path, appends: int) -> Iterator[float]:
    """Seconds of a writer up to its kill, and of the process that verifies what it left."""
    begin = perf_counter()
    command = [sys.executable, "-c", WRITER, str(root), str(appends)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        if writer.stdout is None or not writer.stdout.readline():
            raise RuntimeError("the writer did not come up")
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
    yield perf_counter() - begin
    begin = perf_counter()
    subprocess.run([sys.executable, "-c", VERIFIER, str(root), str(appends)], check=True)
    yield perf_counter() - begin


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--backend", default="jsonl")
    parser.add_argument("--preset", default="posix")
    parser.add_argument("--states", type=int, default=400, help="distinct states to open")
    parser.add_argument("--calls", type=int, default=3, help="bound of the sweep")
    chosen = parser.parse_args()
    with Patching():
        backend = load_backend(chosen.backend)
        with Workspace() as workspace:
            states = distinct_states(job_for(backend, workspace), chosen.preset, chosen.states)
    print(f"{backend.name}, {len(states)} distinct {chosen.preset} states, processor time, best of {ROUNDS} rounds")
    rates = {}
    for name, all_looks in (("minimum check", False), ("all looks", True)):
        rounds = []
        for _ in range(ROUNDS):
            with Workspace() as workspace:
                rounds.append(opened(backend, states, workspace.directory, all_looks=all_looks))
        best, median = min(rounds), statistics.median(rounds)
        rates[name] = 1 / best
        print(f"{name:<16} {best * 1e6:>8.0f} us a state (median {median * 1e6:.0f})  {1 / best:>8,.0f} opened/s")
    with Patching():
        seconds, judged, images, line = swept(backend, chosen.preset, chosen.calls)
    print(
        f"sweep            {judged / seconds:>8,.0f} judged/s, {images / seconds:,.0f} opened/s, recording included,"
        f" {seconds:.2f} s in all"
    )
    print(f"                 {line}")
    both = []
    for number, appends in enumerate(itertools.islice(itertools.cycle((1, 3, 5)), ROUNDS)):
        with tempfile.TemporaryDirectory() as directory:
            both.append(tuple(killed(Path(directory) / f"r{number}", appends)))
    writer, verifier = (min(each) for each in zip(*both, strict=True))
    restart = 1 / (writer + verifier)
    print(f"killed writer {writer * 1e3:.0f} ms + fresh verifier {verifier * 1e3:.0f} ms: {restart:.1f} states/s")
    for name, rate in rates.items():
        print(f"ratio            {rate / restart:>8,.0f} x kill and restart ({name})")


if __name__ == "__main__":
    main()
