"""What the engine says while it runs: a closed list of events. Every report is a fold over them.

Events are frozen data with JSON forms, so that a run can be written as lines, sent between processes and folded
again later. They carry no exceptions and no open resources. Building one copies its containers into the shape that
reading its JSON form back gives, so that an event equals what was written of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal

ItemOutcome = Literal["passed", "failed", "skipped", "not measured", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportEvent:
    """Base of all report events; ``name`` is the ``event`` key of the JSON form."""

    name: ClassVar[str] = ""

    def __post_init__(self) -> None:
        """Own every container: a sequence becomes a tuple, what lies inside plain dicts and lists."""
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, Mapping):
                object.__setattr__(self, each.name, plain_form(value))
            elif isinstance(value, list | tuple):
                object.__setattr__(self, each.name, tuple(plain_form(item) for item in value))

    def to_json(self) -> dict[str, Any]:
        """``{"event": name, field: value, ...}``, with fresh containers."""
        return {"event": self.name, **{each.name: plain_form(getattr(self, each.name)) for each in fields(self)}}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(ReportEvent):
    """The header: what is run, on what, with which settings.

    Attributes:
        backend: the registered name; ``spec``: as the user wrote it.
        capabilities: field of ``Capabilities`` -> value.
        presets: kinds of crashes that were asked for by name.
        clauses: ids selected; ``rulings``: id -> (standing, reason) as the table decided before anything ran.
        items: ids of the items that will run or be skipped, in order.
    """

    name: ClassVar[str] = "run_started"
    kit_version: str
    backend: str
    spec: str
    capabilities: Mapping[str, Any]
    profile: str
    seed: int
    strict: bool
    require_measured: bool
    durability: str
    python: str
    platform: str
    clauses: tuple[str, ...]
    rulings: Mapping[str, tuple[str, str]]
    items: tuple[str, ...]
    presets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """As every event; a ruling stays the pair that its type says."""
        ReportEvent.__post_init__(self)
        pairs = {clause: (str(ruled[0]), str(ruled[1])) for clause, ruled in self.rulings.items()}
        object.__setattr__(self, "rulings", pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemStarted(ReportEvent):
    """One check begins."""

    name: ClassVar[str] = "item_started"
    item: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureFound(ReportEvent):
    """One violation, already shrunk.

    Attributes:
        clause: the id blamed; ``expected``, ``observed``, ``note``: what the model said.
        program: JSON forms of the operations; ``history``: JSON forms of what happened.
        call: index of the offending call in both, or None where no single call offends.
        client, step: where that is an overlap, which of its calls offends; both 0 where none in particular does.
        reference_answer: what the reference partner answered to the offending call, or "" where it stood aside.
        fingerprint: equal for failures that are the same bug; ``case``: path of the saved case, or "".
        script: path of the program as a Python file that runs by itself, or "".
        reproduce: the command that shows it again.
        explanation: what a crash did to the disk and what would mend it, line by line; empty where there was none.
        beyond: why it gates nothing, whatever its clause: it takes a crash beyond the durability; or "".
    """

    name: ClassVar[str] = "failure_found"
    item: str
    clause: str
    expected: str
    observed: str
    note: str = ""
    program: tuple[Mapping[str, Any], ...] = ()
    history: tuple[Mapping[str, Any], ...] = ()
    call: int | None = None
    client: int = 0
    step: int = 0
    reference_answer: str = ""
    fingerprint: str = ""
    case: str = ""
    script: str = ""
    reproduce: str = ""
    explanation: tuple[str, ...] = ()
    beyond: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KitErrorFound(ReportEvent):
    """The kit itself went wrong: its message and traceback as text (exit 4)."""

    name: ClassVar[str] = "kit_error"
    item: str
    message: str
    traceback: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFinished(ReportEvent):
    """One check ends.

    Attributes:
        outcome: "passed", "failed", "skipped" (the table decided; ``reason`` says why), "not measured" (it turned out
            that something may be done which the kit cannot see; ``reason`` says what) or "error" (a kit error).
        programs, operations: how many were performed.
        witnesses: clause id -> how often an answer was judged where another would have been a violation.
        unmeasured: clauses of which, for that reason, neither a pass nor a failure would be true.
        coverage: one line that says what was covered, for sweeps; else "".
        crash_states: how many crash states were opened. crash_bound: all states of all workloads of so many calls were
            covered; 0 where not all were, or there was no sweep.
        beyond: why what it witnessed is no part of any verdict, or "".
    """

    name: ClassVar[str] = "item_finished"
    item: str
    outcome: ItemOutcome
    reason: str = ""
    seconds: float = 0.0
    programs: int = 0
    operations: int = 0
    witnesses: Mapping[str, int] = field(default_factory=dict)
    unmeasured: tuple[str, ...] = ()
    coverage: str = ""
    crash_states: int = 0
    crash_bound: int = 0
    beyond: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarningRaised(ReportEvent):
    """Something the user should know that is no verdict."""

    name: ClassVar[str] = "warning"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished(ReportEvent):
    """The footer; ``interrupted`` where the user ended the run before every item had its turn."""

    name: ClassVar[str] = "run_finished"
    seconds: float
    interrupted: bool = False


EVENTS: dict[str, type[ReportEvent]] = {
    cls.name: cls
    for cls in (RunStarted, ItemStarted, FailureFound, KitErrorFound, ItemFinished, WarningRaised, RunFinished)
}


def event_from_json(form: Mapping[str, Any]) -> ReportEvent:
    """The inverse of ``to_json``: equal to the event that was written.

    Raises:
        KeyError: an unknown event name. TypeError: missing or unknown fields.
    """
    return EVENTS[form["event"]](**{key: item for key, item in form.items() if key != "event"})


def plain_form(value: Any) -> Any:
    """Data as JSON gives it back: mappings as fresh dicts, sequences as fresh lists, leaves as they are."""
    if isinstance(value, Mapping):
        return {key: plain_form(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_form(item) for item in value]
    return value
