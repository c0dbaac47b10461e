"""The pytest door's threshold: the options, the spelling ``--backend``, and nothing else until a backend is given.

An installed plugin is imported in every pytest run of its users, so this module imports pytest and no other. With a
backend it registers one object, ``conformance.pytest_door.Door``, which does the work and holds the state.

``--backend`` itself is never registered, because projects define options of that name, and registering it twice would
break them. Once the conftests are loaded and nobody else knows it, it is rewritten to ``--torntail-backend``.
"""

from __future__ import annotations

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

SPELLED = "--backend"
OPTION = "--torntail-backend"

SELECTION: pytest.StashKey[tuple[tuple[str, ...], bool]] = pytest.StashKey()
"""The selectors among the arguments, and whether only the kit runs; set where a backend is given."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options, all of them prefixed."""
    group = parser.getgroup("torntail", "torntail: check a session-log backend against the contract")
    group.addoption(
        OPTION,
        metavar="BACKEND",
        help="check this backend: a registered name, module:attribute or path/to/file.py:attribute; "
        "also spelled --backend where no plugin or conftest defines that",
    )
    group.addoption("--torntail-profile", metavar="NAME", help="how much: smoke, default, ci, nightly or soak")
    group.addoption("--torntail-budget", metavar="TIME", help="wall-clock time for the whole run: 90, 90s, 5m or 2h")
    group.addoption("--torntail-seed", type=int, metavar="N", help="repeat the random choices of an earlier run")
    group.addoption(
        "--torntail-clause",
        action="append",
        metavar="PATTERN",
        help="only these clauses: SEQ-02, SEQ, 'OWN-1*'; repeatable, or separated by commas",
    )
    group.addoption("--torntail-max-examples", type=int, metavar="N", help="random histories for each machine")
    group.addoption("--torntail-durability", metavar="LEVEL", help="check this level, claimed or not")
    group.addoption(
        "--torntail-preset",
        action="append",
        metavar="NAME",
        help="sweep this kind of crash too, say btrfs; beyond the durability it is reported only; repeatable",
    )
    group.addoption("--torntail-strict", action="store_true", default=None, help="should clauses fail the run too")
    group.addoption(
        "--torntail-require-measured",
        action="store_true",
        default=None,
        help="a gating clause that cannot be measured here fails the run",
    )
    group.addoption("--torntail-report", metavar="DIR", help="write the results here")


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, None, None]:
    """Rewrite ``--backend`` where it is nobody else's, and tell selectors and paths apart."""
    yield
    ours = _is_unknown(parser)
    if ours:
        args[:] = _rewritten(args)
    given, _ = parser.parse_known_and_unknown_args(args)
    if given.torntail_backend is None:
        return
    invoked = [str(arg) for arg in early_config.invocation_params.args]
    named, _ = parser.parse_known_and_unknown_args(_rewritten(invoked) if ours else invoked)
    selectors = tuple(arg for arg in given.file_or_dir if is_selector(arg, early_config))
    only_kit = all(is_selector(arg, early_config) for arg in named.file_or_dir)
    early_config.stash[SELECTION] = (selectors, only_kit)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Where a backend is given: keep pytest from what it was not asked for, and open the door."""
    if SELECTION not in config.stash:
        return
    selectors, only_kit = config.stash[SELECTION]
    if only_kit:
        # Neither the working directory nor testpaths is collected when nobody named a path.
        config.args[:] = []
        config.args_source = config.ArgsSource.ARGS
    else:
        config.args[:] = [arg for arg in config.args if arg not in selectors]
    from conformance.drivers.errors import UsageError
    from conformance.drivers.shadowing import check_not_shadowed

    try:
        check_not_shadowed()
    except UsageError as error:
        raise pytest.UsageError(str(error)) from error
    from conformance.pytest_door import Door

    config.pluginmanager.register(Door(config, selectors), "torntail-door")


def is_selector(arg: str, config: pytest.Config) -> bool:
    """Whether an argument names checks of the kit and no file: ``conformance``, ``../conformance::seq::gap``.

    pytest prints ids relative to the working directory, hence the dots. A directory called ``conformance`` stays a path
    as long as nothing is selected inside it with ``::``.
    """
    place, colons, _ = str(arg).partition("::")
    if place.replace("\\", "/").rpartition("/")[2] != "conformance":
        return False
    path = config.invocation_params.dir / place
    return not (path.is_file() if colons else path.exists())


def _is_unknown(parser: pytest.Parser) -> bool:
    """Whether no plugin and no conftest defines ``--backend``."""
    probe = f"{SPELLED}=x"
    try:
        _, unknown = parser.parse_known_and_unknown_args([probe])
    except pytest.UsageError:
        # Somebody knows the option well enough to refuse this value.
        return False
    return probe in unknown


def _rewritten(args: Sequence[str]) -> list[str]:
    """``--backend x`` and ``--backend=x`` in our own spelling, up to a bare ``--``."""
    end = args.index("--") if "--" in args else len(args)
    prefix = f"{SPELLED}="
    options = [OPTION + arg[len(SPELLED) :] if arg == SPELLED or arg.startswith(prefix) else arg for arg in args[:end]]
    return [*options, *args[end:]]
