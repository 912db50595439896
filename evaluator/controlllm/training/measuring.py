"""How good the networks are on pairs of the corpus that none was trained on."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from evaluator.controlllm.strategies.trained.decomposer import Decomposer
from evaluator.controlllm.strategies.trained.linear import written
from evaluator.controlllm.strategies.trained.scorer import Scorer
from evaluator.controlllm.training.corpus import SIZE
from evaluator.controlllm.training.drafting import Pair
from evaluator.controlllm.training.lessons import HELD_OUT, distinct_pairs, wording
from evaluator.controlllm.training.scoring_corpus import by_kind, draw_lesson
from evaluator.replies.decomposition import parse_decomposition
from evaluator.scoring.metrics.decomposition import FIELDS, judge_decomposition, right_fields
from evaluator.scoring.metrics.statistics import Interval, wilson

HELD_OUT_PAIRS = 500
HELD_OUT_LESSONS = 2000
Measured = dict[str, Interval]
"""Shares by what they are of."""


def held_out_pairs(size: int, *, trained: int = SIZE) -> list[Pair]:
    """Pairs of another seed whose wording is none of those that were learnt from."""
    learnt = frozenset(wording(pair) for pair in distinct_pairs(size=trained))
    return list(distinct_pairs(size=size, seed=HELD_OUT, without=learnt))


def measure_decomposer(folder: Path, *, pairs: list[Pair] | None = None) -> Measured:
    """DeAcc, and the share of requests with each field right.

    Args:
        folder: of the decomposer.
        pairs: what to measure on; by default `HELD_OUT_PAIRS` of those that are held out.
    """
    decomposer = Decomposer.from_folder(folder)
    right: list[bool] = []
    fields: dict[str, list[bool]] = {name: [] for name in FIELDS}
    for pair in held_out_pairs(HELD_OUT_PAIRS) if pairs is None else pairs:
        gold = parse_decomposition(written(subtasks=pair.subtasks, reading=pair.reading))
        text = written(subtasks=decomposer.decompose(pair.reading), reading=pair.reading)
        right.append(judge_decomposition(predicted=text, gold=gold).right)
        for name, is_right in right_fields(predicted=text, gold=gold).items():
            fields[name].append(is_right)
    return {"DeAcc": _share(right), **{f"{name} right": _share(own) for name, own in fields.items()}}


def measure_scorer(folder: Path) -> Measured:
    """The share of held-out lessons whose score, rounded, is the one that the recipe gives."""
    scorer, rng = Scorer.from_folder(folder), np.random.default_rng(HELD_OUT)
    subtasks = by_kind(list(distinct_pairs(size=HELD_OUT_PAIRS, seed=HELD_OUT)))
    lessons = [draw_lesson(subtasks=subtasks, rng=rng) for _ in range(HELD_OUT_LESSONS)]
    scores = scorer.scores([text for text, _ in lessons])
    return {"scores right": _share(round(found) == wanted for found, (_, wanted) in zip(scores, lessons, strict=True))}


def _share(right: Iterable[bool]) -> Interval:
    outcomes = list(right)
    return wilson(successes=sum(outcomes), total=len(outcomes))
