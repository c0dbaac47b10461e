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
        statement="Every accepted value is read back unchanged. This includes all Unicode scalars, such as NUL,"
        " U+2028, astral characters and non-characters; escapes; empty keys; at least 100 levels of nesting; strings"
        " of at least 4 MiB (32 MiB with the profile `ci`); integers as far as ±(2^53-1); the exact bits of finite"
        ' floats; and `true` as distinct from `1`. A backend with `numbers="exact"` also keeps `1` distinct from'
        " `1.0`.",
        source=f"{_LOSSLESS}; R210, R211, R212, R213, R224",
        narrower_than=("SVC-01", "READ-03", "READ-04"),
        reading="It holds for the metadata of headers too.",
    ),
    Clause(
        id="JSON-02",
        level="must",
        area="JSON",
        statement="What JSON has no word for is refused when the call is made, by `TypeError` or `ValueError`: NaN"
        " and infinities, bytes, sets, functions, dates, enums and other objects, dict keys other than text, and"
        " cyclic structures. The log is as before, and the seq can be used again.",
        source=f"{_LOSSLESS}; R216, R217, R125",
        needs=frozenset({Need.PYTHON_VALUES}),
        narrower_than=("SEQ-09",),
    ),
    Clause(
        id="JSON-03",
        level="must",
        area="JSON",
        statement="Some values are not safe in every JSON implementation: integers past ±(2^53-1), the sign of -0.0,"
        " and lone surrogates. Each is refused at the call or read back equal to the bit, and a tuple is refused or"
        " read back as a list; silent alteration is never allowed.",
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
        statement="Two different ids always mean two different logs. That goes for ids that differ in separators,"
        " dots, colons, percent signs, case, NFC against NFD, or dots and spaces at the end; for names reserved by"
        " devices and for control characters; and for lengths of 1, 255 and 1,024 characters and beyond 255 bytes of"
        " multi-byte text. If an id cannot be stored, `create` raises `ValueError`.",
        source="field reports R249, R250, R251, R254, R255",
        # A collision looks like a session that exists, changed or vanished; the ids are the cause.
        narrower_than=("SVC-02", "SVC-06"),
    ),
    Clause(
        id="ID-02",
        level="must",
        area="ID",
        statement="Every path the backend touches lies inside its root, whatever ids and headers contain.",
        source="field reports R259, R260, R261",
        needs=frozenset({Need.FILES}),
    ),
    Clause(
        id="ID-03",
        level="should",
        area="ID",
        statement="File permissions keep everyone but the owner from reading a session's artifact.",
        source='S0, What "one conversation" means',
        needs=frozenset({Need.FILES, Need.LOCATION}),
    ),
    Clause(
        id="ID-04",
        level="should",
        area="ID",
        statement="Artifacts made to do harm, by expanding enormously when decompressed, by never ending a line or by"
        " nesting deeper than the parser can follow, raise a corruption error when read and take only bounded memory.",
        source="field reports R273, R181, R278",
        needs=frozenset({Need.FRESH, Need.LOCATION, Need.DAMAGE}),
    ),
    Clause(
        id="ID-05",
        level="should",
        area="ID",
        statement="File names derived from distinct ids still differ after case folding and NFC normalisation.",
        source="field reports R249, R255",
        needs=frozenset({Need.FILES}),
    ),
)

CLAUSES = _JSON + _ID
