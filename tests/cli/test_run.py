"""``torntail run``: settings, exit codes, and what is left on the terminal and in the report folder."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result

from conformance.cli import run as run_command
from conformance.drivers.errors import UsageError
from conformance.drivers.journal import Journal
from conformance.report.cases import load_case
from conformance.report.events import FailureFound, ReportEvent, RunFinished, RunStarted
from conformance.report.lines import read_lines
from conformance.runner import Plan, Settings
from tests.cli.conftest import Command, torntail_command

MUTANT = f"{Path(__file__).parents[1] / 'mutants' / 'seq.py'}:gap_accepted"
QUICK = ("--profile", "smoke", "--max-examples", "5", "--seed", "7")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings that the runner is asked for; nothing is run."""
    found: list[Settings] = []

    def make_plan(settings: Settings) -> Plan:
        found.append(settings)
        raise UsageError("asked, and that is all")

    monkeypatch.setattr(run_command, "make_plan", make_plan)
    return found


@pytest.fixture(scope="module")
def violated(once_patched: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """What a run printed that found a violation, and the folder of its report."""
    place = tmp_path_factory.mktemp("violated")
    with pytest.MonkeyPatch.context() as elsewhere:
        elsewhere.chdir(place)
        found = torntail_command("run", MUTANT, *QUICK, "--clause", "SEQ-02", "--report", "out", "--no-colour")
    return found, place / "out"


def test_a_backend_that_conforms_exits_with_0(command: Command) -> None:
    """The report ends without a failure, and the exit code says so."""
    found = command("run", "memory", *QUICK, "--clause", "SEQ-01,SEQ-02")
    assert found.exit_code == 0, found.output
    assert "2/2 must" in found.output
    assert "0 failed" in found.output
    assert found.output.splitlines()[0].endswith("memory, profile smoke, seed 7")


def test_a_violation_exits_with_1_and_is_shown_last(violated: tuple[Result, Path]) -> None:
    """The clause is named with what was expected and observed; the last line repeats it."""
    found, _ = violated
    assert found.exit_code == 1, found.output
    assert "FAILED  SEQ-02 (must)" in found.output
    assert "expected" in found.output
    assert "observed" in found.output
    assert found.output.rstrip().splitlines()[-1].split()[0] == "reproduce"


def test_the_report_folder_holds_everything(violated: tuple[Result, Path], here: Path) -> None:
    """Results as lines, the summary as text, and each failure as a program that shows it when it is run."""
    found, out = violated
    results = read_lines(out / "results.jsonl")
    assert results.complete
    assert isinstance(results.events[0], RunStarted)
    assert results.events[0].seed == 7
    assert (out / "summary.txt").read_text("utf-8").splitlines()[0] == found.output.splitlines()[0]
    (first, *_) = sorted((out / "failures").iterdir())
    assert first.name == "01-SEQ-02.py"
    shown = subprocess.run([sys.executable, first], cwd=here, capture_output=True, text=True, check=True)
    assert "observed:" in shown.stdout


def test_an_older_report_does_not_linger(command: Command, violated: tuple[Result, Path], here: Path) -> None:
    """A folder that is used again shows this run and no failure of the one before."""
    shutil.copytree(violated[1], here / "out")
    assert (here / "out" / "failures").is_dir()
    command("run", "memory", *QUICK, "--clause", "SEQ-01", "--report", "out")
    assert not (here / "out" / "failures").exists()
    assert not any(isinstance(event, FailureFound) for event in read_lines(here / "out" / "results.jsonl"))


def test_a_report_that_cannot_be_written_is_told_first(command: Command, here: Path) -> None:
    """A folder that cannot be made is a usage error, before the checks have cost any time."""
    (here / "file").write_text("", "utf-8")
    found = command("run", "memory", "--report", "file/out")
    assert found.exit_code == 2
    assert "cannot be written" in found.output


def test_the_command_line_wins_over_the_project(command: Command, here: Path, asked: list[Settings]) -> None:
    """Settings of [tool.torntail] hold where the command line says nothing."""
    body = 'backend = "memory"\nprofile = "ci"\nseed = 5\nclause = ["SEQ"]\nstrict = true\nbudget = "5m"\n'
    body += 'preset = "btrfs"\n'
    (here / "pyproject.toml").write_text(f"[tool.torntail]\n{body}", "utf-8")
    command("run", "--profile", "smoke", "--max-examples", "9")
    command("run", "jsonl", "--seed", "6", "--clause", "OWN,REV-01", "--durability", "none", "--preset", "xfs,posix")
    first, second = asked
    assert (first.backend, first.profile, first.seed, first.clauses) == ("memory", "smoke", 5, ("SEQ",))
    assert (first.strict, first.budget, first.max_examples) == (True, 300, 9)
    assert (second.backend, second.profile, second.seed) == ("jsonl", "ci", 6)
    assert (second.clauses, second.durability) == (("OWN", "REV-01"), "none")
    assert (first.presets, second.presets) == (("btrfs",), ("xfs", "posix"))


def test_a_seed_is_drawn_where_none_is_given(command: Command, asked: list[Settings]) -> None:
    """Two runs without a seed do not make the same choices."""
    command("run", "memory")
    command("run", "memory")
    assert asked[0].seed != asked[1].seed


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), 'backend = "..." in [tool.torntail]'),
        (("memry",), "Did you mean 'memory'?"),
        (("memory", "--clause", "SEQQ"), "did you mean SEQ"),
        (("memory", "--profile", "quick"), "smoke"),
        (("memory", "--budget", "5d"), "2h"),
        (("memory", "--durability", "fire"), "power-loss"),
        (("memory", "--preset", "btrfz"), "kill, ordered, ext4, xfs, btrfs, posix, paranoid"),
        (("memory", "--max-examples", "0"), "max-examples"),
    ],
)
def test_slips_are_usage_errors(command: Command, arguments: tuple[str, ...], told: str) -> None:
    """What was misspelt is told with the way out, exit 2."""
    found = command("run", *arguments)
    assert found.exit_code == 2
    assert told in found.output


