"""What a run came to: one verdict for each selected clause, the headline and the exit code, folded from events.

``summarise`` is a pure fold. The table's rulings, which the header carries, decide which clauses may have a verdict of
their own; failures and witnesses decide the rest. A violation is never swallowed: it makes its clause fail whatever
was ruled, and it is kept and shown also where its clause was not selected. Nothing here formats for a terminal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from conformance.clauses import AREAS, CLAUSES, Verdict
from conformance.report.events import (
    FailureFound,
    ItemFinished,
    KitErrorFound,
    ReportEvent,
    RunFinished,
    RunStarted,
    WarningRaised,
)

EXIT_CONFORMS = 0
EXIT_VIOLATION = 1
EXIT_NOT_EXERCISED = 3
EXIT_KIT_ERROR = 4
EXIT_INTERRUPTED = 130

JUDGED = frozenset({Verdict.PASS, Verdict.FAIL, Verdict.KNOWN, Verdict.NOT_EXERCISED})
"""The verdicts of clauses that apply and are built: what an ``n/m`` of the headline is about."""

_LEVEL_WORDS = (("must", "must"), ("should", "should"), ("claim", "claimed"))
_RULED_OUT = (Verdict.NOT_CLAIMED, Verdict.NOT_APPLICABLE, Verdict.NOT_MEASURED, Verdict.NOT_BUILT)


_SUBJECTS = {
    "crash": "crashes",
    "fault": "faults",
    "damage": "damage",
    **dict.fromkeys(("overlap", "overlap-faults", "overlap-crashes", "live-overlap"), "overlaps"),
}
"""Kind of a sweep or a machine -> what its line of coverage begins with."""


def _sweep_kind(item: str) -> str:
    """``crash`` of ``conformance::sweep::crash[ext4]``."""
    return item.rpartition("::")[2].partition("[")[0]


@dataclass(frozen=True, slots=True)
class ClauseVerdict:
    """What is said of one clause.

    Attributes:
        reason: the table's reason where the clause was ruled out, the baseline's where it is known; else "".
        witnesses: how often it was witnessed, over all items.
    """

    clause: str
    verdict: Verdict
    reason: str = ""
    witnesses: int = 0


@dataclass(frozen=True, slots=True)
class AreaRow:
    """One area of the catalogue: how many of its selected clauses have which verdict, in the order of ``Verdict``."""

    area: str
    title: str
    counts: Mapping[Verdict, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The outcome of a run.

    Attributes:
        header: the run's header, or None where no ``RunStarted`` was seen (then nothing was selected).
        verdicts: one for each selected clause, in the order of selection.
        failures: every violation found, in order, known ones too.
        known: fingerprints or clause ids that a baseline lists -> its reason.
        warnings: texts, those of the run first.
        items: the ends of all items, in order.
        seconds: wall clock of the run; 0.0 without a footer.
        interrupted: the footer says so, or there is none: the stream was cut and the run cannot be said to be whole.
    """

    header: RunStarted | None
    verdicts: Mapping[str, ClauseVerdict]
    failures: tuple[FailureFound, ...] = ()
    kit_errors: tuple[KitErrorFound, ...] = ()
    warnings: tuple[str, ...] = ()
    items: tuple[ItemFinished, ...] = ()
    known: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def strict(self) -> bool:
        """Whether should clauses gate."""
        return self.header is not None and self.header.strict

    def count(self, verdict: Verdict, level: str | None = None) -> int:
        """How many selected clauses (of that level) have that verdict."""
        return sum(
            found.verdict is verdict and (level is None or level_of(found.clause) == level)
            for found in self.verdicts.values()
        )

    def gates(self, clause: str) -> bool:
        """Whether a violation of this clause fails the run: must, a claim that is claimed, should where strict."""
        level = level_of(clause)
        if level == "should":
            return self.strict
        ruled = self.header.rulings.get(clause) if self.header is not None else None
        return level == "must" or ruled is None or ruled[0] != Verdict.NOT_CLAIMED.value

    def is_known(self, failure: FailureFound) -> bool:
        """Whether the baseline lists this failure, by its fingerprint or by its clause."""
        return bool(failure.fingerprint and failure.fingerprint in self.known) or failure.clause in self.known

    @property
    def gating_failures(self) -> tuple[FailureFound, ...]:
        """The failures that make the run fail."""
        return tuple(each for each in self.failures if not self._is_mild(each))

    @property
    def other_failures(self) -> tuple[FailureFound, ...]:
        """The failures that are reported only: should without strict, claims that are not claimed, known ones, and
        those that take a crash beyond the durability."""
        return tuple(each for each in self.failures if self._is_mild(each))

    def _is_mild(self, failure: FailureFound) -> bool:
        return bool(failure.beyond) or not self.gates(failure.clause) or self.is_known(failure)

    def unsettled(self) -> tuple[ClauseVerdict, ...]:
        """The gating clauses without a verdict of their own that ask for exit 3 in a whole run."""
        wanted = {Verdict.NOT_EXERCISED}
        if self.header is not None and self.header.require_measured:
            wanted.add(Verdict.NOT_MEASURED)
        return tuple(each for each in self.verdicts.values() if each.verdict in wanted and self.gates(each.clause))

    def exit_code(self) -> int:
        """130 interrupted, 4 an error of the kit, 1 a gating violation, 3 a gating clause not exercised, else 0.

        The first that applies in that order; 2 (usage, set-up) is decided by the doors, before there are events.
        """
        if self.interrupted:
            return EXIT_INTERRUPTED
        if self.kit_errors:
            return EXIT_KIT_ERROR
        if self.gating_failures:
            return EXIT_VIOLATION
        return EXIT_NOT_EXERCISED if self.unsettled() else EXIT_CONFORMS

    def headline(self) -> str:
        """Every class counted on one line: ``52/52 must · 3/3 should · 17 not claimed · 0 not exercised · 0 failed``.

        ``n/m`` is passed of those that apply and are built. The m of all levels and the ruled-out classes add up to
        the clauses selected; what an n lacks to its m is failed, known or not exercised. A class of none is left out,
        but for the last two.
        """
        parts = []
        for level, word in _LEVEL_WORDS:
            if judged := sum(self.count(verdict, level) for verdict in JUDGED):
                parts.append(f"{self.count(Verdict.PASS, level)}/{judged} {word}")
        for verdict in _RULED_OUT:
            if number := self.count(verdict):
                why = f" (why: {self._reasons(verdict)})" if verdict is Verdict.NOT_MEASURED else ""
                parts.append(f"{number} {verdict.value}{why}")
        if number := self.count(Verdict.KNOWN):
            parts.append(f"{number} known")
        parts.append(f"{self.count(Verdict.NOT_EXERCISED)} not exercised")
        failed = [each.clause for each in self.verdicts.values() if each.verdict is Verdict.FAIL]
        mild = sum(not self.gates(clause) for clause in failed)
        parts.append(f"{len(failed)} failed" + (f" ({mild} of them not gating)" if mild else ""))
        if outside := {each.clause for each in self.failures} - self.verdicts.keys():
            parts.append(f"{len(outside)} failed outside the selection")
        if aside := {each.clause for each in self.failures if each.beyond} - set(failed):
            parts.append(f"{len(aside)} failed beyond the durability")
        if crashes := self._crash_states():
            parts.append(crashes)
        if self.interrupted:
            parts.append("interrupted")
        return " · ".join(parts)

    def coverage(self) -> list[tuple[str, str]]:
        """For each sweep what it is about, and one line that says what it covered."""
        return [(_SUBJECTS.get(_sweep_kind(each.item), "sweep"), each.coverage) for each in self.items if each.coverage]

    def _crash_states(self) -> str:
        """How many crash states were opened, and up to which length of workloads these are all there are."""
        demanded = [each for each in self.items if not each.beyond]
        if not (opened := sum(each.crash_states for each in demanded)):
            return ""
        bounds = {each.crash_bound for each in demanded if each.coverage and _sweep_kind(each.item) == "crash"}
        least = min(bounds, default=0)
        extent = f"exhaustive N≤{least}" if least else "not exhaustive"
        return f"crash states opened {opened:,} ({extent})"

    def _reasons(self, verdict: Verdict) -> str:
        found = Counter(each.reason or "no reason given" for each in self.verdicts.values() if each.verdict is verdict)
        return "; ".join(reason if len(found) == 1 else f"{number} {reason}" for reason, number in found.items())

    def areas(self) -> list[AreaRow]:
        """One row for each area that has selected clauses, in the order of the catalogue."""
        rows: dict[str, Counter[Verdict]] = {}
        for each in self.verdicts.values():
            rows.setdefault(area_of(each.clause), Counter())[each.verdict] += 1
        order = [*AREAS, *(area for area in rows if area not in AREAS)]
        return [
            AreaRow(area, AREAS.get(area, ""), {each: rows[area][each] for each in Verdict if rows[area][each]})
            for area in order
            if area in rows
        ]


