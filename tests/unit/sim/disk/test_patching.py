"""The patched functions come and go without a trace, and reach whoever captured a real one earlier."""

from __future__ import annotations

import builtins
import functools
import gc
import inspect
import io
import logging
import mmap
import os
import posix
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.sim.disk import Patching, Recorder, RecorderError, real
from conformance.sim.disk import patching as patching_module
from conformance.sim.disk.routes_descriptors import DescriptorRoutes
from conformance.sim.disk.routes_names import NameRoutes

SAID = [name for name in dir(os) if name.startswith("supports_") and isinstance(getattr(os, name), set)]


def everything() -> dict[str, Any]:
    """The namespaces and sets that patching touches."""
    names = {module.__name__: dict(vars(module)) for module in (os, posix, io, builtins, mmap)}
    return names | {name: set(getattr(os, name)) for name in SAID}


@pytest.fixture
def untouched() -> Iterator[None]:
    """Whatever the test does, the patched names are as they were afterwards."""
    before = everything()
    yield
    assert everything() == before
    for space in (os, posix, io, builtins):
        for name, value in vars(space).items():
            assert value is before[space.__name__][name]


def capture(source: str) -> types.ModuleType:
    """A module that captured real functions before any recording."""
    module = types.ModuleType("captured_early")
    sys.modules[module.__name__] = module
    exec(source, vars(module))
    return module


@pytest.fixture
def forget() -> Iterator[None]:
    """Take the captured module away again."""
    yield
    module = sys.modules.pop("captured_early", None)
    if module is not None:
        # Some versions of Python keep what was executed for longer than the module.
        vars(module).clear()
    gc.collect()


def test_nothing_is_left_behind(untouched: None, root: Path) -> None:
    """After a recorder, and after one that ended by an exception, all names are what they were."""
    with Recorder(root):
        assert isinstance(os.write, types.MethodType)
        (root / "f").write_bytes(b"x")
    with pytest.raises(KeyError), Recorder(root):
        raise KeyError
    with Patching(), Patching(), Recorder(root):
        pass


