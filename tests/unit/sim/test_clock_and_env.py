"""Virtual time, and the environment a backend's factory is given."""

from __future__ import annotations

import pytest

from conformance.sim import Env, VirtualClock


def test_time_moves_only_forward_and_only_when_told() -> None:
    """Reading leaves the clock where it is; going back is refused and changes nothing."""
    clock = VirtualClock()
    start = (clock.now_us, clock.now_ms(), clock.monotonic())
    assert (clock.now_us, clock.now_ms(), clock.monotonic()) == start
    clock.advance_to(2_500)
    clock.advance_to(2_500)
    assert (clock.now_us, clock.now_ms() - start[1]) == (2_500, 2)
    assert clock.monotonic() - start[2] == pytest.approx(0.0025)
    with pytest.raises(ValueError, match="cannot go back: it is 2500 us"):
        clock.advance_to(2_499)
    assert clock.now_us == 2_500
    with pytest.raises(ValueError, match="-1"):
        VirtualClock(-1)


def test_env_shows_the_clock() -> None:
    """The environment's times are those of its clock, as it moves."""
    clock = VirtualClock()
    env = Env(clock)
    for now_us in (0, 1_000, 77_000_123):
        clock.advance_to(now_us)
        assert (env.now_ms(), env.monotonic()) == (clock.now_ms(), clock.monotonic())


def test_tokens_are_unique_hex_of_the_length_asked_for() -> None:
    """All tokens of one length differ until that length is used up, which is an error."""
    env = Env(VirtualClock())
    tokens = [env.token(2) for _ in range(256)]
    assert sorted(tokens) == [f"{value:02x}" for value in range(256)]
    with pytest.raises(ValueError, match="no unique token"):
        env.token(2)
    assert {len(env.token(n)) for n in (3, 16, 64, 100)} == {3, 16, 64, 100}
    with pytest.raises(ValueError, match="n=0"):
        env.token(0)


def test_tokens_repeat_from_world_to_world() -> None:
    """Two worlds give the same tokens in the same order; another seed gives others."""
    worlds = [Env(VirtualClock()), Env(VirtualClock()), Env(VirtualClock(), seed=5)]
    first, second, other = ([env.token(8) for _ in range(4)] for env in worlds)
    assert first == second
    assert first != other
