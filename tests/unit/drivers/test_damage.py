"""Damage is done to exactly the bytes that the operation names, and told as it is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from conformance.checks.script import Script, batch, event
from conformance.clauses import Violation
from conformance.contract import SessionHeader
from conformance.drivers.damage import Artifacts, headless, torn
from conformance.drivers.errors import UsageError
from conformance.drivers.execution import Execution, run_program
from conformance.drivers.hostile import EXPANDED, hostile
from conformance.drivers.inprocess import InProcessDriver
from conformance.drivers.registry import load_backend
from conformance.model.adversities import HOW_DAMAGED
from conformance.model.history import DamageView, Returned
from conformance.model.operations import Crash, Create, Damage, OpenInstance, Operation, Program
from reference_backend import jsonl, jsonl_raw
from reference_backend.memory import memory

HEAD, ONE, TWO = b"head\n", b"first batch\n", b"second\n"
WHOLE = HEAD + ONE + TWO
EDGES = ((1, len(HEAD)), (2, len(HEAD + ONE)), (4, len(WHOLE)))


class Shelf:
    """Artifacts that calls filled piece by piece."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.path = root / "s"
        self.artifacts = Artifacts(lambda root, session: root / session if (root / session).exists() else None)
        root.mkdir()
        self.meet("s")
        for call, piece in ((1, HEAD), (2, ONE), (3, b""), (4, TWO)):
            with self.path.open("ab") as file:
                file.write(piece)
            self.artifacts.note(root, call)

    def meet(self, session: str) -> None:
        """Somebody names that session."""
        self.artifacts.meet(Create(1, 1, SessionHeader(session, 0)))

    def do(self, how: str, session: str = "s", **fields: Any) -> DamageView:
        """Damage it."""
        return self.artifacts.damage(self.root, Damage(session, how, **fields))


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """One artifact of a header and two batches."""
    return Shelf(tmp_path / "root")


CASES: list[tuple[dict[str, Any], bytes, int, int]] = [
    ({"how": "cut", "start": (2, 3)}, HEAD + ONE + b"sec", 20, 24),
    ({"how": "cut", "start": (-2, 0)}, HEAD + ONE, 17, 24),
    ({"how": "nul", "start": (1, 0), "end": (2, 0)}, HEAD + bytes(12) + TWO, 5, 17),
    ({"how": "flip", "start": (1, 1), "mask": 1}, HEAD + b"fhrst batch\n" + TWO, 6, 7),
    ({"how": "flip", "start": (3, 5), "mask": 1}, WHOLE[:-1] + b"\x0b", 23, 24),
    ({"how": "insert", "start": (2, 0), "data": "secret"}, HEAD + ONE + b"secret" + TWO, 17, 20),
    ({"how": "drop", "start": (1, 0), "end": (2, 0)}, HEAD + TWO, 5, 17),
    ({"how": "repeat", "start": (1, 0), "end": (2, 0)}, HEAD + ONE + ONE + TWO, 17, 17),
    ({"how": "swap", "start": (1, 0), "end": (2, 0), "to": (3, 0)}, HEAD + TWO + ONE, 5, 24),
    ({"how": "insert", "start": (2, 0), "data": "xyz"}, HEAD + ONE + b"xyz" + TWO, 17, 17),
    ({"how": "replace", "data": b"else"}, b"else", 0, 24),
    ({"how": "bom"}, b"\xef\xbb\xbf" + WHOLE, 0, 0),
    ({"how": "crlf"}, WHOLE.replace(b"\n", b"\r\n"), 4, 23),
    ({"how": "put_back", "version": 0}, HEAD, 5, 24),
    ({"how": "put_back", "version": -2}, HEAD + ONE, 17, 24),
    ({"how": "symlink"}, WHOLE, 24, 24),
]


@pytest.mark.parametrize(("fields", "left", "low", "high"), CASES)
def test_damage_is_done_as_told(shelf: Shelf, fields: dict[str, Any], left: bytes, low: int, high: int) -> None:
    """The artifact holds what it should afterwards, and the view says which bytes were hit and where batches ended."""
    view = shelf.do(**fields)
    assert shelf.path.read_bytes() == left
    assert (view.path, view.before, view.after, view.edges) == ("s", len(WHOLE), len(left), EDGES)
    assert view.changed
    assert view.in_place
    assert view.low == low
    assert view.high == high
    assert WHOLE[: view.low] == left[: view.low]
    assert left.endswith(WHOLE[view.high :])


