"""A program as a Python script that runs on its own: plain calls on the real objects, nothing of the kit in between.

``render_program`` takes operations as data and writes the script a person would have written: it opens the backend in
a temporary directory, makes each call, goes on past the calls that were refused (printing the error), stops at the
call that broke the clause and prints what was expected and what came. It shows a failure; it does not judge one.

No plain program can cut the power under itself. Where one holds a crash, the script makes the calls before it, says
what the crash was, and lists the calls after it; ``torntail replay`` performs all of it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping

from conformance.clauses import CLAUSES
from conformance.model.history import Completion, Event, Hung, Outcome, Raised, Skipped
from conformance.model.history_forms import event_from_json
from conformance.model.operations import (
    Append,
    Close,
    CloseInstance,
    Confine,
    CountLeft,
    Crash,
    Create,
    Damage,
    Discard,
    Dispose,
    Fail,
    Fill,
    Flood,
    Flush,
    FlushInstance,
    HubCreate,
    HubFlush,
    Inspect,
    Leave,
    ListSessions,
    Macro,
    MakeRoot,
    OpenInstance,
    OpenSession,
    Operation,
    Overlap,
    Populate,
    Program,
    Publish,
    Read,
    ReadCounters,
    ReadWarnings,
    StartCounting,
    Stat,
    Wait,
)
from conformance.report import program_helpers as helpers
from conformance.report.abbreviate import call_text, handle_name, handle_names, printable
from conformance.report.damage_text import HELPER, damage_lines, kept_lines
from conformance.report.events import FailureFound
from conformance.report.live_text import ATTACH, live_statement
from conformance.report.program_overlap import listed, opened, overlap_lines
from conformance.report.python_values import Expressions, text_expression
from conformance.report.timeline import Place

WIDTH = 110
HANG_SECONDS = 10


def render_program(
    program: Program,
    *,
    backend_spec: str,
    clause: str,
    call: int | None = None,
    place: Place = (0, 0),
    history: Iterable[Event] = (),
    expected: str = "",
    observed: str = "",
) -> str:
    """The script, as source text that ends with a line end.

    Args:
        backend_spec: what ``open_backend`` is given.
        clause: id of the clause that broke; an id that the catalogue does not have is printed without its sentence.
        call: index of the offending operation; the script ends after it. None: every operation is performed.
        place: where that is an overlap, client and step of the offending call in it; (0, 0) where none is known.
        history: what happened, by which the script knows the calls that raised; without it, every call is guarded.
        expected, observed: what the model said, printed beside what the script finds.

    Raises:
        TypeError: an argument is of a kind that no program may hold.
    """
    return _Script(program, backend_spec, call, place, history).render(clause, expected, observed)


def render_failure_program(failure: FailureFound, *, backend_spec: str) -> str:
    """The script of a failure's program; raises as ``render_program``."""
    return render_program(
        Program.from_json([dict(form) for form in failure.program]),
        backend_spec=backend_spec,
        clause=failure.clause,
        call=failure.call,
        place=(failure.client, failure.step),
        history=[event_from_json(dict(form)) for form in failure.history],
        expected=failure.expected,
        observed=failure.observed,
    )


_NO_ANSWER = (Leave, Discard, Macro, StartCounting, Wait, CountLeft, Confine, ReadWarnings, Flood)


