"""One thing that a crash may leave, and a list of them.

Promises: a state names what was lost so that it can be made again from that alone, and has a key that is equal exactly
where no program that opens the files could tell two states apart.

Does not: know which states there are; `states` does.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from conformance.sim.disk.chains import Effect
from conformance.sim.disk.content import Tear
from conformance.sim.disk.image import Tree
from conformance.sim.disk.namespace import linked_paths

WHAT_A_CRASH_TAKES = "what the crash takes"
"""Label of the first choice of a state: 0 nothing, 1 everything it may, 2 a suffix of it, 3 effect by effect."""


@dataclass(frozen=True, slots=True)
class State:
    """One thing that a crash may leave.

    Attributes:
        lost: the effects that did not survive, of each chain the first; of part "garbage" where something stands in
            the place of a lost page.
        tear: the page that survived only in part, or None.
        tree: the files. key: equal where the trees are equal, and the same paths are one file in both.
    """

    lost: tuple[Effect, ...]
    tear: Tear | None
    tree: Tree
    key: Hashable = field(repr=False)

    @property
    def weight(self) -> tuple[int, int]:
        """What an explanation has to explain: lost effects, then tears."""
        return len(self.lost), self.tear is not None


@dataclass(frozen=True, slots=True)
class Enumeration:
    """The states of one crash point.

    Attributes:
        states: distinct ones, nothing-lost first. legal: in how many ways effects may survive, as far as they were
            counted; several may leave the same files. is_exhaustive: whether `states` has all.
    """

    states: tuple[State, ...]
    legal: int
    is_exhaustive: bool


def key_of(tree: Tree) -> Hashable:
    """Two trees share it exactly where they are equal and the same paths are one file in both.

    Two names of one file and two equal files differ in what the next append does.
    """
    files = sorted(tree.files.items())
    # A path without an inode is a file of its own.
    known = [(path, tree.inodes[path]) for path, _ in files if path in tree.inodes]
    return tuple(files), tree.directories, tuple(sorted(tree.symlinks.items())), tree.specials, linked_paths(known)
