"""The registry finds what the user meant, and where it cannot it says what there is."""

from __future__ import annotations

import asyncio
import sys
import textwrap
import tomllib
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from conformance.contract import Backend, SessionHeader
from conformance.drivers import registry
from conformance.drivers.errors import SetupError, UsageError
from conformance.drivers.registry import hold_backend, known_backends, load_backend, open_backend, partner_for

REPOSITORY = Path(__file__).parents[3]


def write(directory: Path, name: str, source: str) -> Path:
    """A Python file in ``directory``."""
    path = directory / name
    path.write_text(textwrap.dedent(source), encoding="utf-8")
    return path


MINE = """
    from conformance import Backend
    runs = []
    runs.append(1)
    gap_accepted = Backend(name="gap_accepted", open=lambda root: None)
    def made():
        return Backend(name="made", open=lambda root: None)
    def greedy(word):
        return gap_accepted
    def broken():
        raise OSError("no such device")
    number = 7
    bad_name = Backend(name="two words", open=lambda root: None)
    no_factory = Backend(name="x", open=None)
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A file with a few backends and a few things that are none."""
    return write(tmp_path, "mine.py", MINE)


def test_the_table_of_built_ins_is_what_the_project_file_registers() -> None:
    """The fallback table and the entry points agree, name by name."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["entry-points"][registry.GROUP] == registry.BUILT_IN


def test_built_ins_are_known_without_any_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stale or absent metadata hides no built-in backend."""
    monkeypatch.setattr(registry, "entry_points", lambda *, group: EntryPoints(()))
    assert known_backends() == registry.BUILT_IN
    assert load_backend("memory").name == "memory"


def registered(*pairs: tuple[str, str]) -> EntryPoints:
    """Entry points as if distributions had registered these names."""
    return EntryPoints(EntryPoint(name, value, registry.GROUP) for name, value in pairs)


def test_a_registered_name_is_found(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name from another distribution's entry point leads to its Backend."""
    monkeypatch.syspath_prepend(mine.parent)
    points = registered(("other", "mine:gap_accepted"), ("jsonl", "mine:gap_accepted"))
    monkeypatch.setattr(registry, "entry_points", lambda *, group: points)
    try:
        assert load_backend("other").name == "gap_accepted"
        assert known_backends()["jsonl"] == registry.BUILT_IN["jsonl"], "built-in names cannot be taken"
    finally:
        sys.modules.pop("mine", None)


def test_a_name_that_two_distributions_register_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """An ambiguous name is a usage error that shows both places."""
    points = registered(("twice", "a:b"), ("twice", "c:d"), ("twice", "a:b"))
    monkeypatch.setattr(registry, "entry_points", lambda *, group: points)
    with pytest.raises(UsageError, match=r"more than once: a:b or c:d"):
        load_backend("twice")


def test_an_unknown_name_lists_the_known_ones_and_what_comes_near() -> None:
    """A typing slip is answered with the likely name and all names."""
    with pytest.raises(UsageError) as caught:
        load_backend("jsonl-rwa")
    message = str(caught.value)
    assert "unknown backend 'jsonl-rwa'" in message
    assert "Did you mean 'jsonl-raw'" in message
    assert all(name in message for name in ("jsonl", "jsonl-raw", "memory", "module:attribute"))


def test_a_file_is_executed_once_and_leaves_the_path_alone(mine: Path) -> None:
    """Two attributes of one file come from one module, relative or absolute, and sys.path is as before."""
    before = list(sys.path)
    first = load_backend(f"{mine}:gap_accepted")
    second = load_backend("mine.py:gap_accepted", base=mine.parent)
    assert first is second
    assert load_backend(f"{mine}:made").name == "made"
    assert sys.path == before


def test_a_module_attribute_is_found_and_may_be_dotted(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """module:attribute imports the module and walks the dots."""
    write(mine.parent, "shelf_of_backends.py", "import mine\nclass Shelf:\n    top = mine.gap_accepted\n")
    monkeypatch.syspath_prepend(mine.parent)
    try:
        assert load_backend("shelf_of_backends:Shelf.top").name == "gap_accepted"
    finally:
        sys.modules.pop("mine", None)
        sys.modules.pop("shelf_of_backends", None)


@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        ("gap_acepted", ["no attribute 'gap_acepted'", "Did you mean 'gap_accepted'", "Backends there: bad_name"]),
        ("number", ["is 7 of type builtins.int", "expected a conformance.Backend"]),
        ("greedy", ["cannot be called without arguments", "'word'"]),
        ("broken", ["calling it raised OSError: no such device"]),
        ("bad_name", ["name='two words'", "expected letters"]),
        ("no_factory", ["open=None", "expected a callable"]),
        ("", ["lacks the part behind the colon"]),
    ],
)
def test_what_is_no_backend_is_told_as_what_it_is(mine: Path, attribute: str, words: list[str]) -> None:
    """Each wrong attribute is a usage error that says what it is and what was expected."""
    with pytest.raises(UsageError) as caught:
        load_backend(f"{mine}:{attribute}")
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("nowhere/file.py:x", "does not exist"),
        ("no_such_module_at_all:x", "ModuleNotFoundError"),
        ("exec:node driver.mjs", "not built yet"),
        ("held:nothing", "lives in that process only"),
        (":x", "before the colon"),
    ],
)
def test_a_spec_that_leads_nowhere_says_why(tmp_path: Path, spec: str, words: str) -> None:
    """Missing files, modules and halves, and what is not built yet, are usage errors with the reason."""
    with pytest.raises(UsageError, match=words):
        load_backend(spec, base=tmp_path)


