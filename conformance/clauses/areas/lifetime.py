"""MAT, CLOSE and FLUSH: when a session begins to exist, and how handles and the service end."""

from __future__ import annotations

from conformance.clauses.needs import Need
from conformance.clauses.records import Clause, Condition

AREAS = {"MAT": "Materialisation", "CLOSE": "Close", "FLUSH": "Service-level flush"}

_PROVIDES = "S3, What the service provides"
_OWNERSHIP = "S3, Ownership and visibility"
_LIVE = "S3, The live write path and shutdown drain"

_MAT = (
    Clause(
        id="MAT-01",
        level="must",
        area="MAT",
        statement="A session that was just created can be seen at once in its own instance: by `stat`, by `list`, and"
        " by opening it for reading, where its log is empty.",
        source=_OWNERSHIP,
        narrower_than=("SVC-01", "SVC-06", "SVC-13"),
    ),
    Clause(
        id="MAT-02",
        level="must",
        area="MAT",
        statement='Unless the backend declares `materialization="eager"`, a fresh instance (another service over the'
        " same storage) does not see a new session before its first append or flush.",
        source=_OWNERSHIP,
        needs=frozenset({Need.FRESH}),
        narrower_than=("SVC-04", "SVC-05", "SVC-06", "SVC-13"),
        requires=(Condition.LAZY,),
        reading="From the call of the first append or flush until it resolves, either answer is right. While another"
        " instance holds the id pending, `create` in the fresh one may resolve or be refused with"
        " SessionAlreadyExistsError or SessionAlreadyOwnedError, and a write open may answer"
        " SessionPersistenceNotFoundError or SessionAlreadyOwnedError.",
    ),
    Clause(
        id="MAT-03",
        level="must",
        area="MAT",
        statement="A created session that is closed without a resolved append of at least one event and without a"
        " resolved flush never was, also when its only writes failed: it is visible nowhere and its id is free again."
        ' With `materialization="eager"` an empty session may remain instead, and `stat`, `list`, `open` and `create`'
        " then agree on it.",
        source=f"{_OWNERSHIP}; R036, R047",
        narrower_than=("SVC-04", "SVC-05", "SVC-06", "SVC-13"),
        requires=(Condition.LAZY,),
        reading='With materialization="eager" the clause does not apply; the agreement it still asks for is judged as'
        " SVC-13.",
    ),
    Clause(
        id="MAT-04",
        level="must",
        area="MAT",
        statement="`flush` on a session without events makes it visible to fresh instances (other services over the"
        " same storage), and durably so.",
        source=f"{_PROVIDES}; R098, R099",
        needs=frozenset({Need.FRESH}),
        narrower_than=("SVC-06", "FRESH-04", "DUR-02"),
    ),
    Clause(
        id="MAT-05",
        level="must",
        area="MAT",
        statement="After an append has resolved and its handle was closed, fresh instances (other services over the"
        " same storage) see the session with all its events.",
        source=f"{_OWNERSHIP}; R101, R095",
        needs=frozenset({Need.FRESH}),
        narrower_than=("SVC-06", "FRESH-04", "CLOSE-03"),
    ),
    Clause(
        id="MAT-06",
        level="must",
        area="MAT",
        statement="A read handle on a session that was erased from storage is answered with"
        " `SessionPersistenceNotFoundError`, or stays empty; it never shows a later session of the same id.",
        source="field reports R068, R071, R265",
        needs=frozenset({Need.LOCATION, Need.DAMAGE}),
        narrower_than=("READ-03",),
    ),
)

