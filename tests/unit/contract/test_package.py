"""The package as a whole: what it imports, what it exports, its errors, and its vocabulary."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import conformance.contract as contract
from conformance.contract import (
    CONTRACT_ERRORS,
    KNOWN_EVENT_TYPES,
    SEAMS,
    Backend,
    Capabilities,
    SessionContiguityError,
    SessionPersistenceError,
)

REPOSITORY = Path(__file__).parents[3]
FORMATS = REPOSITORY.parent / "shared" / "formats.md"


def test_importing_the_contract_loads_the_standard_library_only() -> None:
    """A backend that imports the contract drags along no other part of the kit and nothing installed."""
    script = (
        "import sys; before = set(sys.modules); import conformance.contract;"
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names));"
        "print(*sorted(name for name in sys.modules if name.startswith('conformance.')"
        " and not name.startswith('conformance.contract')))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert done.stdout == "conformance\n\n"


def test_every_exported_name_exists() -> None:
    """``__all__`` is sorted as ruff sorts it, without repeats, and holds only what is there."""
    assert len(set(contract.__all__)) == len(contract.__all__)
    assert [name for name in contract.__all__ if not hasattr(contract, name)] == []


@pytest.mark.parametrize("cls", CONTRACT_ERRORS.values(), ids=CONTRACT_ERRORS)
def test_errors_carry_their_fields_through_pickle_and_copy(cls: type[SessionPersistenceError]) -> None:
    """Every error keeps message, session id and fields when it crosses a process or is copied."""
    more: dict[str, Any] = {"expected": 3, "got": 5} if cls is SessionContiguityError else {}
    error = cls("told", session_id="s", **more)
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is cls
        assert str(again) == "told"
        assert vars(again) == vars(error)
    assert error.session_id == "s"
    assert cls("told", **more).session_id is None
    assert issubclass(cls, SessionPersistenceError)
    assert cls is not SessionPersistenceError


def test_error_classes_do_not_imply_each_other() -> None:
    """No specific error is a kind of another: an error of the wrong kind is always told apart."""
    classes = list(CONTRACT_ERRORS.values())
    assert len(classes) == 9
    assert [(a, b) for a in classes for b in classes if a is not b and issubclass(a, b)] == []


def test_a_backend_gives_only_the_seams_it_sets() -> None:
    """``gives`` tells which optional seams are there, by their names."""
    bare = Backend(name="bare", open=lambda root: None)
    assert [seam for seam in SEAMS if bare.gives(seam)] == []
    assert bare.capabilities == Capabilities()
    assert dict(bare.errors) == {}
    located = Backend(name="located", open=lambda root: None, location=lambda root, session_id: None)
    assert [seam for seam in SEAMS if located.gives(seam)] == ["location"]


def test_the_vocabulary_is_that_of_the_formats_page() -> None:
    """The known event types are exactly those the normative page lists."""
    if not FORMATS.exists():
        pytest.skip(f"the normative pages are not beside this repository ({FORMATS.name} not found)")
    section = FORMATS.read_text(encoding="utf-8").split("## Event types this build knows")[1].split("\n(")[0]
    assert set(re.findall(r"`([^`]+)`", section)) == KNOWN_EVENT_TYPES