def level_of(clause: str) -> str:
    """The clause's level; an id that this catalogue does not have counts as must, so that it is never let through."""
    known = CLAUSES.get(clause)
    return known.level if known else "must"


def area_of(clause: str) -> str:
    """The area of a clause id."""
    known = CLAUSES.get(clause)
    return known.area if known else clause.partition("-")[0]


def summarise(events: Iterable[ReportEvent], *, known: Mapping[str, str] | None = None) -> Summary:
    """Fold the events of one run.

    Args:
        events: in the order in which they were raised; items of several workers may interleave.
        known: fingerprints or clause ids of failures that are expected -> why.
    """
    header: RunStarted | None = None
    footer: RunFinished | None = None
    failures: list[FailureFound] = []
    kit_errors: list[KitErrorFound] = []
    warnings: list[str] = []
    items: list[ItemFinished] = []
    for event in events:
        match event:
            case RunStarted():
                header = event
            case RunFinished():
                footer = event
            case FailureFound():
                failures.append(event)
            case KitErrorFound():
                kit_errors.append(event)
            case WarningRaised() if event.text not in warnings:
                warnings.append(event.text)
            case ItemFinished():
                items.append(event)
    witnesses: Counter[str] = Counter()
    for item in items:
        if not item.beyond:
            witnesses.update(item.witnesses)
    doubts = {clause: item.reason for item in items for clause in item.unmeasured}
    listed = dict(known or {})
    return Summary(
        header=header,
        verdicts=_verdicts(header, failures, witnesses, listed, doubts) if header is not None else {},
        failures=tuple(failures),
        kit_errors=(*kit_errors, *_unexplained(items, failures, kit_errors)),
        warnings=tuple(warnings),
        items=tuple(items),
        known=listed,
        seconds=footer.seconds if footer is not None else 0.0,
        interrupted=footer is None or footer.interrupted,
    )