_CLOSE = (
    Clause(
        id="CLOSE-01",
        level="must",
        area="CLOSE",
        statement="`close` can be called any number of times, also at the same time: every later call does nothing of"
        " its own and ends as the first one ended, with its success or its error.",
        source=f"{_PROVIDES}; R092",
    ),
    Clause(
        id="CLOSE-02",
        level="must",
        area="CLOSE",
        statement="From the moment `close` is called, every other operation on that handle is refused with"
        " `SessionHandleClosedError`, before its arguments are looked at.",
        source=f"{_OWNERSHIP}; R097",
    ),
    Clause(
        id="CLOSE-03",
        level="must",
        area="CLOSE",
        statement="The first `close` of a write handle, once it resolves, is a barrier: what the handle appended"
        " before it, and what the log held when the handle was opened, is durable and visible to every instance.",
        source=f"{_PROVIDES}; R091, R092",
        narrower_than=("FRESH-04", "DUR-01"),
    ),
    Clause(
        id="CLOSE-04",
        level="must",
        area="CLOSE",
        statement="A `close` that is cancelled carries on: it neither blocks the session nor keeps ownership, and a"
        " following `close` joins it. A write open in the meantime is refused as owned.",
        source=f"{_PROVIDES}; R046",
        needs=frozenset({Need.CANCEL}),
        narrower_than=("OWN-01", "OWN-02", "CLOSE-01"),
    ),
    Clause(
        id="CLOSE-05",
        level="must",
        area="CLOSE",
        statement="Leaving a handle's async context manager closes the handle, and an exception raised inside the"
        " block passes through.",
        source=_PROVIDES,
        needs=frozenset({Need.PYTHON_VALUES}),
        narrower_than=("OWN-02", "CLOSE-02", "CLOSE-03"),
        reading="Where the close fails as well, its error may come along as context, as a note or in a group with the"
        " block's own.",
    ),
    Clause(
        id="CLOSE-06",
        level="must",
        area="CLOSE",
        statement="An append that was called before `close` is not dropped: it resolves and the close covers it, or"
        " it is rejected and nothing of it is stored.",
        source=f"{_LIVE}; R097",
        narrower_than=("SEQ-05", "CLOSE-03"),
    ),
    Clause(
        id="CLOSE-07",
        level="must",
        area="CLOSE",
        statement="Closing the service drains and closes every handle, and one that fails does not stop it; the"
        " failures come together as FLUSH-02 describes. Afterwards the handles refuse as closed.",
        source=f"{_LIVE}; R091, R124",
        narrower_than=("OWN-02", "CLOSE-02", "CLOSE-03", "FLUSH-02"),
        reading="A failing handle is tried where the kit can make one fail; the rest is tried everywhere.",
    ),
    Clause(
        id="CLOSE-08",
        level="must",
        area="CLOSE",
        statement="After the service is closed its operations are rejected and none hangs. A `create` or `open` that"
        " was in flight is rejected or its handle is closed with the rest, and closing again does nothing.",
        source=_LIVE,
        reading="Any exception is a rejection.",
    ),
)

_FLUSH = (
    Clause(
        id="FLUSH-01",
        level="must",
        area="FLUSH",
        statement="The service's `flush` does what a flush of every write handle active at its call would do: it"
        " covers their appends and, with a live path, their published events, and materialises their sessions.",
        source=f"{_PROVIDES}; R076",
        # Blamed where only the service's flush covered what is missing.
        narrower_than=("MAT-04", "FRESH-04", "DUR-01"),
    ),
    Clause(
        id="FLUSH-02",
        level="must",
        area="FLUSH",
        statement="A handle that fails does not stop the service's `flush`. The failures come as one `ExceptionGroup`"
        " with a member that names each failed session, by a `session_id`, by the id in its text, or in a note.",
        source=f"{_PROVIDES}; R121, R122, R124",
        needs=frozenset({Need.FRESH}),
        narrower_than=("FLUSH-01",),
        reading="A second instance that stores a pending id first is the way to make a handle fail without a storage"
        " fault, so a second instance is all that it needs.",
    ),
    Clause(
        id="FLUSH-03",
        level="must",
        area="FLUSH",
        statement="A handle whose `close` is called before or during the service's `flush` is not materialised by"
        " that flush and is no error of it. The flush resolves only after that close has ended, and names the session"
        " if the close failed.",
        source=_PROVIDES,
        narrower_than=("MAT-03", "FLUSH-01", "FLUSH-02"),
    ),
    Clause(
        id="FLUSH-04",
        level="must",
        area="FLUSH",
        statement="The service's `flush` leaves handles that were opened for reading alone.",
        source=_PROVIDES,
        narrower_than=("SVC-11", "FLUSH-01", "FLUSH-02"),
    ),
)

CLAUSES = _MAT + _CLOSE + _FLUSH
