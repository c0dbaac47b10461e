"""A process that has loaded pytest and the kit, and runs pytest in a fork of itself for each line it is given.

Most of a short pytest run is loading modules. A run in a fork finds them loaded, and is otherwise one in a process of
its own: with its own directory, environment, output and exit status. What a run without the kit loads, what Hypothesis
makes of the environment, or what a user's module does to the kit's names, cannot be seen here; such runs are started in
the ordinary way.

The request is a line of JSON with ``args``, ``cwd``, ``environment`` (all of it) and ``out``, a file for both outputs;
the answer is a line with the exit status. Used by ``conftest``. Neither the stand-in nor the plugin is imported before
the fork, nor anything that would load the runner, in whose place the stand-in puts itself.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import sys
from typing import Any

import pytest

LOADED = ("conformance.clauses", "conformance.drivers.registry", "conformance.planning", "conformance.report.summary")
"""What takes long to load, and is the same in every run."""

LONGEST = 120
"""Seconds that a run may take."""


def run(request: dict[str, Any]) -> int:
    """What the fork does; returns the exit status."""
    signal.alarm(LONGEST)
    output = os.open(request["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for number, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, output), (2, output)):
        os.dup2(source, number)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["pytest", *request["args"]]
    status = int(pytest.main(request["args"]))
    sys.stdout.flush()
    return status


def serve() -> None:
    """Answer requests until there are no more."""
    for name in LOADED:
        importlib.import_module(name)
    # A fork does not look through what it was given: neither a collection nor the patching of the recorder.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            status = 70
            try:
                status = run(json.loads(line))
            finally:
                # Nothing of the process that was forked may be ended twice.
                os._exit(status)
        _, ended = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(ended), flush=True)


if __name__ == "__main__":
    serve()
