"""Running coroutine tests of this folder on a fresh real event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any


def on_a_loop(body: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """The coroutine function as a plain one; what the loop reports as unhandled fails the test."""

    @wraps(body)
    def run(*args: Any, **kwargs: Any) -> None:
        complaints: list[dict[str, Any]] = []

        async def watched() -> None:
            asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
            await body(*args, **kwargs)

        asyncio.run(watched())
        assert not complaints

    return run
