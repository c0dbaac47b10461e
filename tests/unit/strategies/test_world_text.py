"""Faker text: many scripts from one integer, the same in every process, short and plain at zero."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from conformance.model.batches import JsonGrade, json_grade
from strategies.conversations import conversation
from strategies.world_text import MAX_SEED, PLAIN, _generator, world_text

ROOT = Path(__file__).parents[3]
SEEDS = [0, 1, 63, 64, 4_711, 10**6, 2**31, MAX_SEED]

TELL = """
import json, random
random.seed(5)
from strategies.conversations import conversation
from strategies.world_text import world_text
seeds = json.loads(input())
print(json.dumps([[world_text(seed, number) for number in range(30)] for seed in reversed(seeds)][::-1]))
print(json.dumps(conversation([(7, [(3, 31), (1, 0)])], seed=seeds[-1])))
"""


@pytest.mark.parametrize("hash_seed", ["0", "12345"])
def test_text_is_the_same_in_every_process(hash_seed: str) -> None:
    """Neither the hash seed, nor the order of drawing, nor the global generator moves a text."""
    found = subprocess.run(
        [sys.executable, "-c", TELL],
        input=json.dumps(SEEDS),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
    )
    texts, told = map(json.loads, found.stdout.splitlines())
    assert texts == [[world_text(seed, number) for number in range(30)] for seed in SEEDS]
    assert told == conversation([(7, [(3, 31), (1, 0)])], seed=SEEDS[-1])


@settings(deadline=None)
@given(strategies.world_texts())
def test_texts_are_common_ground_and_not_empty(text: str) -> None:
    """Every text can be stored exactly."""
    assert text.strip()
    assert json_grade(text) == JsonGrade.COMMON


def test_texts_shrink_to_short_plain_english(minimal: Callable[..., Any]) -> None:
    """Zero is ``ok``; what must be longer is English first."""
    assert minimal(strategies.world_texts()) == PLAIN == "ok"
    assert minimal(strategies.text_seeds()) == 0
    assert minimal(strategies.world_texts(), lambda text: len(text) > 5).isascii()
    assert all(world_text(0, number) == PLAIN for number in range(5))
    assert all(world_text(seed).isascii() for seed in range(64))


def test_many_scripts_come_up(examples: Callable[..., list[Any]]) -> None:
    """Latin with marks, Cyrillic, Greek, Arabic, Hebrew, Thai, Devanagari, Bengali, Han, kana and Hangul."""
    letters = set("".join(examples(strategies.world_texts(), 250)))
    scripts = {unicodedata.name(letter).split()[0] for letter in letters if letter.isalpha()}
    assert {"LATIN", "CYRILLIC", "GREEK", "ARABIC", "HEBREW", "THAI", "DEVANAGARI", "BENGALI", "CJK"} <= scripts
    assert {"HIRAGANA", "KATAKANA", "HANGUL"} <= scripts
    assert "ü" in letters


def test_each_language_is_loaded_once() -> None:
    """However many texts are drawn, Faker builds one generator for each language."""
    _generator.cache_clear()
    for seed in range(1, 3_000, 7):
        world_text(seed)
    assert _generator.cache_info().misses <= len(strategies.LOCALES)


def test_faker_is_loaded_when_text_is_wanted() -> None:
    """Importing the strategies, and plain text, cost no import of Faker."""
    asked = "print('faker' in sys.modules)"
    script = f"import sys, strategies; strategies.world_text(0); {asked}; strategies.world_text(9); {asked}"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert found.stdout.split() == ["False", "True"]


@given(st.integers(1, MAX_SEED), st.integers(0, 50))
@settings(deadline=None, max_examples=50)
def test_texts_of_one_seed_differ_by_number(seed: int, number: int) -> None:
    """The texts of one conversation are not all alike."""
    assert len({world_text(seed, number + other) for other in range(8)}) > 1
