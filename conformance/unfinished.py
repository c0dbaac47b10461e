"""Runs that died in the middle of a program: what their journals hold is kept as cases, and told."""

from __future__ import annotations

import shlex

from conformance import __version__
from conformance.drivers.journal import Journal
from conformance.planning import Plan
from conformance.report.cases import Case
from conformance.report.events import WarningRaised
from conformance.report.fingerprints import fingerprint

_UNFINISHED = "unfinished"


def keep_unfinished(plan: Plan) -> list[WarningRaised]:
    """What to say of runs that died in the middle of a program; each such program is saved as a case first.

    The dead run's seed is not known, so the case carries this run's. Its backend is known by name: where that is the
    name of this run's, the case gets the spec as well, by which it is found again.
    """
    settings = plan.settings
    programs, unreadable = Journal.unfinished(settings.state)
    warnings = [
        WarningRaised(
            text=f"what an earlier run was doing when it died cannot be read; it is kept as {settings.typed(each)}"
        )
        for each in unreadable
    ]
    for left in programs:
        case = Case(
            kit_version=__version__,
            backend=settings.backend if left.backend == plan.backend.name else left.backend,
            clause=_UNFINISHED,
            item=left.item,
            seed=settings.seed,
            program=tuple(left.program.to_json()),
            fingerprint=fingerprint(_UNFINISHED, left.program),
        )
        place = settings.typed(case.save(settings.state / "cases"))
        text = (
            f"an earlier run died in {left.item} of {left.backend}, in the last of"
            f" {len(left.program.operations)} calls; to make them again: torntail replay {shlex.quote(str(place))}"
        )
        warnings.append(WarningRaised(text=text))
    return warnings
