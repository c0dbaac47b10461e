"""Settings from ``[tool.torntail]`` of the project's ``pyproject.toml``, and the words in which budgets are written.

Both doors read them here. The keys are the long options of ``torntail run`` without their dashes; under pytest they
stand for the options of the same name. What stands on the command line wins. A key
that nobody knows, or a value of the wrong type, is a usage error: a setting that is silently ignored would check
something else than what its author believes.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from conformance.drivers.errors import UsageError

_TEXT = (str,)
_KEYS: Mapping[str, tuple[type, ...]] = {
    "backend": _TEXT,
    "profile": _TEXT,
    "budget": (str, int, float),
    "seed": (int,),
    "clause": (str, list),
    "max-examples": (int,),
    "durability": _TEXT,
    "preset": (str, list),
    "strict": (bool,),
    "require-measured": (bool,),
    "report": _TEXT,
}

_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def read_configuration(directory: Path) -> dict[str, Any]:
    """The settings of ``directory/pyproject.toml`` by the names of their parameters, dashes turned into underscores.

    Args:
        directory: where the command was started; only this directory is looked at, never its parents.

    Raises:
        UsageError: the file is no TOML, or a key or value is not one that Torntail knows.
    """
    path = directory / "pyproject.toml"
    if not path.is_file():
        return {}
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from error
    tool = document.get("tool", {})
    table = tool.get("torntail", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise UsageError(f"{path}: [tool.torntail] must be a table, found {table!r} of type {type(table).__name__}")
    return {key.replace("-", "_"): _checked(path, key, value) for key, value in table.items()}


def _checked(path: Path, key: str, value: Any) -> Any:
    allowed = _KEYS.get(key)
    if allowed is None:
        near = get_close_matches(key, _KEYS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(_KEYS)}"
        raise UsageError(f"{path}: unknown key {key!r} in [tool.torntail]; {hint}")
    # A bool is an int to Python, but "seed = true" is a slip.
    if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
        expected = " or ".join(kind.__name__ for kind in allowed)
        raise UsageError(
            f"{path}: {key}={value!r} of type {type(value).__name__} in [tool.torntail]; expected {expected}"
        )
    if list not in allowed:
        return value
    patterns: Any = [value] if isinstance(value, str) else value
    if not all(isinstance(pattern, str) for pattern in patterns):
        raise UsageError(f"{path}: {key}={value!r} in [tool.torntail]; expected a list of strings")
    return patterns


def parse_budget(text: str) -> float:
    """Seconds from ``"90"``, ``"90s"``, ``"5m"``, ``"1.5h"``.

    Raises:
        ValueError: anything else, and what is not above zero.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    seconds = float(found[1]) * _SECONDS[found[2]] if found else math.nan
    if not 0 < seconds < math.inf:
        raise ValueError(f"budget={text!r}: expected a time above zero such as 90, 90s, 5m or 2h")
    return seconds


def split_patterns(given: Iterable[str]) -> tuple[str, ...]:
    """Clause patterns from a repeatable option whose values may hold several, separated by commas."""
    return tuple(part.strip() for text in given for part in text.split(",") if part.strip())
