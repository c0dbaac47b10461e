"""The terminal summary: areas, warnings, the headline, and last of all each failure with the command that repeats it.

Plain text of a given width; colour comes in through a ``Style``, a function that wraps a piece of text by its role, so
that pytest's terminal and the command line print the same words. Nothing here decides anything: it prints a
``Summary``.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from conformance.clauses import CLAUSES, Verdict
from conformance.model.history import Completion, Event, Invocation, Outcome
from conformance.model.history_forms import event_from_json as history_event_from_json
from conformance.model.operations import Operation, Overlap, Program, Publish
from conformance.report.abbreviate import call_text, handle_names, outcome_text, printable
from conformance.report.difference import answer_difference
from conformance.report.events import FailureFound, KitErrorFound
from conformance.report.summary import Summary, level_of
from conformance.report.timeline import duration_text, subject_of, timeline

Role = Literal["good", "bad", "warn", "dim", "strong"]
Style = Callable[[str, Role], str]

SHOWN_CALLS = 40
LABEL = 11

_CODES: dict[Role, str] = {"good": "32", "bad": "31", "warn": "33", "dim": "2", "strong": "1"}


def plain(text: str, role: Role) -> str:
    """No colour: the text as it is."""
    return text


def ansi(text: str, role: Role) -> str:
    """Colours as most terminals take them; ``role`` chooses."""
    return f"\x1b[{_CODES[role]}m{text}\x1b[0m"


def render_terminal(summary: Summary, *, width: int = 100, style: Style = plain) -> str:
    """The whole summary, with a line end behind the last line.

    Order: one line for each area, warnings, errors of the kit, the headline, failures that do not gate, failures that
    do; the reproducing command of the last failure is the last line.
    """
    blocks = [render_areas(summary, style=style), render_coverage(summary, width=width, style=style)]
    blocks += [render_warnings(summary, width=width, style=style)]
    blocks += [render_kit_error(each, style=style) for each in summary.kit_errors]
    blocks.append(render_headline(summary, style=style))
    kinds: tuple[tuple[tuple[FailureFound, ...], Literal["bad", "warn"]], ...]
    kinds = ((summary.other_failures, "warn"), (summary.gating_failures, "bad"))
    for failures, role in kinds:
        for first, again in _distinct(failures):
            blocks.append(render_failure(first, also=again, width=width, style=style, role=role))
    return "\n\n".join(block for block in blocks if block) + "\n"


def render_areas(summary: Summary, *, style: Style = plain) -> str:
    """One line for each area: ``SEQ    Appending     8 pass · 3 not built yet``."""
    rows = summary.areas()
    area_width = max((len(row.area) for row in rows), default=0)
    title_width = max((len(row.title) for row in rows), default=0)
    lines = []
    for row in rows:
        counts = [_count(number, verdict, style) for verdict, number in row.counts.items()]
        lines.append(f"{row.area:<{area_width}}  {row.title:<{title_width}}  {' · '.join(counts)}")
    return "\n".join(lines)


def _count(number: int, verdict: Verdict, style: Style) -> str:
    text = f"{number} {verdict.value}"
    if verdict is Verdict.PASS:
        return style(text, "good")
    if verdict is Verdict.FAIL:
        return style(text, "bad")
    return style(text, "warn" if verdict in (Verdict.KNOWN, Verdict.NOT_EXERCISED) else "dim")


def render_coverage(summary: Summary, *, width: int = 100, style: Style = plain) -> str:
    """What each sweep covered, and where it did not cover everything; "" without one."""
    return "\n".join(_labelled(about, line, width, style) for about, line in summary.coverage())


def render_warnings(summary: Summary, *, width: int = 100, style: Style = plain) -> str:
    """The run's warnings, violated clauses that do not gate, and gating clauses that nothing settled; "" for none."""
    texts = list(summary.warnings)
    for (clause, why), number in Counter(
        (each.clause, _why_mild(summary, each)) for each in summary.other_failures
    ).items():
        times = "" if number == 1 else f" ({number} failures)"
        texts.append(f"{clause} is violated{times} and does not gate: {why}")
    unsettled = summary.unsettled()
    if not summary.interrupted:
        for verdict in (Verdict.NOT_EXERCISED, Verdict.NOT_MEASURED):
            if found := [each.clause for each in unsettled if each.verdict is verdict]:
                texts.append(f"{verdict.value}, and so not passed: {', '.join(found)}")
    return "\n".join(_labelled("warning", text, width, style, "warn") for text in texts)


