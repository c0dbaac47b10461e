"""Text as people of many languages write it, made by Faker from one integer.

Equal integers give equal text in every process, for one version of Faker: nothing global is seeded or read. Faker and
each of its languages are loaded when the first text needs them.
"""

from __future__ import annotations

import random
from functools import cache
from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    from faker import Faker

LOCALES = (
    "en_US",
    "de_DE",
    "fr_FR",
    "pl_PL",
    "ja_JP",
    "zh_CN",
    "zh_TW",
    "ko_KR",
    "ar_AA",
    "fa_IR",
    "he_IL",
    "ru_RU",
    "uk_UA",
    "el_GR",
    "hi_IN",
    "bn_BD",
    "th_TH",
    "vi_VN",
)
"""Languages of the texts; plain English first."""

_NAMES_ONLY = frozenset({"ko_KR", "hi_IN"})
"""Languages for which Faker has names of people but no words; a text in them is a row of names."""

PLAIN = "ok"
"""What every text of seed 0 is."""

MAX_SEED = 2**32 - 1
_ENGLISH_BELOW = 64


@cache
def world_texts() -> st.SearchStrategy[str]:
    """A few words in one of ``LOCALES``, not empty; shrinks to English, then to ``ok``."""
    return text_seeds().map(world_text)


@cache
def text_seeds() -> st.SearchStrategy[int]:
    """Seeds for ``world_text``; shrink to 0, of which every text is short and plain."""
    return st.integers(0, MAX_SEED)


def world_text(seed: int, number: int = 0) -> str:
    """A text made from a seed: ``ok`` for 0, a few English words below 64, else words in some language.

    Args:
        seed: 0 or more; greater ones give longer texts, up to 40 words.
        number: tells the texts of one seed apart.
    """
    if seed == 0:
        return PLAIN
    # Text of its own for each number, and no state that a text drawn elsewhere could have moved.
    chance = random.Random(f"{seed}/{number}")
    locale = LOCALES[0] if seed < _ENGLISH_BELOW else chance.choice(LOCALES)
    count = 1 + chance.randrange(min(seed.bit_length(), 8) * 5)
    generator = _generator(locale)
    generator.seed_instance(chance.getrandbits(32))
    if locale in _NAMES_ONLY:
        return ", ".join(generator.name() for _ in range(1 + count // 4))
    return generator.sentence(nb_words=count, variable_nb_words=False).strip()


@cache
def _generator(locale: str) -> Faker:
    """A generator with the providers that are needed here; one with all of them takes thirty times as long to make."""
    # Importing Faker takes a quarter of a second, which runs without a conversation should not pay.
    from faker import Faker

    kind = "person" if locale in _NAMES_ONLY else "lorem"
    return Faker(locale, providers=[f"faker.providers.{kind}"], use_weighting=False)
