"""Training the writer, a network for all views, and exporting it to a folder for strategies (`dir:FOLDER`).

Tokens are runs of cells, coordinates, sizes, shapes, and pieces of code between colours that many programs share. Such
a piece often spans several lines, so that a program has a handful of tokens. Other code is spelt.

A batch consists of exchanges of similar length, one per row. Such rows need no mask, and exchanges are not truncated,
which is twice as fast as packing exchanges into long rows.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch import Tensor, nn

from evaluator.arc.strategies import compact
from evaluator.arc.training.comparison import folder_of
from evaluator.arc.training.lessons import FILE, read_lessons, writer_lessons
from evaluator.core.canonical_json import JsonValue
from evaluator.training.causal import Exchange, Lessons, Shape, lessons_of, new_network
from evaluator.training.export import (
    END,
    END_ID,
    PAD,
    UNKNOWN,
    checkpoint_of,
    export_transformers,
    write_record,
    write_tokenizer,
)
from evaluator.training.loop import Progress, Schedule, fit
from evaluator.training.options import Purpose
from evaluator.training.runs import ChoiceError, begin

PIECES = 1400
_COMMON = 5
"""Minimum number of replies with a piece of code for it to become a token."""
_VALUE = re.compile(r"(?<=')[a-i](?=')")
_SHORTEST = 3
"""Minimum length of a piece of code."""
_UNITS = (
    r" ?\d{1,2}:\d{1,2}", r" ?\d{1,2}x\d{1,2}", r"\d",
    *(f"/?{letter}+" for letter in "abcdefghi"), r"/?\.+", r"/?,+", r"[-#/]+", r" ?[A-Za-z_]", r"\n",
)  # fmt: skip
"""No token extends beyond a match. As simple as required of submitted models."""


def writer_tokenizer(exchanges: Sequence[Exchange]) -> Tokenizer:
    """Train a tokenizer, deterministically."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex("|".join(_UNITS)), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=PIECES, min_frequency=3, special_tokens=[PAD, END, UNKNOWN],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
    )  # fmt: skip
    tokenizer.train_from_iterator((exchange.prompt.partition(compact.PROGRAM)[0] for exchange in exchanges), trainer)
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in fixed_texts(exchanges)])
    tokenizer.post_processor = processors.TemplateProcessing(single=f"$A {END}", special_tokens=[(END, END_ID)])
    return tokenizer


def fixed_texts(exchanges: Sequence[Exchange]) -> list[str]:
    """Pieces of code that replies share, and separators of prompts; longest first."""
    pieces = Counter(piece for exchange in exchanges for piece in set(_VALUE.split(exchange.reply)))
    common = [piece for piece, count in pieces.items() if count >= _COMMON and len(piece) >= _SHORTEST]
    views = {f"{exchange.prompt.partition(chr(10))[0]}\n" for exchange in exchanges}
    return sorted({*common, *views, *compact.WORDS}, key=lambda text: (-len(text), text))


TOKENS = 1536
"""Approximate number of tokens per step."""
LONGEST = 768
"""Maximum tokens of a row. A longer exchange loses its beginning."""
_NEAR = 0.02
"""A step draws its exchanges from a window of the exchanges sorted by length; this share extends to either side."""


