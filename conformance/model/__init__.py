"""The oracle: operations and histories as data, and the pure fold that judges them.

``operations`` and ``history`` are what every other part exchanges; ``judge`` is the fold, with its rules in ``*_rules``
and what it knows in ``state``. No I/O, no async, no Hypothesis, no backend. Modules are imported by name.
"""