def test_a_file_without_an_attribute_lists_its_backends(mine: Path) -> None:
    """Forgetting the attribute shows which there are."""
    with pytest.raises(UsageError, match=r"Backends there: bad_name, gap_accepted, no_factory"):
        load_backend("mine.py", base=mine.parent)


@pytest.mark.parametrize("line", ["raise ValueError('boom')", "import sys; sys.exit(3)", "def x(:"])
def test_the_cause_of_a_failing_import_is_shown(tmp_path: Path, line: str) -> None:
    """What a backend file raises while it is loaded ends as a usage error, and the file can be tried again."""
    path = write(tmp_path, "failing.py", line)
    for _ in range(2):
        with pytest.raises(UsageError, match=r"cannot load backend file .*failing.py.*(boom|3|SyntaxError)") as caught:
            load_backend(f"{path}:x")
        assert caught.value.__cause__ is not None


def test_a_word_that_no_capability_knows_is_refused(tmp_path: Path) -> None:
    """A claim outside the closed lists is a usage error, not a silent no."""
    path = write(
        tmp_path,
        "claims.py",
        """
        from conformance import Backend, Capabilities
        b = Backend(name="b", open=print, capabilities=Capabilities(durability="forever"))
        """,
    )
    with pytest.raises(UsageError, match=r"durability='forever'; expected one of 'none', 'process-kill'"):
        load_backend(f"{path}:b")


@pytest.mark.parametrize(("name", "partner"), [("jsonl", "memory"), ("jsonl-raw", "memory"), ("memory", "jsonl")])
def test_the_partner_is_never_the_backend_itself(monkeypatch: pytest.MonkeyPatch, name: str, partner: str) -> None:
    """memory runs beside the JSONL ones, jsonl beside everything else, found by the dotted path."""
    asked: list[str] = []

    def remember(spec: str, base: Path | None = None) -> Backend:
        asked.append(spec)
        return Backend(name=partner, open=print)

    monkeypatch.setattr(registry, "load_backend", remember)
    assert partner_for(Backend(name=name, open=print)).name == partner
    assert asked == [registry.BUILT_IN[partner]]


def test_a_backend_in_hand_gets_a_spec_of_its_own() -> None:
    """Two different backends of one name are held apart, and the same one keeps its spec."""
    first, second = (Backend(name="twin", open=lambda root: None) for _ in range(2))
    specs = [hold_backend(first), hold_backend(second), hold_backend(first)]
    assert specs[0] == specs[2] != specs[1]
    assert load_backend(specs[0]) is first
    assert load_backend(specs[1]) is second


def test_open_backend_gives_a_working_instance(tmp_path: Path) -> None:
    """A printed program can create a session through it."""

    async def body() -> str:
        async with open_backend("memory", tmp_path / "root") as persistence:
            handle = await persistence.create(SessionHeader(id="s", created_at=0))
            await handle.close()
            return handle.id

    assert asyncio.run(body()) == "s"


def test_the_body_of_open_backend_keeps_its_exception(tmp_path: Path) -> None:
    """A factory's context manager that swallows exceptions cannot swallow the body's."""
    left: list[type[BaseException] | None] = []

    class Swallowing:
        async def __aenter__(self) -> object:
            return load_backend("memory").open(tmp_path)

        async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> bool:
            left.append(kind)
            return True

    async def body() -> None:
        async with open_backend(Backend(name="b", open=lambda root: Swallowing()), tmp_path):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(body())
    assert left == [ZeroDivisionError]


def test_a_backend_that_cannot_start_is_named_with_its_cause(tmp_path: Path) -> None:
    """A raising factory is a set-up error."""

    def refuse(root: Path) -> object:
        raise PermissionError("not allowed here")

    async def body() -> None:
        async with open_backend(Backend(name="sulky", open=refuse), tmp_path):
            raise AssertionError("it cannot have started")

    with pytest.raises(SetupError, match=r"backend 'sulky' could not start: PermissionError: not allowed here"):
        asyncio.run(body())