def test_patching_that_breaks_off_is_undone(untouched: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interruption in the middle of the patching leaves all names as they were."""

    def interrupted() -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(patching_module, "_subclasses", interrupted)
    with pytest.raises(KeyboardInterrupt), Patching():
        pass


def test_who_holds_a_real_function_is_told_though_it_is_frozen(forget: None, root: Path) -> None:
    """The collector does not tell of frozen objects: they are given back to it while holders are looked for."""
    capture("import os, functools\nsync = functools.partial(os.fsync)")
    gc.freeze()
    try:
        with Recorder(root) as recorder:
            assert gc.get_freeze_count()
    finally:
        gc.unfreeze()
    assert recorder.unseen_holders == ("captured_early.sync: a functools.partial that holds os.fsync",)


def test_a_frozen_heap_is_patched_too(untouched: None, forget: None, root: Path) -> None:
    """Modules are found though the collector was told to forget them."""
    module = capture("from os import write")
    gc.freeze()
    try:
        with Recorder(root) as recorder, open(root / "f", "wb", buffering=0) as stream:
            module.write(stream.fileno(), b"seen")
    finally:
        gc.unfreeze()
    assert recorder.total().bytes_written == 4


def test_a_recorder_that_cannot_start_leaves_nothing_behind(untouched: None) -> None:
    """A root that cannot be recorded is refused before anything is patched for good."""
    with pytest.raises(ValueError, match="cannot be recorded"), Recorder("/"):
        pass


def test_a_recorder_left_twice_takes_nothing_from_others(untouched: None, root: Path) -> None:
    """Leaving a recorder a second time ends neither a patching around it nor the recording of another one."""
    with Patching():
        first = Recorder(root)
        with first:
            (root / "b").write_bytes(b"")
        with Recorder(root) as second:
            first.__exit__()
            (root / "a").write_bytes(b"1")
        assert os.write is not real.write
        assert second.check_image() == ""
        assert second.image().files
    assert os.write is real.write


def test_one_recorder_at_a_time(untouched: None, root: Path, tmp_path: Path) -> None:
    """A second recorder, and a second use of one, are refused, and harm nothing."""
    with Recorder(root) as recorder:
        with pytest.raises(RecorderError, match="one recorder at a time"), Recorder(tmp_path / "other"):
            pass
        with pytest.raises(RecorderError, match="one recorder at a time"):
            recorder.__enter__()
        (root / "f").write_bytes(b"x")
        assert recorder.total().writes == 1
    with pytest.raises(RecorderError, match="has been used"):
        recorder.__enter__()
    with pytest.raises(RecorderError, match="not entered"):
        Recorder(root).total()


def test_counting_keeps_no_operations(root: Path) -> None:
    """Without `record` there are counts, and asking for operations says how to get them."""
    with Recorder(root, record=False) as recorder:
        (root / "f").write_bytes(b"x")
    assert recorder.total().bytes_written == 1
    assert recorder.doubts() == ()
    with pytest.raises(RecorderError, match="record=True"):
        recorder.image()


CAPTURED: dict[str, str] = {
    "module name": "from os import write as put",
    "builtin": "from posix import write as put",
    "default argument": "from os import write\ndef put(fd, data, write=write): return write(fd, data)",
    "keyword default": "from os import write\ndef put(fd, data, *, write=write): return write(fd, data)",
    "class attribute": "import os\nclass Writer:\n    write = os.write\nput = Writer().write",
    "instance attribute": (
        "import os\nclass Writer:\n    def __init__(self): self.write = os.write\n"
        "writer = Writer()\ndef put(fd, data): return writer.write(fd, data)"
    ),
    "static method": (
        "import os\nclass Writer:\n    write = staticmethod(os.write)\n"
        "def put(fd, data): return Writer().write(fd, data)"
    ),
    "dictionary": "import os\nways = {'write': os.write}\ndef put(fd, data): return ways['write'](fd, data)",
    "closure": "import os\ndef make(write):\n    return lambda fd, data: write(fd, data)\nput = make(os.write)",
}


@pytest.mark.parametrize("way", CAPTURED)
def test_what_was_captured_earlier_is_seen(untouched: None, forget: None, root: Path, way: str) -> None:
    """A function captured before the recording records, and is the real one again afterwards."""
    if way == "class attribute":
        # The attribute is looked up on each call: a bound one would be a partial in all but name.
        source = "import os\nclass Writer:\n    write = os.write\ndef put(fd, data): return Writer().write(fd, data)"
    else:
        source = CAPTURED[way]
    module = capture(source)
    with Recorder(root) as recorder:
        fd = os.open(root / "f", os.O_WRONLY | os.O_CREAT)
        assert module.put(fd, b"seen") == 4
        os.close(fd)
        assert recorder.total().bytes_written == 4
        assert not [holder for holder in recorder.unseen_holders if "os.write" in holder]
    assert recorder.check_image() == ""
    again = capture(source)
    assert _held(module) == _held(again)


def _held(module: types.ModuleType) -> object:
    """What the captured module holds for `os.write`, by any of the ways."""
    put = module.put
    if isinstance(put, types.FunctionType):
        cells = [cell.cell_contents for cell in put.__closure__ or ()]
        writers = vars(module).get("ways", {}), vars(vars(module).get("writer", types.SimpleNamespace()))
        kinds = getattr(module, "Writer", None)
        held = _unwrapped(vars(kinds).get("write")) if kinds else None
        return put.__defaults__, put.__kwdefaults__, cells, writers, held
    return put


def _unwrapped(method: object) -> object:
    return method.__func__ if isinstance(method, staticmethod) else method


@pytest.mark.parametrize(
    "source",
    [
        "import os, functools\nput = functools.partial(os.write)",
        "import os\nput = (os.write,)[0].__call__",
        "import os, functools\nput = functools.lru_cache(os.write)",
        "import os\nways = [os.write]\nput = lambda fd, data: ways[0](fd, data)",
    ],
    ids=["partial", "method wrapper", "cache", "list"],
)
def test_what_cannot_be_changed_is_named(untouched: None, forget: None, root: Path, source: str) -> None:
    """Whoever still holds a real function is listed by the function it holds, and doubted."""
    module = capture(source)
    with Recorder(root) as recorder:
        fd = os.open(root / "f", os.O_WRONLY | os.O_CREAT)
        module.put(fd, b"unseen")
        os.close(fd)
    assert recorder.total().bytes_written == 0
    assert [holder for holder in recorder.unseen_holders if "os.write" in holder]
    assert any("a barrier may be unseen" in doubt for doubt in recorder.doubts())
    assert "'f': 0 bytes are recorded, 6 are on the disk" in recorder.check_image()


def test_a_partial_is_listed_with_its_place(forget: None, root: Path) -> None:
    """The message names the module and the name that hold the partial."""
    capture("import os, functools\nsync = functools.partial(os.fsync)")
    with Recorder(root) as recorder:
        pass
    assert recorder.unseen_holders == ("captured_early.sync: a functools.partial that holds os.fsync",)


def test_a_subclass_from_before_is_listed() -> None:
    """A raw file class made before the recording does its own input and output in C."""
    code = (
        "import io\nfrom conformance.sim.disk import Patching\n"
        "class Raw(io.FileIO): pass\n"
        "with Patching() as patching: print(*patching.unseen_holders, sep='\\n')"
    )
    # In a process of its own, because some versions of Python never let go of such a class.
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("class __main__.Raw: a subclass of _io.FileIO\n", "")


def test_what_is_captured_while_recording_is_given_back(untouched: None, forget: None, root: Path) -> None:
    """A module imported during a recording holds the real functions afterwards; what cannot be changed passes on."""
    with Recorder(root):
        module = capture("import os, functools\nfrom os import write\nsync = functools.partial(os.fsync)")
        assert module.write is os.write
    assert module.write is os.write
    fd = os.open(root / "f", os.O_WRONLY | os.O_CREAT)
    module.sync(fd)
    os.close(fd)


SEARCHES = """
import os
from logging import FileHandler
from conformance.sim.disk import Patching, patching, real

def captured(fd, data, *, opens=open, write=os.write): return write(fd, data)
handler, table, keeper = FileHandler(os.devnull, delay=True), {"opener": os.open}, lambda way=os.fsync: way
searches, whole = [], patching._swap

def counted(old, *others):
    searches.append("in" if real.write in old else "out")
    return whole(old, *others)

patching._swap = counted
with Patching():
    assert table["opener"] is os.open is not real.open
kept = []
with Patching(): kept.append(os.write)
with Patching(): pass
kept.clear()
with Patching():
    passing = os.write
    del passing
assert os.write is real.write and table["opener"] is real.open and keeper() is real.fsync
print(*searches)
"""


def test_nobody_is_looked_for_where_nothing_was_captured() -> None:
    """Leaving looks through the process exactly where a reference to a patched function came and stayed."""
    done = subprocess.run([sys.executable, "-c", SEARCHES], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("in in out in out in\n", "")


def test_a_class_attribute_made_while_recording_is_not_bound(forget: None, root: Path) -> None:
    """A patched function kept as a class attribute is not given `self`, as the real one is not."""
    with Recorder(root) as recorder:
        module = capture("import os\nclass Store:\n    write, opener = os.write, open")
        with module.Store().opener(root / "f", "wb", buffering=0) as stream:
            module.Store().write(stream.fileno(), b"x")
    assert recorder.total().bytes_written == 1


def test_the_usual_process_has_no_unseen_holder(root: Path) -> None:
    """The standard library and the kit's own dependencies, imported, give no doubt by themselves."""
    code = (
        "import asyncio, concurrent.futures, logging.handlers, multiprocessing.connection, shutil, sqlite3, tarfile\n"
        "import tempfile, zipfile, hypothesis, orjson, zstandard\n"
        "from conformance.sim.disk import Patching\n"
        "with Patching() as patching: print(patching.unseen_holders)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("()", "")


def test_the_real_types_are_still_recognised(root: Path) -> None:
    """`isinstance` and `issubclass` hold for the real classes while their names are patched."""
    real = io.FileIO
    with open(root / "f", "wb") as before, Recorder(root):
        assert isinstance(before.raw, io.FileIO)
        assert issubclass(real, io.FileIO)
        assert not isinstance(before, io.FileIO)
        with io.FileIO(os.devnull) as outside:
            assert type(outside) is real
        with io.FileIO(root / "g", "w") as inside:
            assert isinstance(inside, real)


def test_what_os_says_of_its_functions_holds_for_the_twins(root: Path) -> None:
    """`os.open in os.supports_dir_fd` and its like are asked at run time."""
    before = {name: {one.__name__ for one in getattr(os, name)} for name in SAID}
    with Patching():
        assert os.open in os.supports_dir_fd
        assert os.stat in os.supports_follow_symlinks
        assert os.scandir in os.supports_fd
        for name, functions in before.items():
            assert {one.__name__ for one in getattr(os, name)} == functions


def test_logging_and_output_go_on(recorder: Recorder, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Captured output and log files outside the root work while a recorder is entered."""
    print("printed")
    logging.getLogger("torntail.test").warning("logged")
    assert capsys.readouterr().out == "printed\n"
    assert list(recorder.ops) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_a_forked_child_records_nothing(root: Path) -> None:
    """The child passes everything on; the parent's image check finds what it wrote."""
    code = (
        "import os, sys\nfrom conformance.sim.disk import Recorder\n"
        "with Recorder(sys.argv[1]) as recorder:\n"
        "    if not (child := os.fork()):\n"
        "        open(sys.argv[1] + '/f', 'wb').close()\n"
        "        os._exit(len(recorder.ops))\n"
        "    print(os.waitpid(child, 0)[1], len(recorder.ops), recorder.check_image())"
    )
    done = subprocess.run([sys.executable, "-c", code, str(root)], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("0 0 'f': a file is on the disk and none recorded")


def test_wrapped_functions_keep_their_names() -> None:
    """Reports and decorators that read a function's name find the one they know."""
    plain = {name: getattr(os, name).__name__ for name in ("open", "write", "stat", "fsync")}
    with Patching():
        assert {name: getattr(os, name).__name__ for name in plain} == plain
        wrapped: Callable[..., Any] = functools.wraps(os.write)(lambda *args: None)
        assert wrapped.__name__ == "write"


def test_the_twins_take_the_arguments_of_the_real_functions() -> None:
    """Names, order, kinds and presence of defaults are those of the real functions, where Python tells them."""
    names = [*DescriptorRoutes.NAMES, *NameRoutes.NAMES]
    plain = {name: _parameters(getattr(os, name)) for name in names}
    with Patching():
        assert {name: _parameters(getattr(os, name)) for name in names if name != "sendfile"} == {
            name: parameters for name, parameters in plain.items() if name != "sendfile"
        }
        with open(os.devnull) as stream:
            assert os.fstat(fd=stream.fileno()) == os.stat(path=stream.fileno())


def _parameters(function: Callable[..., Any]) -> list[tuple[str, object, bool]]:
    parameters = inspect.signature(function).parameters.values()
    return [(one.name, one.kind, one.default is inspect.Parameter.empty) for one in parameters]
