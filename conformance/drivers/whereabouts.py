"""The working directory of the process, which a backend may change, and which belongs to whoever started the run.

Each program begins where the backend's module left it, as in a process of its own: what one program did to it would
otherwise decide how the next one ends. No clause forbids a backend to change it; that it does so is noted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


class Whereabouts:
    """The working directory as it is now, to be put back.

    Attributes:
        directory: its path; "" where it was removed.
        moved: another one was found when it was put back.
    """

    def __init__(self) -> None:
        self.directory = _current()
        self.moved = False

    def put_back(self) -> None:
        """Go back to it, where the process is somewhere else by now.

        Raises:
            OSError: it is not there any more.
        """
        if self.directory and _current() != self.directory:
            self.moved = True
            os.chdir(self.directory)


@contextmanager
def staying(directory: str = "") -> Iterator[Whereabouts]:
    """Go to a directory, where one is given, and go back at the end.

    Raises:
        OSError: one of the two is not there.
    """
    before = Whereabouts()
    if directory and directory != before.directory:
        os.chdir(directory)
    try:
        yield before
    finally:
        before.put_back()


def _current() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""