@dataclass(frozen=True)
class WriterObjective:
    """Weighted mean cross-entropy of the exchanges' tokens."""

    lessons: Lessons

    @cached_property
    def _by_length(self) -> npt.NDArray[np.int64]:
        return np.argsort(np.diff(self.lessons.ends, prepend=0), kind="stable")

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        """The loss on a batch, a scalar."""
        count = len(self._by_length)
        place = int(rng.integers(count))
        length = min(LONGEST, len(self._exchange(int(self._by_length[place]))[0]))
        reach = int(count * _NEAR)
        low, high = max(0, place - reach), min(count, place + reach + 1)
        others = rng.integers(low, high, size=max(0, TOKENS // length - 1))
        rows = [self._exchange(int(self._by_length[index])) for index in (place, *others)]
        width = max(len(ids) for ids, _ in rows)
        ids = torch.from_numpy(np.stack([np.pad(ids, (0, width - len(ids))) for ids, _ in rows]))
        weights = torch.from_numpy(np.stack([np.pad(own, (0, width - len(own))) for _, own in rows]))[:, 1:].flatten()
        # Padding has no weight, and attention is causal.
        logits = model(input_ids=ids, use_cache=False).logits[:, :-1]
        losses = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
        return (losses * weights).sum() / weights.sum()

    def _exchange(self, number: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        first, last = (int(self.lessons.ends[number - 1]) if number else 0), int(self.lessons.ends[number])
        own = slice(max(first, last - LONGEST), last)
        return self.lessons.ids[own], self.lessons.weights[own]


STEPS = 8_000
LEARNING_RATE = 1.5e-3
_READ = 60_000
"""Maximum number of lessons for training the tokenizer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A training run."""

    data: Path
    """File of lessons."""
    out: Path
    steps: int = STEPS
    learning_rate: float = LEARNING_RATE
    seed: int = 0
    """Seed of initial weights and batches."""
    shape: Shape = field(default_factory=Shape)
    resume: bool = False
    stop_after: int | None = None


def train_writer(order: Order, *, report: Callable[[Progress], None] | None = None) -> Path | None:
    """Train a writer and return its folder, or None if it stopped early. The checkpoint is next to the folder.

    Raises:
        DataError: the data cannot be read.
        ChoiceError: there is no lesson.
        SettingsError: the checkpoint belongs to another run.
    """
    begin(checkpoint=checkpoint_of(order.out), settings=_record(order), resume=order.resume)
    exchanges = read_lessons(order.data)
    if not exchanges:
        raise ChoiceError(f"{order.data} has no lesson")
    tokenizer = writer_tokenizer(exchanges[:: -(-len(exchanges) // _READ)])
    lessons = lessons_of([(exchange,) for exchange in exchanges], tokenizer=tokenizer, is_short_likelier=False)
    model = new_network(vocabulary=tokenizer.get_vocab_size(), shape=order.shape, seed=order.seed)
    reached = fit(
        model=model,
        objective=WriterObjective(lessons),
        schedule=Schedule(
            steps=order.steps, learning_rate=order.learning_rate, seed=order.seed, checkpoint_every=200
        ),
        checkpoint=checkpoint_of(order.out),
        resume=order.resume,
        stop_after=order.stop_after,
        report=report,
    )  # fmt: skip
    if reached < order.steps:
        return None
    export_transformers(model.eval(), order.out)
    write_tokenizer(tokenizer=tokenizer, folder=order.out)
    write_record(folder=order.out, record=_record(order))
    return order.out


def _record(order: Order) -> dict[str, JsonValue]:
    return {
        "kind": "arc-writer",
        "data": hashlib.sha256(order.data.read_bytes()).hexdigest() if order.data.is_file() else "",
        "steps": order.steps,
        "seed": order.seed,
        "shape": [order.shape.width, order.shape.feed_forward, order.shape.layers, order.shape.heads],
        "learning_rate": order.learning_rate,
        "torch": torch.__version__,
    }


def train(*, data: Path, work: Path, settings: Mapping[str, Any], report: Callable[[Progress], None]) -> Path | None:
    """Train the writer of a seed and return its folder, or None if it stopped early.

    Args:
        data: folder of `planarena arc convert`.
        work: folder of all writers.
        settings: `steps`, `seed`, `resume`, `stop_after`; None: the recipe's.
        report: progress callback.

    Raises:
        DataError: the data cannot be read.
        ChoiceError: there is no lesson.
        SettingsError: the checkpoint belongs to another run.
    """
    torch.set_num_threads(1)
    options = {key: value for key, value in settings.items() if value is not None}
    folder = folder_of(work=work, seed=options.get("seed", 0))
    folder.parent.mkdir(parents=True, exist_ok=True)
    return train_writer(Order(data=data / FILE, out=folder, **options), report=report)


def tuned_for(data: Path) -> tuple[Purpose, Path]:
    """The purpose of a writer that is tuned from a given model, and the file of its lessons.

    Args:
        data: folder of `planarena arc convert`, or a file of conversations.
    """
    purpose = Purpose(title="ARC, program writer", strategy="arc-experts@style=compact", read=writer_lessons)
    return purpose, data / FILE if data.is_dir() else data