def _why_mild(summary: Summary, failure: FailureFound) -> str:
    """Why this failure does not gate."""
    if failure.beyond:
        return failure.beyond
    if summary.is_known(failure):
        return f"known, {summary.known.get(failure.fingerprint) or summary.known.get(failure.clause)}"
    return "a should clause gates only under --strict" if level_of(failure.clause) == "should" else "it is not claimed"


def render_headline(summary: Summary, *, style: Style = plain) -> str:
    """The headline, coloured by what the run came to."""
    code = summary.exit_code()
    return style(summary.headline(), "good" if code == 0 else "bad")


def render_kit_error(error: KitErrorFound, *, style: Style = plain) -> str:
    """An error of the kit: said to be one, with its traceback."""
    lines = [style(f"ERROR OF THE KIT in {error.item}", "bad"), f"  {printable(error.message)}"]
    lines += [f"  {line}" for line in printable(error.traceback).splitlines()]
    return "\n".join([*lines, "  This says nothing about the backend; please report it."])


def render_failure(
    failure: FailureFound,
    *,
    also: Iterable[FailureFound] = (),
    width: int = 100,
    style: Style = plain,
    role: Literal["bad", "warn"] = "bad",
) -> str:
    """One failure as a block that ends with the command that reproduces it.

    Args:
        also: further findings of the same bug, named by their items only.
        role: "warn" where the failure does not gate.
    """
    known = CLAUSES.get(failure.clause)
    word = "FAILED" if role == "bad" else "VIOLATED, NOT GATING"
    lines = [style(f"{word}  {failure.clause} ({known.level if known else 'unknown clause'})", role)]
    if known:
        lines += _wrapped(known.statement, width, "  ")
    items = list(dict.fromkeys([failure.item, *(each.item for each in also)]))
    more = f" and {len(items) - 4} more" if len(items) > 4 else ""
    lines += ["", _labelled("found by", ", ".join(items[:4]) + more, width, style), ""]
    if calls := _program_lines(failure, width, style):
        lines += [*calls, ""]
    told = [("expected", failure.expected), ("observed", failure.observed), ("reference", failure.reference_answer)]
    told += [("difference", _difference(failure)), ("note", failure.note), ("saved as", failure.case)]
    told += [("program", f"python {failure.script}" if failure.script else "")]
    lines += [_labelled(label, text, width, style) for label, text in told[:-2] if text]
    if failure.explanation:
        lines += ["", *(f"  {printable(each)}".rstrip() for each in failure.explanation), ""]
    lines += [_labelled(label, text, width, style) for label, text in told[-2:] if text]
    # The command is not wrapped: it is there to be copied.
    lines.append(style(f"  {'reproduce':<{LABEL}}", "dim") + style(printable(failure.reproduce), "strong"))
    return "\n".join(lines)


def _distinct(failures: Iterable[FailureFound]) -> list[tuple[FailureFound, list[FailureFound]]]:
    """Failures folded by fingerprint: the one with the shortest program first, the rest behind it."""
    groups: dict[tuple[str, str], list[FailureFound]] = {}
    for each in failures:
        groups.setdefault((each.clause, each.fingerprint or each.item), []).append(each)
    found = []
    for group in groups.values():
        first = min(group, key=lambda each: len(each.program))
        found.append((first, [each for each in group if each is not first]))
    return found


