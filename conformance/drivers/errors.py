"""What goes wrong outside the contract: the user's spelling, the backend's start, or the kit itself.

None of these is a verdict about a clause. Each door turns them into its own exit code: ``UsageError`` and
``SetupError`` into 2 (pytest's 4), ``KitError`` into 4 (pytest's 3). ``NotMeasured`` ends no run: it is the reason of
the verdict of that name.
"""

from __future__ import annotations


class UsageError(Exception):
    """A bad option, an unknown backend, or a name that another package shadows; the message says the way out."""


class SetupError(UsageError):
    """The backend could not start; the message names the backend and the cause, which is also ``__cause__``."""


class KitError(Exception):
    """The kit contradicts itself, for instance the reference partner answers where the model allows something else."""


class NotMeasured(Exception):
    """Something may have been done that the kit cannot see, so that neither a pass nor a failure would be true.

    The message is the reason, with the way out.
    """


class Undecided(NotMeasured):
    """Of too many overlaps nobody can say in which order their calls took effect, so that they were not judged."""