def test_a_backend_that_cannot_start_exits_with_2(command: Command, here: Path) -> None:
    """A factory that raises is named with its cause, and nothing reads as a violation."""
    text = "from conformance import Backend\n\ndef explode(root):\n    raise RuntimeError('no such volume')\n"
    (here / "broken.py").write_text(text + "\nbackend = Backend(name='broken', open=explode)\n", "utf-8")
    found = command("run", "broken.py:backend", *QUICK)
    assert found.exit_code == 2, found.output
    assert "broken" in found.output
    assert "no such volume" in found.output


def test_an_interrupted_run_still_reports(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found before Ctrl-C is shown, and the exit code is 130."""

    def interrupted(plan: Plan, sink: object) -> int:
        assert callable(sink)
        started: ReportEvent = plan.started()
        sink(started)
        sink(RunFinished(seconds=1.0, interrupted=True))
        return 130

    monkeypatch.setattr(run_command, "run", interrupted)
    found = command("run", "memory", *QUICK)
    assert found.exit_code == 130
    assert "interrupted" in found.output


def test_a_program_that_killed_an_earlier_run_is_reported(command: Command, here: Path) -> None:
    """What a dead run had begun is kept as a case and told before anything else."""
    code = (
        "import os\nfrom pathlib import Path\nfrom conformance.drivers.journal import Journal\n"
        "from conformance.model.operations import OpenInstance\n"
        "journal = Journal(Path('.torntail'))\njournal.begin('conformance::seq::some_item', 'memory')\n"
        "journal.note(OpenInstance(0))\nos._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=here, check=False)
    found = command("run", "memory", *QUICK, "--clause", "SEQ-01")
    assert found.exit_code == 0
    assert "an earlier run died in conformance::seq::some_item" in found.output
    (case,) = (here / ".torntail" / "cases").glob("unfinished-*.json")
    assert [form["do"] for form in load_case(case).program] == ["open_instance"]
    assert Journal.unfinished(here / ".torntail") == ([], [])
    assert command("replay", str(case)).exit_code == 0


GAP = f"{Path(__file__).resolve().parents[1]}/mutants/seq.py:gap_accepted"


def test_a_failure_that_cannot_be_saved_is_told(command: Command, here: Path) -> None:
    """The verdict does not depend on the file that would repeat it."""
    (here / ".torntail").mkdir()
    (here / ".torntail" / "cases").write_bytes(b"")
    found = command("run", GAP, *QUICK, "--clause", "SEQ-02")
    assert found.exit_code == 1
    assert "FAILED  SEQ-02" in found.output
    assert "could not be saved" in found.output


def test_a_directory_that_cannot_be_written_is_told_first(command: Command, here: Path) -> None:
    """It is a usage error, in one sentence, before anything is judged."""
    (here / ".torntail").write_bytes(b"")
    found = command("run", "memory", *QUICK)
    assert found.exit_code == 2
    assert "cannot be kept there" in found.output
    assert "Traceback" not in found.output


def test_the_report_takes_away_only_what_is_its_own(command: Command, here: Path) -> None:
    """A folder of failures may be somebody else's."""
    (here / "failures").mkdir()
    for name in ("mine.txt", "01-SEQ-02.py"):
        (here / "failures" / name).write_text("x", "utf-8")
    assert command("run", "memory", *QUICK, "--clause", "SEQ-04", "--report", ".").exit_code == 0
    assert [each.name for each in (here / "failures").iterdir()] == ["mine.txt"]


LOST_ON_BTRFS = f"{Path(__file__).resolve().parents[1]}/mutants/dur.py:parents_are_not_synced"
"""A directory above the root is not synced: btrfs may lose it, while ext4 and XFS commit it with the rest."""


@pytest.mark.parametrize(
    ("level", "preset", "code"),
    [("power-loss", "btrfs", 0), ("power-loss-strict", "posix", 1)],
)
def test_a_preset_beyond_the_durability_gates_nothing(
    command: Command, here: Path, level: str, preset: str, code: int
) -> None:
    """What takes a crash that the level need not withstand is told in full and exits 0; else it exits 1."""
    # The size of the run is that of its examples and sweeps, and no busy machine cuts it short.
    size = ("--profile", "smoke", "--max-examples", "1", "--budget", "1h")
    arguments = ("--clause", "DUR-02", "--durability", level, *size)
    found = command("run", LOST_ON_BTRFS, *arguments, "--preset", preset, "--report", "out")
    assert found.exit_code == code, found.output
    assert f"also under {preset}" in found.output
    assert f"conformance::sweep::crash[{preset}]" in found.output
    assert "missing barrier: fsync(directory the directory above the root)" in found.output
    told = " ".join(found.output.split())
    mild = f'DUR-02 is violated and does not gate: durability="{level}" has not to withstand "{preset}"'
    assert (mild in told) == (code == 0)
    assert ("1/1 must · 0 not exercised · 0 failed · 1 failed beyond the durability" in told) == (code == 0)
    assert ("VIOLATED, NOT GATING DUR-02" in told) == (code == 0)


def test_the_reference_withstands_btrfs(command: Command) -> None:
    """Asked for, btrfs is swept, and finds nothing in the reference; a disk that lies is another matter."""
    arguments = ("--clause", "DUR-01,TORN", "--profile", "smoke", "--max-examples", "1", "--budget", "1h")
    found = command("run", "jsonl", *arguments, "--preset", "btrfs", "--preset", "paranoid")
    assert found.exit_code == 0, found.output
    assert "crashes    btrfs: " in found.output
    assert 'withstand "btrfs"' not in found.output
    assert "(paranoid)" in found.output


def test_where_nothing_crashes_a_preset_changes_nothing(command: Command) -> None:
    """A backend in memory has no crash, whatever is asked for."""
    found = command("run", "memory", "--clause", "SEQ-01,DUR-01", "--profile", "smoke", "--preset", "btrfs")
    assert found.exit_code == 0
    assert "btrfs: " not in found.output


MOVING = """
import os
from conformance import Backend
from reference_backend.memory import MemoryPersistence, memory

{at_import}


class Service(MemoryPersistence):
    async def create(self, *args, **kwargs):
        {in_call}
        return await super().create(*args, **kwargs)


moving = Backend(name="moving", open=lambda root: Service(), capabilities=memory.capabilities)
"""


@pytest.mark.parametrize("when", ["at_import", "in_call"])
def test_a_backend_that_changes_the_working_directory_takes_nothing_along(
    command: Command, here: Path, tmp_path_factory: pytest.TempPathFactory, when: str
) -> None:
    """State and report are where the run was started, and that the backend moved is said once."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    moves = {"at_import": "", "in_call": ""} | {when: f"os.chdir({str(elsewhere)!r})"}
    (here / "moving.py").write_text(MOVING.format(**moves), "utf-8")
    found = command("run", "moving.py:moving", *QUICK, "--clause", "SEQ-04", "--report", "out")
    assert found.exit_code == 0, found.output
    assert " ".join(found.output.split()).count("the backend changes the working directory") == 1
    assert Path.cwd() == here
    assert list(elsewhere.iterdir()) == []
    assert (here / ".torntail").is_dir()
    assert (here / "out" / "summary.txt").is_file()