def test_gone_and_in_another_shape(shelf: Shelf) -> None:
    """A file that was removed, or that a directory or link replaced, has no size, or that of what it leads to."""
    shelf.do("directory")
    assert shelf.path.is_dir()
    view = shelf.do("symlink", data="elsewhere")
    assert (view.before, view.after) == (None, 9)
    assert shelf.path.is_symlink()
    assert shelf.do("unlink").after is None
    assert not shelf.path.exists()
    assert not shelf.do("flip").changed


def test_files_beside_the_artifacts_are_told_by_name(shelf: Shelf) -> None:
    """Every file under the root that is no session's artifact, with what it held after each call."""
    (shelf.root / "sub").mkdir()
    for call, text in ((5, "one"), (6, "two!")):
        (shelf.root / "sub" / "index").write_text(text)
        (shelf.root / "lock").touch()
        shelf.artifacts.note(shelf.root, call)
    assert shelf.artifacts.count_beside() == 2
    view = shelf.do("put_back", beside=1, version=0)
    assert (view.path, view.before, view.after, view.version) == ("sub/index", 4, 3, 5)
    assert (shelf.root / "sub" / "index").read_text() == "one"
    assert shelf.do("unlink", beside=0).path == "lock"
    assert not (shelf.root / "lock").exists()
    assert shelf.artifacts.count_beside() == 1
    for beside in (1, 2, -1):
        assert shelf.do("unlink", beside=beside) == DamageView()
    assert shelf.path.read_bytes() == WHOLE


def test_copy_of_another(shelf: Shelf) -> None:
    """Another session's artifact comes as another file, and that session keeps its own."""
    shelf.meet("t")
    (shelf.root / "t").write_bytes(b"other")
    shelf.artifacts.note(shelf.root, 5)
    inode = shelf.path.stat().st_ino
    shelf.do("copy", other="t")
    assert shelf.path.read_bytes() == b"other" == (shelf.root / "t").read_bytes()
    assert shelf.path.stat().st_ino != inode


@pytest.mark.parametrize("how", ["nul", "flip", "put_back"])
def test_rot_leaves_the_time_stamp(shelf: Shelf, how: str) -> None:
    """What no program wrote changes no time stamp, and a copy is put back under the one that was there."""
    os.utime(shelf.path, ns=(7, 12_345_678_901))
    inode = shelf.path.stat().st_ino
    assert shelf.do(how, start=(1, 0), version=0).changed
    assert (shelf.path.stat().st_mtime_ns, shelf.path.stat().st_ino) == (12_345_678_901, inode)


def test_rewritten_artifact_has_no_edges_of_before(shelf: Shelf) -> None:
    """Where a call wrote the artifact anew, what lay where is not known any more."""
    shelf.path.write_bytes(b"all of it, in another shape")
    shelf.artifacts.note(shelf.root, 6)
    view = shelf.do("cut", start=(0, 2))
    assert view.edges == ((6, 27),)
    assert not view.in_place


def test_no_artifact_no_damage(shelf: Shelf) -> None:
    """A session that is not stored is left alone; an unknown kind of damage is refused."""
    assert shelf.do("flip", "nobody") == DamageView()
    with pytest.raises(ValueError, match="there is no such damage"):
        shelf.do("burn")


TORN: list[tuple[bytes, bytes, str]] = [
    (b"abcdef", b"abc", "cut"),
    (b"abcdef", b"abX", ""),
    (b"abcdef", b"abc\0\0\0", "nul"),
    (b"abcdef", b"abc\0ef", ""),
    (b"abcdef", b"abcdef\0\0", "nul"),
    (b"abcdef", b"abcdefg", ""),
    (b"a" * 5000, b"a" * 100 + bytes(3996) + b"a" * 904, "nul"),
    (b"a" * 5000, b"a" * 100 + bytes(3995) + b"a" * 905, ""),
    (b"a" * 9000, bytes(4096) + b"a" * 4904, "nul"),
    (b"a" * 9000, bytes(4096) + b"a" * 4000 + b"b" + b"a" * 903, ""),
    (b"same", b"same", ""),
]


@pytest.mark.parametrize(("before", "after", "how"), TORN, ids=range(len(TORN)))
def test_what_a_crash_may_have_left(before: bytes, after: bytes, how: str) -> None:
    """A beginning of what was there, or NUL from where it differs to the page's edge or the end; else nothing known."""
    assert torn(before, after) == how


