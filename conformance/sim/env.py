"""What a backend's factory is given as `env`: time and tokens from the simulated world.

Promises: the same calls in the same order give the same answers in every process, and no token is
given twice for one length. One `Env` belongs to one simulated world and is shared by all instances
that are opened in it, so that a fresh instance never meets a token of its predecessor.

Does not: patch anything. A backend that ignores `env` gets wall time and random tokens as usual.
"""

from __future__ import annotations

from typing import Protocol

# Any odd multiplier permutes the n-digit hex numbers; this one scatters neighbours over all digits.
_SCATTER = 0x9E3779B97F4A7C15F39CC0605CEDC8341082276BF3A27251F86C6A11D0C18E95


class Clock(Protocol):
    """What `Env` needs of a clock: Unix milliseconds and monotonic seconds."""

    def now_ms(self) -> int:
        """Unix time in milliseconds."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        ...


class Env:
    """The world's clock and its source of unique tokens."""

    __slots__ = ("_clock", "_seed", "_tokens_given")

    def __init__(self, clock: Clock, *, seed: int = 0) -> None:
        self._clock = clock
        self._seed = seed
        self._tokens_given = 0

    def now_ms(self) -> int:
        """Unix time in milliseconds, as the simulated world has it."""
        return self._clock.now_ms()

    def monotonic(self) -> float:
        """Seconds of the simulated monotonic clock."""
        return self._clock.monotonic()

    def token(self, n: int) -> str:
        """A string of exactly `n` lower-case hex characters (not bytes), unlike any given before.

        Raises `ValueError` for n < 1 and when the 16**n tokens of that length are used up.
        """
        if n < 1:
            raise ValueError(f"a token has at least one character, not n={n!r}")
        space = 16**n
        self._tokens_given += 1
        if self._tokens_given > space:
            raise ValueError(f"no unique token of n={n!r} hex characters is left; ask for a longer")
        # The n lowest digits of an odd multiple: different counters below 16**n never collide.
        return f"{(self._seed + self._tokens_given) * _SCATTER % space:0{n}x}"
