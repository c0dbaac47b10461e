"""JSON and ID: that values come back as they were given, and that ids neither collide nor escape."""

from __future__ import annotations

from conformance.clauses.needs import Need
from conformance.clauses.records import Clause

AREAS = {"JSON": "Lossless JSON", "ID": "Identity and safety"}

_LOSSLESS = "S3, The invariants every backend honors"

_JSON = (
    Clause(
        id="JSON-01",
        level="must",
        area="JSON",
        statement="Accepted data comes back exactly: every Unicode scalar (NUL, U+2028, astral and non-characters"
        " among them), escapes, empty keys, nesting of 100 levels and more, strings of 4 MiB and more (32 MiB under"
        " the profile `ci`), integers to ±(2^53-1), finite floats to the bit, and `true` never as `1`. With"
        ' `numbers="exact"`, `1` never comes back as `1.0` either.',
        source=f"{_LOSSLESS}; R210, R211, R212, R213, R224",
        narrower_than=("SVC-01", "READ-03", "READ-04"),
        reading="It holds for the metadata of headers too.",
    ),
    Clause(
        id="JSON-02",
        level="must",
        area="JSON",
        statement="NaN, infinities, bytes, sets, functions, dates, enums, objects, keys that are not text, and cycles"
        " are refused at the call with `TypeError` or `ValueError`; nothing is stored, and the seq stays free.",
        source=f"{_LOSSLESS}; R216, R217, R125",
        needs=frozenset({Need.PYTHON_VALUES}),
        narrower_than=("SEQ-09",),
    ),
    Clause(
        id="JSON-03",
        level="must",
        area="JSON",
        statement="What lies beyond JSON's common ground (integers past ±(2^53-1), -0.0 to the bit, lone surrogates)"
        " is refused at the call or comes back equal, and a tuple is refused or comes back as a list; nothing is ever"
        " altered.",
        source=f"{_LOSSLESS}; R218, R220, R221, R223",
        narrower_than=("SVC-01", "READ-03", "READ-04"),
        reading="Equal means to the bit for -0.0. Tuples are tried where the route can pass them on.",
    ),
)

_ID = (
    Clause(
        id="ID-01",
        level="must",
        area="ID",
        statement="Distinct ids never share storage, whatever they hold: separators, dots, colons, percent signs,"
        " case variants, NFC and NFD pairs, trailing dots and spaces, reserved device names, control characters, 1,"
        " 255 and 1,024 characters, or multi-byte text past 255 bytes. An id that the backend cannot store is refused"
        " at `create` with `ValueError`.",
        source="field reports R249, R250, R251, R254, R255",
        # A collision looks like a session that exists, changed or vanished; the ids are the cause.
        narrower_than=("SVC-02", "SVC-06"),
    ),
    Clause(
        id="ID-02",
        level="must",
        area="ID",
        statement="No id and no field of a header makes the backend touch a path outside its root.",
        source="field reports R259, R260, R261",
        needs=frozenset({Need.FILES}),
    ),
    Clause(
        id="ID-03",
        level="should",
        area="ID",
        statement="Artifacts are readable by their owner only.",
        source='S0, What "one conversation" means',
        needs=frozenset({Need.FILES, Need.LOCATION}),
    ),
    Clause(
        id="ID-04",
        level="should",
        area="ID",
        statement="Reading a hostile artifact (a decompression bomb, an endless line, nesting past the parser's"
        " limit) fails with a corruption error in bounded memory.",
        source="field reports R273, R181, R278",
        needs=frozenset({Need.FRESH, Need.LOCATION, Need.DAMAGE}),
    ),
    Clause(
        id="ID-05",
        level="should",
        area="ID",
        statement="The names that a file backend makes for distinct ids stay distinct when case is ignored and under"
        " NFC normalisation.",
        source="field reports R249, R255",
        needs=frozenset({Need.FILES}),
    ),
)

CLAUSES = _JSON + _ID