HEADLESS: list[tuple[bytes, bytes, bool]] = [
    (b"a" * 5000, bytes(4096) + b"a" * 904, True),
    (b"a" * 5000, b"a" * 5 + bytes(4500) + b"a" * 495, True),
    (b"a" * 5000, b"a" * 5 + bytes(4000) + b"a" * 995, False),
    (b"a" * 5000, b"a" * 4096 + bytes(904), False),
    (b"a" * 4000, b"a" * 5 + bytes(3995), False),
    (b"a" * 5000, b"a" * 5000, False),
]


@pytest.mark.parametrize(("before", "after", "lost"), HEADLESS, ids=range(len(HEADLESS)))
def test_first_page_is_lost_from_a_byte_on(before: bytes, after: bytes, lost: bool) -> None:
    """Only where everything to its edge reads NUL; what follows on the next page says nothing."""
    assert headless(before, after) == lost


@given(st.binary(max_size=40), st.integers(0, 40), st.integers(1, 40))
def test_every_cut_and_every_zero_behind_is_told(data: bytes, at: int, more: int) -> None:
    """Whatever the bytes are, a real cut is a cut, and zeros behind them are zeros."""
    assert torn(data, data[:at]) == ("cut" if at < len(data) else "")
    assert torn(data, data + bytes(more)) == "nul"


def test_every_kind_is_performed_and_replayed(tmp_path: Path) -> None:
    """Each kind of damage is data that a replay comes to again, with the same history."""
    operations: list[Operation] = []
    for how in HOW_DAMAGED:
        execution = Execution(jsonl_raw, tmp_path / how, damages=True)
        s = Script(execution)
        try:
            w = s.create(s.instance())
            for seq in range(3):
                s.append(w, batch(seq, 1))
                s.flush(w)
            s.close(w)
            outcome = s.damage(how, start=(2, 0), end=(2, 1), data="nested", other="nobody", version=0)
            s.read(s.open(s.instance()))
        finally:
            execution.finish()
        assert isinstance(outcome, Returned)
        operations += [each for each in execution.operations if isinstance(each, Damage)]
        result = run_program(jsonl_raw, execution.program, tmp_path / f"{how}-again")
        assert [str(each).replace(f"{how}-again", how) for each in result.history] == list(map(str, execution.history))
    assert [each.how for each in operations if isinstance(each, Damage)] == list(HOW_DAMAGED)


def test_damage_is_judged(tmp_path: Path) -> None:
    """A backend that hides damage breaks a clause, in the very program that damages it."""
    execution = Execution(load_backend("tests/mutants/fmt.py:skips_bad_line", ROOT), tmp_path / "r", damages=True)
    s = Script(execution)
    w = s.create(s.instance())
    s.flush(w)
    for seq in range(3):
        s.append(w, [event(seq)])
        s.flush(w)
    s.damage("drop", start=(2, 0), end=(3, 0))
    with pytest.raises(Violation, match="FMT-04"):
        s.read(s.open(s.instance()))
    execution.finish()


ROOT = Path(__file__).resolve().parents[3]


def test_not_everything_goes_together(tmp_path: Path) -> None:
    """Damage needs artifacts that are told of, watched from the first call on, and no crash in the same program."""
    with pytest.raises(UsageError, match="location"):
        InProcessDriver(memory, tmp_path / "a", damages=True)
    with pytest.raises(UsageError, match="crashes or damages"):
        run_program(jsonl, Program((OpenInstance(1), Crash("kill"), Damage("s", "flip"))), tmp_path / "b")
    driver = InProcessDriver(jsonl, tmp_path / "c")
    with pytest.raises(UsageError, match="watched from the first call on"):
        driver.perform(Damage("s", "flip"))
    driver.finish()


def test_hostile_bytes_look_like_the_artifact() -> None:
    """A bomb for Zstandard declares what it expands to and is small; the others are text, packed as the artifact is."""
    bomb = hostile("bomb", b"\x28\xb5\x2f\xfdrest")
    assert zstandard.frame_content_size(bomb) == EXPANDED
    assert len(bomb) < EXPANDED // 1000
    assert hostile("nested", b"{}").startswith(b'{"type"')
    assert hostile("endless", b"\x28\xb5\x2f\xfd").startswith(b"\x28\xb5\x2f\xfd")
    assert hostile("endless", b"\x1f\x8b").startswith(b"\x1f\x8b")
    assert len(hostile("bomb", b"\x1f\x8b")) < EXPANDED // 500
    with pytest.raises(ValueError, match="expected 'bomb'"):
        hostile("loud", b"")