def _labelled(label: str, text: str, width: int, style: Style, role: Role = "dim") -> str:
    """``  label      text``, with the lines of a long text under one another."""
    found: list[str] = []
    for line in printable(text).splitlines():
        found += textwrap.wrap(line, max(20, width - LABEL - 2), break_on_hyphens=False) or [""]
    first, *rest = found or [""]
    return "\n".join([f"  {style(f'{label:<{LABEL}}', role)}{first}", *(f"  {'':<{LABEL}}{each}" for each in rest)])


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    whole = " ".join(printable(text).split())
    return textwrap.wrap(whole, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def _calls(failure: FailureFound) -> tuple[Program, list[Event]]:
    program = Program.from_json([dict(form) for form in failure.program])
    return program, [history_event_from_json(dict(form)) for form in failure.history]


def _difference(failure: FailureFound) -> str:
    _, history = _calls(failure)
    found = answer_difference(history, failure.call, client=failure.client, step=failure.step)
    told = f"{failure.expected} {failure.observed} {failure.note}"
    return found.text() if found is not None and not found.is_told_by(told) else ""


def _program_lines(failure: FailureFound, width: int, style: Style) -> list[str]:
    """One line for each call with what it came to; the offending one is marked, and those after it are left out."""
    program, history = _calls(failure)
    alone = [each for each in history if not each.is_inside]
    outcomes: dict[int, Outcome] = {each.call: each.outcome for each in alone if isinstance(each, Completion)}
    calls: dict[int, Operation] = {each.call: each.operation for each in alone if isinstance(each, Invocation)}
    calls = {**dict(enumerate(program.operations)), **calls}
    numbers = [number for number in sorted(calls) if failure.call is None or number <= failure.call]
    names = handle_names(Program(tuple(calls[number] for number in numbers)))
    shown, left_out = numbers[-SHOWN_CALLS:], len(numbers) - SHOWN_CALLS
    lines = [style(f"       … {left_out:,} calls before these …", "dim")] if left_out > 0 else []
    texts = {number: call_text(calls[number], names) for number in shown}
    if any(isinstance(each, Publish) for each in calls.values()):
        # What is published is judged by when that was.
        begun = {each.call: each.at for each in alone if isinstance(each, Invocation)}
        moments = {number: duration_text(begun[number]) for number in shown if number in begun}
        wide = max(map(len, moments.values()), default=0)
        texts = {number: f"{moments.get(number, ''):>{wide}}  {text}" for number, text in texts.items()}
    # A call of unusual length does not push every answer to the right.
    column = max((len(text) for text in texts.values() if len(text) <= 50), default=0)
    for number in shown:
        call = calls[number]
        answer = "" if isinstance(call, Overlap) else outcome_text(call, outcomes.get(number))
        marked = number == failure.call
        line = "\n".join(_call_lines(number, texts[number], answer, column, width, marked=marked))
        lines.append(style(line, "strong") if marked else line)
        if isinstance(call, Overlap):
            lines += _timeline_lines(number, call, failure, history, names, width, style)
    return lines


def _timeline_lines(
    number: int,
    overlap: Overlap,
    failure: FailureFound,
    history: list[Event],
    names: Mapping[int, str],
    width: int,
    style: Style,
) -> list[str]:
    """The calls of an overlap below its own line."""
    inside = number == failure.call and (failure.client or failure.step)
    found = timeline(
        number,
        overlap,
        history,
        names,
        width=width,
        offending=(failure.client, failure.step) if inside else None,
        subject=subject_of(history, failure.call, failure.client, failure.step),
    )
    return [style(each.text, each.role) if each.role else each.text for each in found]


def _call_lines(number: int, call: str, answer: str, column: int, width: int, *, marked: bool) -> list[str]:
    start = f"  {'>' if marked else ' '}{number:>3}  "
    if not answer:
        answer_lines = []
    elif len(start) + max(len(call), column) + 4 + len(answer) <= width:
        return [f"{start}{call:<{column}}  → {answer}"]
    elif len(start) + len(call) + 4 + len(answer) <= width:
        return [f"{start}{call}  → {answer}"]
    else:
        indent = " " * (len(start) + 2)
        answer_lines = textwrap.wrap(
            f"→ {answer}", width, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False
        )
    inside = " " * (len(start) + 2)
    return [
        *textwrap.wrap(call, width, initial_indent=start, subsequent_indent=inside, break_on_hyphens=False),
        *answer_lines,
    ]