class _Script:
    def __init__(self, program: Program, spec: str, call: int | None, place: Place, history: Iterable[Event]) -> None:
        self.operations = program.operations[: len(program.operations) if call is None else call + 1]
        self.names: Mapping[int, str] = handle_names(program)
        self.spec, self.call = spec, call
        self.place = place if any(place) else None
        self.history = tuple(history)
        overlaps = [each for each in self.operations if isinstance(each, Overlap)]
        # Who wins a race here is not said: what the run had, the script may not have.
        self.uncertain = {handle for each in overlaps for handle in opened(each)}
        beyond = (number for number, each in enumerate(self.operations) if isinstance(each, Crash | Fail))
        self.crash = next(beyond, None)
        ended = [each for each in self.history if isinstance(each, Completion) and not each.is_inside]
        self.outcomes: dict[int, Outcome] = {each.call: each.outcome for each in ended}
        self.knows = bool(self.outcomes)
        self.values = Expressions()
        self.values.modules |= {"asyncio", "tempfile"}
        self.values.need("pathlib", "Path")
        self.values.need("conformance", "open_backend")
        opens = [number for number, each in enumerate(self.operations) if isinstance(each, OpenInstance)]
        self.has_stack = opens != [0] or isinstance(self.outcomes.get(0), Raised | Hung) or call == 0
        self.helpers: set[str] = set()

    def render(self, clause: str, expected: str, observed: str) -> str:
        body = self._body(clause)
        if expected:
            body.append(f"print({text_expression('expected:')}, {text_expression(printable(expected))})")
        if observed:
            body.append(f"print({text_expression('in the run:')}, {text_expression(printable(observed))})")
        silent = self.place is None and isinstance(self.operations[-1] if self.operations else None, Overlap)
        if self.call is not None and self.crash is None and not silent:
            body.append('print("observed:", repr(answer))')
        if self.has_stack:
            self.values.modules.add("contextlib")
            opening = "async with contextlib.AsyncExitStack() as stack:"
        else:
            opening = f"async with {self._open()} as {_instance(self.operations[0])}:"
        parts = [_comment(clause), self._imports(), *sorted(self.helpers)]
        main = "\nasync def main(root: Path) -> None:\n" + textwrap.indent(opening, " " * 4) + "\n"
        main += textwrap.indent("\n".join(body or ["pass"]), " " * 8, lambda line: bool(line.strip())) + "\n"
        looks = any(isinstance(each, Inspect) for each in self.operations)
        # Whoever looks around the root lays it deep enough for what leads out of it.
        parts += [main, _ENTRY.replace(_PLAIN_ROOT, _DEEP_ROOT) if looks else _ENTRY]
        return "\n".join(parts)

    def _imports(self) -> str:
        kit = {module for module in self.values.names if module.split(".")[0] == "conformance"}
        lines = [f"import {name}" for name in sorted(self.values.modules)]
        lines += [_from(module, names) for module, names in sorted(self.values.names.items()) if module not in kit]
        lines += ["", *(_from(module, self.values.names[module]) for module in sorted(kit))]
        return "\n".join(lines) + "\n"

    def _body(self, clause: str) -> list[str]:
        lines: list[str] = []
        for number, operation in enumerate(self.operations):
            if number == 0 and not self.has_stack:
                continue
            if number == self.crash:
                return [*lines, *self._from_crash(number, clause)]
            if isinstance(self.outcomes.get(number), Skipped):
                lines.append(f"# Call {number} ({operation.kind}) was not made: what it needs was never returned.")
            elif number == self.call:
                lines += [
                    "",
                    f"# Call {number} breaks {' '.join(printable(clause).split())}.",
                    *self.offending(number, operation),
                ]
            else:
                lines += [
                    *self._ordinary(number, operation),
                    *kept_lines(number, self.operations, self.outcomes, self.values.of),
                ]
        return lines

    def _from_crash(self, first: int, clause: str) -> list[str]:
        """The crash or the fault, and the calls after it: what no plain program can perform."""
        what = "crash" if isinstance(self.operations[first], Crash) else "fault"
        told = ["", f"# What follows needs the {what} itself; torntail replay performs it."]
        for number in range(first, len(self.operations)):
            text = " ".join(printable(call_text(self.operations[number], self.names)).split())
            marks = f"  <- breaks {' '.join(printable(clause).split())}" if number == self.call else ""
            told += _commented(f"{number}: {text}{marks}")
            if isinstance(operation := self.operations[number], Overlap):
                told += [line for each in listed(operation, self.names) for line in _commented(f"    {each}")]
        line = " ".join(printable(call_text(self.operations[first], self.names)).split())
        told.append(f"print({text_expression(line)})")
        told.append(f'print("the calls after it need the {what}: torntail replay performs the whole case")')
        return told

    def _ordinary(self, number: int, operation: Operation) -> list[str]:
        if isinstance(operation, Overlap):
            return overlap_lines(number, operation, self.history, self)
        statement = self.statement(number, operation)
        if isinstance(operation, Inspect):
            return [f'print("call {number}:", {statement[0]})']
        scribbles = getattr(operation, "scribble", False)
        if isinstance(operation, Read | Stat | ListSessions | ReadCounters) and not scribbles:
            statement = [f'print("call {number}:", {statement[0]})']
        if isinstance(operation, Read) and operation.scribble:
            self.helper(helpers.SCRIBBLE)
            statement = [f"got{number} = {statement[0]}", f"scribble(got{number})"]
        guarded = isinstance(self.outcomes.get(number), Raised | Hung) or not self.knows
        guarded = guarded or getattr(operation, "handle", None) in self.uncertain
        if guarded or (isinstance(operation, Leave) and (operation.raising or operation.cancelled)):
            self.helper(helpers.SHOWN)
            self.values.modules.add("contextlib")
            return [f"with shown({number}):", *_indented(statement)]
        return statement

    def offending(self, number: int, operation: Operation) -> list[str]:
        """The lines that make the call and keep its answer, or its error; see ``program_overlap.Maker``."""
        if isinstance(operation, Overlap):
            return overlap_lines(number, operation, self.history, self, offending=self.place)
        statement = self.statement(number, operation)
        first = "answer = None"
        if isinstance(operation, _NO_ANSWER):
            answer = statement
        elif isinstance(operation, OpenInstance | Create | OpenSession):
            name, _, rest = statement[0].partition(" = ")
            answer = [f"{name} = answer = {rest}", *statement[1:]]
        else:
            # The lines of a batch stand behind the call; those of a scribbled one before it.
            at = len(statement) - 1 if isinstance(operation, Append) and operation.scribble else 0
            at = 1 if isinstance(operation, Publish) and operation.scribble else at
            answer = [*statement[:at], f"answer = {statement[at]}", *statement[at + 1 :]]
        if isinstance(self.outcomes.get(number), Hung):
            first = f"answer = {text_expression(f'nothing within {HANG_SECONDS} s')}"
            answer = [f"async with asyncio.timeout({HANG_SECONDS}):", *_indented(answer)]
            caught = ["except TimeoutError:", "    pass", "except Exception as error:", "    answer = error"]
            return [first, "try:", *_indented(answer), *caught]
        return [first, "try:", *_indented(answer), "except Exception as error:", "    answer = error"]

    def statement(self, number: int, operation: Operation) -> list[str]:
        """The lines that make the call; where it is one expression, its line begins with ``await``."""
        instance, handle = _instance(operation), handle_name(getattr(operation, "handle", -1), self.names)
        of = self.values.of
        match operation:
            case Wait(seconds=seconds):
                return [f"pass  # {seconds:g} s pass here; move your clock, or put asyncio.sleep"]
            case CountLeft():
                return ["pass  # Look here at what is open: descriptors, tasks, threads."]
            case MakeRoot():
                return ["root.mkdir(parents=True)"]
            case OpenInstance():
                return [f"{instance} = await stack.enter_async_context({self._open()})"]
            case CloseInstance():
                return [f"await {instance}.close()"]
            case FlushInstance():
                return [f"await {instance}.flush()"]
            case ListSessions():
                return [f"await {instance}.list()"]
            case Stat(session=session):
                return [f"await {instance}.stat({of(session)})"]
            case Create(header=header, inherited=inherited):
                self.values.need("conformance", "SessionHeader")
                count = "" if inherited is None else f", inherited_event_count={of(inherited)}"
                call = f"{handle} = await {instance}.create({'header=' * operation.named}{{}}{count})"
                if not operation.scribble:
                    return [call.replace("{}", of(header), 1)]
                self.helper(helpers.SCRIBBLE)
                return helpers.overwritten_header(f"header{number}", of(header), call)
            case OpenSession(session=session, access=access, named=True):
                return [f"{handle} = await {instance}.open(session_id={of(session)}, access={of(access)})"]
            case OpenSession(session=session, access=access):
                return [f"{handle} = await {instance}.open({of(session)}, {of(access)})"]
            case Read(offset=offset, length=length, named=True):
                return [f"await {handle}.read(offset={of(offset)}, length={of(length)})"]
            case Read(offset=offset, length=length):
                given = "" if type(offset) is int and offset == 0 and length is None else of(offset)
                return [f"await {handle}.read({given}{'' if length is None else f', {of(length)}'})"]
            case Append():
                return self._append(number, handle, operation)
            case Flush() | Close():
                return [f"await {handle}.{operation.kind}()"]
            case Leave(raising=raising):
                inside = "raise asyncio.CancelledError" if operation.cancelled else "pass"
                if raising:
                    error = self.values.need("conformance", "SessionPersistenceError")
                    inside = f'raise {error}("an error of the caller\'s")'
                return [f"async with {handle}:", f"    {inside}"]
            case Discard():
                self.values.modules.add("gc")
                return [f"del {handle}  # It is never closed.", "gc.collect()", "await asyncio.sleep(0)"]
            case Fill() | Populate():
                return self._macro(instance, handle, operation)
            case StartCounting() | ReadCounters():
                self.values.modules.add("tracemalloc")
                self.helper(helpers.COUNTERS)
                return ["counters = Counters()" if isinstance(operation, StartCounting) else "counters.read()"]
            case HubCreate() | Publish() | HubFlush() | Dispose() | ReadWarnings() | Flood():
                return self._on_hub(operation)
            case Damage():
                return self._damage(number, operation)
            case Confine(room=room):
                self.helper(helpers.CONFINE)
                return [f"confine({room})"]
            case Inspect():
                return ["sorted((str(each), oct(each.stat().st_mode)) for each in root.parents[2].rglob('*'))"]
        raise TypeError(f"operation={operation!r:.80} has no form in a program")

    def _on_hub(self, operation: Operation) -> list[str]:
        self.values.need("conformance", "SessionHub")
        self.values.need("conformance.drivers.registry", "load_backend")
        self.helper(ATTACH.replace("SPEC", text_expression(self.spec)))
        if isinstance(operation, Publish) and operation.scribble:
            self.helper(helpers.SCRIBBLE)
        if isinstance(operation, Flood):
            self.values.modules.add("hashlib")
            self.helper(helpers.FILLER)
        return live_statement(operation, self.values.of)

    def _damage(self, number: int, operation: Damage) -> list[str]:
        self.values.need("conformance.drivers.registry", "load_backend")
        if operation.how in ("hostile", "plant"):
            self.values.need("conformance.drivers.hostile", "hostile")
        self.helper(HELPER.replace("SPEC", text_expression(self.spec)))
        return damage_lines(operation, self.outcomes.get(number), self.values.of)

    def _macro(self, instance: str, handle: str, operation: Fill | Populate) -> list[str]:
        self.values.modules.add("hashlib")
        self.helper(helpers.FILLER)
        if isinstance(operation, Populate):
            self.values.need("conformance", "SessionHeader")
        return helpers.macro_lines(instance, handle, operation)

    def _append(self, number: int, handle: str, operation: Append) -> list[str]:
        batch = self.batch(operation.events)
        if not operation.scribble:
            lines = [f"await {handle}.append({'events=' * operation.named}{batch[0]}", *batch[1:]]
            return [*lines[:-1], f"{lines[-1]})"]
        self.helper(helpers.SCRIBBLE)
        return [
            f"batch{number} = {batch[0]}",
            *batch[1:],
            f"task{number} = asyncio.ensure_future({handle}.append(batch{number}))",
            "await asyncio.sleep(0)  # The call is under way, and the caller reuses its batch.",
            f"scribble(batch{number})",
            f"await task{number}",
        ]

    def batch(self, events: object) -> list[str]:
        """The batch on one line, or one line for each event."""
        line = self.values.of(events)
        if len(line) <= WIDTH - 30 or type(events) is not list or not line.startswith("["):
            return [line]
        return ["[", *(f"    {self.values.of(each)}," for each in events), "]"]

    def _open(self) -> str:
        return f"open_backend({text_expression(self.spec)}, root)"

    def helper(self, source: str) -> None:
        """Put it before the calls, once."""
        self.helpers.add(source)


_PLAIN_ROOT = 'asyncio.run(main(Path(directory) / "root"))'
_DEEP_ROOT = """above = Path(directory) / "upper" / "lower"
        above.mkdir(parents=True)
        asyncio.run(main(above / "root"))"""

_ENTRY = """
if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(main(Path(directory) / "root"))
"""


def _instance(operation: Operation) -> str:
    return f"instance{getattr(operation, 'instance', '')}"


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _commented(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH - 8, initial_indent="#   ", subsequent_indent="#       ")


def _from(module: str, names: set[str]) -> str:
    return f"from {module} import {', '.join(sorted(names))}"


def _comment(clause: str) -> str:
    known = CLAUSES.get(clause)
    sentence = f"{clause} ({known.level}): {known.statement}" if known else clause
    text = " ".join(printable(sentence).split())
    return "\n".join(textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ")) + "\n"
