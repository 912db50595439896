"""Pairs written by hand, in `pairs/`: for training, for calibration, and hidden ones for measurements only.

Those of `calibration` and `hidden` are hard on purpose; those of `calibration_plans` and `hidden_plans` are texts as
planners write them, with the mistakes that they make.

A line is a pair, or for training also a group: a text with others of the same meaning and with near misses. Each file
is by another writer, who saw neither the rules of the judge nor the other files.
"""

import json
import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from evaluator.controlllm.training.same_meaning.generated import TextPair
from evaluator.core.canonical_json import digest

FOLDER = Path(__file__).parent / "pairs"
Part = Literal["train", "calibration", "calibration_plans", "hidden", "hidden_plans"]
HIDDEN_PARTS: tuple[Part, ...] = ("hidden_plans", "hidden")
_DIRECTED = frozenset({"object", "ask", "action"})
"""Kinds whose wanted text is a name or an ask of the judge, so that no other text of a group can take its place."""
_UNRELATED, _EMPTY = 0.06, 0.05
"""Shares of pairs in training with a text from elsewhere, and with one that asks for nothing in particular."""
_OPEN = ("describe", "list", "what is happening", "what can be seen", "caption")
"""First words of wanted texts that a text without a subject may match."""
_GROUP_WEIGHT = 4.0
"""Of a group beside a pair, since it has more texts."""


def _files(part: Part) -> list[Path]:
    return sorted((FOLDER / part).glob("*.jsonl"))


@cache
def _lines(part: Part) -> tuple[Mapping[str, Any], ...]:
    return tuple(json.loads(line) for file in _files(part) for line in file.read_text(encoding="utf-8").splitlines())


def pairs_digest(part: Part) -> str:
    """Digest of the files of a part."""
    return digest({file.name: file.read_text(encoding="utf-8") for file in _files(part)})


def natural_pairs(part: Part) -> list[TextPair]:
    """The single pairs of a part."""
    return [
        TextPair(
            kind=line["kind"], request=line["request"], wanted=line["wanted"], given=line["given"], same=line["same"]
        )
        for line in _lines(part)
        if "given" in line
    ]


def natural_groups() -> list[Mapping[str, Any]]:
    """The groups for training: `wanted`, four texts of the `same` meaning, and four `different` ones."""
    return [line for line in _lines("train") if "different" in line]


def drawn_pairs(rng: random.Random) -> Iterator[TextPair]:
    """An endless sequence of training pairs, also from groups, and some with a text that has nothing to do with it."""
    lines = _lines("train")
    weights = [_GROUP_WEIGHT if "different" in line else 1.0 for line in lines]
    while True:
        drawn = rng.choices(lines, weights, k=256)
        for line, other in zip(drawn, rng.sample(drawn, k=len(drawn)), strict=True):
            pair, kind = _pair(line, rng), rng.random()
            if kind < _UNRELATED and other["wanted"] != line["wanted"]:
                pair = replace(pair, given=_pair(other, rng).given, same=False)
            elif kind > 1 - _EMPTY and not pair.wanted.lower().startswith(_OPEN):
                pair = replace(pair, given=rng.choice(empty_texts()), same=False)
            yield pair


def unlabelled_pairs(rng: random.Random) -> Iterator[TextPair]:
    """An endless sequence of pairs of two near misses of a group, which may have one meaning or two: `same` says
    nothing."""
    groups = [group for group in natural_groups() if group["kind"] not in _DIRECTED]
    while True:
        group = rng.choice(groups)
        wanted, given = rng.sample(group["different"], k=2)
        yield TextPair(kind=group["kind"], request=group["request"], wanted=wanted, given=given, same=False)


@cache
def empty_texts() -> tuple[str, ...]:
    """Texts that ask a tool for nothing in particular, so that they match no wanted text."""
    return tuple(tomllib.loads((FOLDER.parent / "empty.toml").read_text(encoding="utf-8"))["texts"])


def _pair(line: Mapping[str, Any], rng: random.Random) -> TextPair:
    if "given" in line:
        wanted, given, same = line["wanted"], line["given"], line["same"]
    else:
        good: Sequence[str] = [line["wanted"], *line["same"]]
        same = rng.random() < 0.5
        wanted = good[0] if line["kind"] in _DIRECTED else rng.choice(good)
        given = rng.choice([text for text in good if text != wanted] if same else line["different"])
    return TextPair(kind=line["kind"], request=line["request"], wanted=wanted, given=given, same=same)
