"""Two more doors for Python: a class of checks for the author's own tree, and one call without pytest.

``suite_for`` gives a class that pytest collects like any other, one method for each check. It is not overridable: a
backend cannot mute a clause by defining a method of its own. ``verify`` runs everything and returns the summary. Both
find the backend as ``--backend`` does, and take a ``Backend`` or a bare factory too.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.contract import Backend
from conformance.drivers.registry import check_not_shadowed, hold_backend

if TYPE_CHECKING:
    from conformance.report.events import ReportEvent
    from conformance.report.summary import Summary
    from conformance.runner import Item, Plan

Given = str | Backend | Callable[..., Any]
"""A spec as ``--backend`` takes it, a ``Backend``, or a factory ``open(root)`` with the default capabilities."""

_LAST = "test_every_gating_clause_was_exercised"


async def verify(
    backend: Given, *, profile: str = "smoke", clauses: Sequence[str] = (), seed: int = 0, strict: bool = False
) -> Summary:
    """Check a backend against the contract, without pytest.

    The kit runs in a thread with loops of its own, so that the caller's loop goes on. Violations are not raised: look
    at ``exit_code()`` (0 conforms, 1 a violation, 3 a gating clause not exercised, 4 an error of the kit), ``failures``
    and ``headline()``. A cancelled call ends the run behind its current event.

    Args:
        backend: a spec, a ``Backend``, or a factory.
        profile: ``smoke``, ``default``, ``ci``, ``nightly`` or ``soak``.
        clauses: patterns such as ``SEQ-02``, ``SEQ`` or ``JSON-*``; empty for all.
        seed: of everything that is drawn.
        strict: should clauses count too.

    Raises:
        UsageError: no such backend or profile. SetupError: it cannot start.
        UnknownClauseError: a pattern matches nothing.

    Example:
        >>> summary = await conformance.verify("memory", clauses=["SEQ"])  # doctest: +SKIP
        >>> summary.exit_code()
        0
    """
    spec = _spec_of(backend)
    ended = threading.Event()
    events: list[ReportEvent] = []

    def tell(event: ReportEvent) -> None:
        if ended.is_set():
            ended.clear()
            raise KeyboardInterrupt
        events.append(event)

    def everything() -> Summary:
        check_not_shadowed()
        from conformance.report.summary import summarise
        from conformance.runner import Settings, make_plan, run

        settings = Settings(backend=spec, profile=profile, clauses=tuple(clauses), seed=seed, strict=strict)
        run(make_plan(settings), tell)
        return summarise(events)

    try:
        return await asyncio.to_thread(everything)
    except asyncio.CancelledError:
        ended.set()
        raise


def suite_for(
    backend: Given,
    *,
    profile: str = "default",
    clauses: Sequence[str] = (),
    seed: int = 0,
    budget: float | None = None,
    strict: bool = False,
    base: Path | None = None,
) -> type:
    """A class of checks for a test module: ``TestMine = conformance.suite_for("mine")``.

    Each check is one method, named after its id. A last method fails where the others ran and a gating clause was
    never exercised. A subclass that overrides a check, and an assignment to one, raise ``TypeError``.

    Args:
        backend, profile, clauses, seed, strict: as for ``verify``.
        budget: seconds for everything random in the class; None for the profile's.
        base: from where a relative backend path is found; None for the working directory.

    Raises:
        UsageError, SetupError, UnknownClauseError: at once, while the test module is imported.
    """
    check_not_shadowed()
    from conformance.runner import Settings, make_plan

    settings = Settings(
        backend=_spec_of(backend),
        profile=profile,
        budget=budget,
        seed=seed,
        clauses=tuple(clauses),
        strict=strict,
        base=Path() if base is None else base,
    )
    return _class_of(make_plan(settings))


class _Sealed(type):
    """The type of suites: whatever would replace a check is refused."""

    _checks: dict[str, Any]

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        checks = getattr(cls, "_checks", {})
        taken = [check for check, method in checks.items() if inspect.getattr_static(cls, check) is not method]
        if taken:
            raise TypeError(_refusal(name, taken))

    def __setattr__(cls, name: str, value: Any) -> None:
        if name in getattr(cls, "_checks", {}):
            raise TypeError(_refusal(cls.__name__, [name]))
        super().__setattr__(name, value)

    def __delattr__(cls, name: str) -> None:
        if name in getattr(cls, "_checks", {}):
            raise TypeError(_refusal(cls.__name__, [name]))
        super().__delattr__(name)


def _refusal(name: str, checks: list[str]) -> str:
    return f"{name} replaces {', '.join(checks)}: the checks of a conformance suite cannot be overridden, only selected"


class _Run:
    """What the methods of one suite have in common: the plan and the events so far."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._header = plan.started()
        self._events: list[ReportEvent] = []

    def check(self, item: Item) -> None:
        """Run one item; fail, skip or warn as pytest knows it."""
        import pytest

        from conformance.pytest_items import ClausesViolated, KitFailed, rendered, settle
        from conformance.runner import run_item

        found = run_item(self._plan, item)
        self._events += found
        try:
            settle(self._summary(found))
        except (ClausesViolated, KitFailed) as error:
            pytest.fail(rendered(error), pytrace=False)

    def settle_all(self) -> None:
        """Fail where every check ran and left a gating clause without a witness."""
        import pytest

        from conformance.pytest_items import ended

        missing = {item.id for item in self._plan.items} - ended(self._events)
        if missing:
            pytest.skip(f"{len(missing)} checks did not run in this process, so nothing can be said of the whole")
        unsettled = [each.clause for each in self._summary(self._events).unsettled()]
        if unsettled:
            pytest.fail(f"not exercised, and so not passed: {', '.join(unsettled)}", pytrace=False)

    def _summary(self, events: Sequence[ReportEvent]) -> Summary:
        from conformance.report.events import RunFinished
        from conformance.report.summary import summarise

        return summarise([self._header, *events, RunFinished(seconds=0.0)])


def _class_of(plan: Plan) -> type:
    run = _Run(plan)
    checks: dict[str, Any] = {}
    for item in plan.items:
        method = _method(run, item)
        if method.__name__ in checks:
            raise ValueError(f"two checks of the kit would be called {method.__name__}")
        checks[method.__name__] = method

    def last(self: Any) -> None:
        """Every clause that gates was exercised by some check."""
        run.settle_all()

    last.__name__ = last.__qualname__ = _LAST
    checks[_LAST] = last
    words = "".join(part.capitalize() for part in re.split(r"\W+|_", plan.backend.name))
    doc = f"The contract, as {plan.backend.name} keeps it."
    return _Sealed(f"{words}Conformance", (), {**checks, "_checks": checks, "__doc__": doc})


def _method(run: _Run, item: Item) -> Callable[[Any], None]:
    def method(self: Any) -> None:
        run.check(item)

    method.__name__ = method.__qualname__ = "test_" + re.sub(r"\W+", "_", item.id.partition("::")[2]).strip("_")
    method.__doc__ = item.title
    return method


def _spec_of(backend: Given) -> str:
    """A spec of the backend for the settings; what is given as an object is held by the registry."""
    if isinstance(backend, str):
        return backend
    if isinstance(backend, Backend):
        return hold_backend(backend)
    if not callable(backend):
        raise TypeError(
            f"backend={backend!r} of type {type(backend).__name__}; expected a spec, a Backend or a factory"
        )
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", getattr(backend, "__qualname__", type(backend).__name__)).strip("-")
    return hold_backend(Backend(name=name or "factory", open=backend))