def _verdicts(
    header: RunStarted,
    failures: Iterable[FailureFound],
    witnesses: Mapping[str, int],
    known: Mapping[str, str],
    doubts: Mapping[str, str],
) -> dict[str, ClauseVerdict]:
    broken: dict[str, list[FailureFound]] = {}
    for failure in failures:
        if failure.beyond:
            # The clause holds as far as the durability goes, or does not: the other checks tell.
            continue
        broken.setdefault(failure.clause, []).append(failure)
    found = {}
    for clause in header.clauses:
        standing, reason = header.rulings.get(clause, ("applies", ""))
        times = witnesses.get(clause, 0)
        if clause in broken:
            reasons = [known.get(each.fingerprint, known.get(clause)) for each in broken[clause]]
            if all(each is not None for each in reasons):
                found[clause] = ClauseVerdict(clause, Verdict.KNOWN, str(reasons[0]), times)
            else:
                found[clause] = ClauseVerdict(clause, Verdict.FAIL, "", times)
        elif standing in _STANDINGS:
            found[clause] = ClauseVerdict(clause, Verdict(standing), reason, times)
        elif clause in doubts:
            # What was witnessed before the doubt came up was seen by the same eyes.
            found[clause] = ClauseVerdict(clause, Verdict.NOT_MEASURED, doubts[clause], times)
        else:
            verdict = Verdict.PASS if times > 0 else Verdict.NOT_EXERCISED
            found[clause] = ClauseVerdict(clause, verdict, "", times)
    return found


_STANDINGS = frozenset(verdict.value for verdict in _RULED_OUT)


def _unexplained(
    items: Iterable[ItemFinished], failures: Iterable[FailureFound], kit_errors: Iterable[KitErrorFound]
) -> list[KitErrorFound]:
    """Items that ended badly and left nothing that says why: an error of the kit, never a silent pass."""
    failed, erred = {each.item for each in failures}, {each.item for each in kit_errors}
    found = []
    for each in items:
        if each.outcome == "failed" and each.item not in failed | erred:
            found.append(KitErrorFound(item=each.item, message="the item failed and named no clause"))
        if each.outcome == "error" and each.item not in erred:
            found.append(KitErrorFound(item=each.item, message="the item ended in an error and said nothing of it"))
    return found
