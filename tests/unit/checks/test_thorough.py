"""The scenarios of thorough runs: each passes on the reference, and fails on a backend with a limit that it goes past.

The kill matrix holds the others to the same, under a profile that leaves these out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.checks import SCENARIOS, Scenario
from conformance.checks.script import Script
from conformance.clauses import Violation
from conformance.contract import Backend, SessionEvent
from conformance.drivers.execution import Execution
from conformance.drivers.registry import load_backend
from conformance.drivers.workspace import Workspace

THOROUGH = {check.name: check for check in SCENARIOS if check.thorough}


class _Limited:
    """Anything of the reference, with one limit of its own."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _PagingHandle(_Limited):
    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        return list(await self._inner.read(offset, length))[:10_000]


class _CuttingHandle(_Limited):
    async def read(self, offset: int = 0, length: int | None = None) -> list[SessionEvent]:
        return [_cut(event) for event in await self._inner.read(offset, length)]


def _cut(value: Any) -> Any:
    match value:
        case str():
            return value[: 16 << 20]
        case dict():
            return {key: _cut(each) for key, each in value.items()}
        case list():
            return [_cut(each) for each in value]
    return value


class _Service(_Limited):
    """A service whose handles are of a limited kind, or whose list is."""

    def __init__(self, inner: Any, handle: type[_Limited], most: int | None = None) -> None:
        super().__init__(inner)
        self._handle, self._most = handle, most

    async def create(self, *given: Any, **named: Any) -> Any:
        return self._handle(await self._inner.create(*given, **named))

    async def open(self, *given: Any, **named: Any) -> Any:
        return self._handle(await self._inner.open(*given, **named))

    async def list(self) -> Any:
        return list(await self._inner.list())[: self._most]


LIMITS: dict[str, tuple[type[_Limited], int | None]] = {
    "a_list_of_thousands_has_no_pages": (_Limited, 1_000),
    "a_read_has_no_pages": (_PagingHandle, None),
    "thirty_two_mebibytes_are_stored": (_CuttingHandle, None),
}


def perform(check: Scenario, backend: Backend) -> Violation | None:
    """What the scenario finds in a backend."""
    with Workspace() as workspace:
        execution = Execution(backend, workspace.fresh_root())
        try:
            check.body(Script(execution))
        except Violation as violation:
            return violation
        finally:
            execution.finish()
    return None


def test_each_of_them_is_held_here() -> None:
    """No thorough scenario is without a backend that fails it."""
    assert LIMITS.keys() == THOROUGH.keys()


@pytest.mark.parametrize("name", LIMITS)
def test_the_reference_passes_and_a_limit_fails(name: str) -> None:
    """The scenario is about a number that a limit lies below."""
    reference, (handle, most) = load_backend("jsonl"), LIMITS[name]

    def limited(root: Path) -> Any:
        return _Service(reference.open(root), handle, most)

    check = THOROUGH[name]
    assert perform(check, reference) is None
    found = perform(check, Backend(name="limited", open=limited, capabilities=reference.capabilities))
    assert found is not None
    assert found.clause in check.clauses
