"""Bag of words and logistic regression: from the words of a request, in no order, to the parts of its plan.

One regression for each part (a tool, an edge, an answer) says how likely it is. The answer is the most likely of the
plans that occurred in training. A further regression says of each word, by its neighbours, whether the plan repeats it;
these words and the numbers fill the slots in their order.
"""

import base64
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import Plan
from evaluator.planners.shortcuts.examples import Example
from evaluator.planners.shortcuts.skeletons import (
    Skeleton,
    Span,
    Token,
    abstracted,
    filled,
    skeleton_from,
    tokens_of,
    word_of,
    words_given,
)

_MOST_WORDS = 6_000
_MOST_LABELS = 600
_MOST_SKELETONS = 4_000
_LEAST = 2
"""Requests that a word must be in, so that it counts."""
_EPOCHS = 12
_STEPS = 1_200
"""Steps of training at least."""
_BATCH = 256
_RATE = 0.02
_DECAY = 1e-5
_TAGGED = 4_000
"""Examples that the regression of repeated words learns from, at most."""
Weights = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Regressions:
    """Logistic regressions over the same sparse binary features."""

    features: Mapping[str, int]
    weights: Weights
    """(features + 1, labels); the last row is the constant."""

    def logits(self, features: Sequence[str]) -> Weights:
        """Log odds of each label, shape (labels,). Unknown features are left out."""
        rows = sorted({self.features[name] for name in features if name in self.features})
        return np.asarray(self.weights[[*rows, -1]].sum(axis=0), dtype=np.float32)

    @classmethod
    def fitted(cls, *, rows: Sequence[Sequence[str]], labels: Weights) -> "Regressions":
        """Fit by Adam, from zero and in an order that a seed determines.

        Args:
            rows: features of each example.
            labels: 0 or 1, shape (examples, labels).
        """
        counts = Counter(name for row in rows for name in frozenset(row))
        names = sorted(name for name, count in counts.items() if count >= _LEAST)
        if len(names) > _MOST_WORDS:
            names = sorted(sorted(names, key=lambda name: (-counts[name], name))[:_MOST_WORDS])
        features = {name: place for place, name in enumerate(names)}
        rows_of = _Rows(
            [sorted({features[name] for name in row if name in features}) for row in rows], count=len(names)
        )
        weights = np.zeros((len(names) + 1, labels.shape[1]), dtype=np.float32)
        first, second, part = np.zeros_like(weights), np.zeros_like(weights), np.zeros_like(weights)
        change = np.zeros(weights.shape)
        step = 0
        rng = np.random.default_rng(0)
        batches = -(-len(rows) // _BATCH)
        for _ in range(max(_EPOCHS, -(-_STEPS // max(1, batches)))):
            order = rng.permutation(len(rows))
            for start in range(0, len(rows), _BATCH):
                chosen = order[start : start + _BATCH]
                with rows_of.dense(chosen) as inputs:
                    chances = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
                    slope = inputs.T @ (chances - labels[chosen])
                # In place: new arrays would take a third of the time.
                slope /= len(chosen)
                slope += np.multiply(weights, _DECAY, out=part)
                step += 1
                first *= 0.9
                first += np.multiply(slope, 0.1, out=part)
                second *= 0.999
                second += np.multiply(np.multiply(slope, 0.001, out=part), slope, out=part)
                rate = _RATE * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
                np.add(np.sqrt(second, out=part), 1e-8, out=part)
                np.divide(np.multiply(first, rate, out=change), part, out=change)
                np.copyto(part, change, casting="same_kind")
                weights -= part
        # Rounded, so that the last bits of a processor's sums do not matter.
        return cls(features=features, weights=np.round(weights, 3))

    def to_json(self) -> JsonValue:
        """As JSON values."""
        data = base64.b64encode(np.ascontiguousarray(self.weights, dtype="<f4").tobytes()).decode()
        return {"features": list(self.features), "shape": list(self.weights.shape), "weights": data}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Regressions":
        """The inverse of `to_json`."""
        weights = np.frombuffer(base64.b64decode(value["weights"]), dtype="<f4").reshape(value["shape"])
        return cls(features={name: place for place, name in enumerate(value["features"])}, weights=weights)


class _Rows:
    """Sparse binary features of examples, of which a batch at a time is dense."""

    def __init__(self, rows: Sequence[Sequence[int]], *, count: int) -> None:
        self._features = np.asarray([feature for row in rows for feature in row], dtype=np.intp)
        self._sizes = np.asarray([len(row) for row in rows], dtype=np.intp)
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._inputs = np.zeros((min(_BATCH, len(rows)), count + 1), dtype=np.float32)
        self._inputs[:, -1] = 1

    @contextmanager
    def dense(self, chosen: NDArray[np.intp]) -> Iterator[Weights]:
        """The features of these examples, shape (examples, features + 1), with the constant last."""
        sizes = self._sizes[chosen]
        before = np.cumsum(sizes) - sizes
        features = self._features[np.repeat(self._starts[chosen] - before, sizes) + np.arange(sizes.sum())]
        places = np.repeat(np.arange(len(chosen)), sizes)
        self._inputs[places, features] = 1
        yield self._inputs[: len(chosen)]
        self._inputs[places, features] = 0


class BagOfWords:
    """The trained regressions, and the plans of which one is the answer."""

    def __init__(
        self, *, parts: Regressions, labels: Sequence[str], copied: Regressions, skeletons: Sequence[Skeleton]
    ) -> None:
        self.parts, self.labels, self.copied, self.skeletons = parts, labels, copied, skeletons
        self._has = np.zeros((len(skeletons), len(labels)), dtype=np.float32)
        place_of = {label: place for place, label in enumerate(labels)}
        for row, skeleton in enumerate(skeletons):
            self._has[row, [place_of[label] for label in skeleton.labels if label in place_of]] = 1

    @classmethod
    def of(cls, examples: Iterable[Example]) -> "BagOfWords":
        """Train on examples."""
        rows, found, tagged = [], list[Skeleton](), list[tuple[list[str], bool, bool]]()
        examples = list(examples)
        often = -(-len(examples) // _TAGGED)
        for number, example in enumerate(examples):
            tokens = tokens_of(example.text)
            skeleton, spans = abstracted(
                plan=example.plan, tokens=tokens, resources=example.resources, has_slots=not example.given
            )
            rows.append(_features(tokens, resources=example.resources, given=example.given, wanted=example.wanted))
            found.append(skeleton)
            if number % often == 0:
                tagged += _tags(tokens, spans=spans, resources=example.resources)
        by_key = {skeleton.key: skeleton for skeleton in reversed(found)}
        common = Counter(skeleton.key for skeleton in found).most_common(_MOST_SKELETONS)
        counts = Counter(label for skeleton in found for label in skeleton.labels)
        labels = sorted(label for label, _ in counts.most_common(_MOST_LABELS))
        place_of = {label: place for place, label in enumerate(labels)}
        wanted = np.zeros((len(found), len(labels)), dtype=np.float32)
        for row, skeleton in enumerate(found):
            wanted[row, [place_of[label] for label in skeleton.labels if label in place_of]] = 1
        copied = np.asarray([[copied, first] for _, copied, first in tagged], dtype=np.float32).reshape(-1, 2)
        return cls(
            parts=Regressions.fitted(rows=rows, labels=wanted),
            labels=labels,
            copied=Regressions.fitted(rows=[features for features, *_ in tagged], labels=copied),
            skeletons=[by_key[key] for key, _ in common],
        )

    def plan(
        self, *, text: str, resources: Mapping[str, str], given: Mapping[str, JsonValue], wanted: tuple[str, ...]
    ) -> Plan | None:
        """The most likely plan that the request's resources fill; None: there is none.

        Args:
            text: of the request.
            resources: types by name.
            given: what is given by value.
            wanted: types of the answers, as far as they are told.
        """
        tokens = tokens_of(text)
        logits = self.parts.logits(_features(tokens, resources=resources, given=given, wanted=wanted))
        scores = self._has @ logits
        for place in np.lexsort((np.arange(len(scores)), -scores)).tolist():
            skeleton = self.skeletons[place]
            if skeleton.fits(resources):
                words = self._slots(skeleton, tokens=tokens, text=text, resources=resources)
                return filled(skeleton, words=words, resources=resources)
        return None

    def _slots(
        self, skeleton: Skeleton, *, tokens: Sequence[Token], text: str, resources: Mapping[str, str]
    ) -> list[str]:
        """The words of each slot: numbers and repeated words in their order; the last ones again where they run out."""
        numbers = [token.text for token in tokens if token.is_number]
        words = [text[tokens[start].start : tokens[end - 1].end] for start, end in self._runs(tokens, resources)]
        pools = {True: iter(numbers), False: iter(words)}
        last = {True: numbers[-1:] or [""], False: words[-1:] or [text]}
        return [next(pools[is_number], last[is_number][0]) for is_number in skeleton.numbers]

    def _runs(self, tokens: Sequence[Token], resources: Mapping[str, str]) -> Iterator[Span]:
        """Runs of words that the plan repeats, without single numbers."""
        start: int | None = None
        for place in range(len(tokens) + 1):
            copied = first = False
            if place < len(tokens):
                odds = self.copied.logits(_window(tokens, place=place, resources=resources))
                copied, first = bool(odds[0] > 0), bool(odds[1] > 0)
            if start is not None and (first or not copied):
                if place - start > 1 or not tokens[start].is_number:
                    yield start, place
                start = None
            if copied and start is None:
                start = place

    def to_json(self) -> JsonValue:
        """As JSON values."""
        return {
            "parts": self.parts.to_json(),
            "labels": list(self.labels),
            "copied": self.copied.to_json(),
            "skeletons": [skeleton.to_json() for skeleton in self.skeletons],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "BagOfWords":
        """The inverse of `to_json`."""
        return cls(
            parts=Regressions.from_json(value["parts"]),
            labels=value["labels"],
            copied=Regressions.from_json(value["copied"]),
            skeletons=list(map(skeleton_from, value["skeletons"])),
        )


def _features(
    tokens: Sequence[Token], *, resources: Mapping[str, str], given: Mapping[str, JsonValue], wanted: Sequence[str]
) -> list[str]:
    """The words of a request, what it is given, how much of each type, and the types of its answers."""
    kinds = Counter(resources.values())
    types = [f"<{kind} {number}>" for kind, count in kinds.items() for number in range(1, count + 1)]
    types += [f"<answer {place} {kind}>" for place, kind in enumerate(wanted)]
    values = Counter(words_given(given))
    given_words = [f"{word} x{count}" for word, count in values.items()]
    return [*(word_of(token, resources=resources) for token in tokens), *types, *values, *given_words]


def _tags(
    tokens: Sequence[Token], *, spans: Sequence[Span], resources: Mapping[str, str]
) -> list[tuple[list[str], bool, bool]]:
    """The surroundings of each word, whether the plan repeats it, and whether it is the first one of its slot."""
    copied = {place for start, end in spans for place in range(start, end)}
    first = {start for start, _ in spans}
    windows = (_window(tokens, place=place, resources=resources) for place in range(len(tokens)))
    return [(window, place in copied, place in first) for place, window in enumerate(windows)]


def _window(tokens: Sequence[Token], *, place: int, resources: Mapping[str, str]) -> list[str]:
    """A word, its two neighbours on each side, and its shape."""
    names = {-2: "", -1: "", 0: "", 1: "", 2: ""}
    for offset in names:
        there = place + offset
        names[offset] = word_of(tokens[there], resources=resources) if 0 <= there < len(tokens) else "<end>"
    shape = "capital" if tokens[place].text[0].isupper() else "small"
    pairs = [f"{names[-1]} {names[0]}", f"{names[-2]} {names[-1]}", f"{names[0]} {names[1]}"]
    return [*(f"{offset} {word}" for offset, word in names.items()), *(f"pair {pair}" for pair in pairs), shape]
