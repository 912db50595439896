"""Trains the decomposer: encodes the corpus, and trains a network from random weights."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import count, islice
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor, nn
from transformers import T5Config, T5ForConditionalGeneration

from evaluator.controlllm.strategies.trained.linear import END, linear_tokens, tokens
from evaluator.controlllm.strategies.trained.networks import Encoding
from evaluator.controlllm.training.corpus import SIZE, pair_of
from evaluator.controlllm.training.drafting import Pair
from evaluator.core.canonical_json import JsonValue
from evaluator.training.export import checkpoint_of, export_transformers, write_record
from evaluator.training.loop import Progress, Schedule, fit, reached_step
from evaluator.training.runs import begin, begin_run

_IGNORED = -100
TOKENS = 1200
"""Tokens of the requests of a batch, with padding."""
HELD_OUT = 1
"""Seed of the held-out pairs."""


def distinct_pairs(*, size: int, seed: int = 0, without: frozenset[str] = frozenset()) -> Iterator[Pair]:
    """Pairs whose requests differ in more than file names.

    Args:
        size: number of pairs.
        seed: seed of the corpus.
        without: `wording` of requests to exclude.
    """
    seen = set(without)
    numbers = count()
    while size:
        pair = pair_of(next(numbers), seed=seed)
        text = wording(pair)
        if text not in seen:
            seen.add(text)
            size -= 1
            yield pair


def wording(pair: Pair) -> str:
    """The words of a request with slots for files."""
    return " ".join(piece.text for piece in pair.reading.pieces)


@dataclass(frozen=True, slots=True)
class Lesson:
    """A request and its decomposition as token ids."""

    read: Sequence[int]
    written: Sequence[int]


def lessons_of(pairs: Sequence[Pair], *, encoding: Encoding) -> list[Lesson]:
    """The pairs as token ids."""
    return [
        Lesson(read=encoding.read(pair.reading), written=encoding.written(linear_tokens(pair.subtasks)))
        for pair in pairs
    ]


def batches_of(lessons: Sequence[Lesson], *, tokens: int = TOKENS) -> list[list[Lesson]]:
    """Batches of lessons with similar length and at most `tokens` tokens with padding.

    Lessons are sorted only by the length of the request: in batches with equal beginnings or answers gradients follow
    the common part, and the network learns almost nothing (no kind of subtask in 600 steps).
    """
    batches: list[list[Lesson]] = []
    for lesson in sorted(lessons, key=lambda lesson: len(lesson.read)):
        if not batches or (len(batches[-1]) + 1) * len(lesson.read) > tokens:
            batches.append([])
        batches[-1].append(lesson)
    return batches


@dataclass(frozen=True, slots=True)
class DecompositionObjective:
    """Mean cross-entropy of the tokens of the decompositions in a batch."""

    batches: Sequence[Sequence[Lesson]]

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        """The loss on one batch, a scalar, in mixed precision (bfloat16)."""
        assert isinstance(model, T5ForConditionalGeneration)
        batch = self.batches[int(rng.integers(len(self.batches)))]
        read = padded([lesson.read for lesson in batch], value=model.config.pad_token_id)
        written = padded([lesson.written for lesson in batch], value=_IGNORED)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model(input_ids=read, attention_mask=(read != model.config.pad_token_id).long(), labels=written)
        loss: Tensor = out.loss
        return loss.float()


def padded(rows: Sequence[Sequence[int]], *, value: int) -> Tensor:
    """Rows padded to the longest, of shape (rows, longest)."""
    longest = max(len(row) for row in rows)
    return torch.tensor([[*row, *[value] * (longest - len(row))] for row in rows])


PAD = "<pad>"
PIECES = 2600
"""Pieces of words, in addition to the tokens of the linear form. Every byte is a piece, so no word is unknown."""


def decomposer_tokenizer(words: Iterable[str]) -> Tokenizer:
    """A tokenizer of single words, deterministic for the words."""
    special = [PAD, END, *tokens()]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=len(special) + PIECES,
        min_frequency=3,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(words, trainer)
    return tokenizer


STEPS = 1800
LEARNING_RATE = 5e-4
_TOKENIZER_READS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Dimensions of a network."""

    width: int = 256
    feed_forward: int = 768
    layers: int = 3
    heads: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Settings of a training run."""

    out: Path
    steps: int = STEPS
    seed: int = 0
    size: int = SIZE
    """Number of pairs of the corpus."""
    shape: Shape = Shape()
    resume: bool = False
    stop_after: int | None = None


def train_decomposer(order: Order, *, report: Callable[[Progress], None] | None = None) -> Path | None:
    """Train the decomposer and return its folder, or None if it stopped early.

    The checkpoint is next to the folder. A completed run can be resumed with more steps, and then follows the schedule
    of all steps; the record lists every run.

    Raises:
        SettingsError: the checkpoint is of another run.
    """
    checkpoint = checkpoint_of(order.out)
    begin(checkpoint=checkpoint, settings=_settings(order), resume=order.resume)
    runs = begin_run(
        path=checkpoint.with_name(f"{checkpoint.name}.runs.json"),
        steps=order.steps,
        reached=reached_step(checkpoint) if order.resume else 0,
    )
    pairs = list(distinct_pairs(size=order.size))
    read = (piece.text for pair in islice(pairs, _TOKENIZER_READS) for piece in pair.reading.pieces)
    encoding = Encoding(decomposer_tokenizer(read))
    objective = DecompositionObjective(batches_of(lessons_of(pairs, encoding=encoding)))
    model = new_decomposer(encoding=encoding, shape=order.shape, seed=order.seed)
    reached = fit(
        model=model,
        objective=objective,
        schedule=Schedule(steps=order.steps, learning_rate=LEARNING_RATE, seed=order.seed, checkpoint_every=100),
        checkpoint=checkpoint,
        resume=order.resume,
        stop_after=order.stop_after,
        report=report,
    )
    if reached < order.steps:
        return None
    export_transformers(model.eval(), order.out)
    encoding.tokenizer.save(str(order.out / "tokenizer.json"), pretty=False)
    written: list[JsonValue] = [asdict(run) for run in runs]
    write_record(folder=order.out, record={**_settings(order), "runs": written})
    return order.out


_EMBEDDED = 0.1
"""Initial standard deviation of the embeddings."""


def scale_initial_weights(model: T5ForConditionalGeneration) -> None:
    """Adapt T5's initial weights to AdamW, whose steps, unlike Adafactor's, are not relative to the weights.

    The embeddings are smaller, and the last norm preserves the size of the logits. T5 does not divide attention scores
    by the root of the heads' width; here the norms before attention do that, and the values compensate for it. Without
    both, attention saturates early, and the network hardly learns the kinds of subtasks.
    """
    config = model.config
    scale = config.d_kv**-0.25
    with torch.no_grad():
        model.shared.weight.mul_(_EMBEDDED)
        model.decoder.final_layer_norm.weight.fill_(config.d_model**0.5)
        model.encoder.final_layer_norm.weight.fill_(scale)
        for block in (*model.encoder.block, *model.decoder.block):
            for layer in block.layer[:-1]:
                layer.layer_norm.weight.fill_(scale)
                attention = layer.EncDecAttention if hasattr(layer, "EncDecAttention") else layer.SelfAttention
                attention.v.weight.div_(scale)


def new_decomposer(*, encoding: Encoding, shape: Shape, seed: int) -> T5ForConditionalGeneration:
    """A T5 with random weights: 5.5 million parameters in the default shape."""
    torch.manual_seed(seed)
    model = T5ForConditionalGeneration(
        T5Config(
            vocab_size=encoding.tokenizer.get_vocab_size(),
            d_model=shape.width,
            d_kv=shape.width // shape.heads,
            d_ff=shape.feed_forward,
            num_layers=shape.layers,
            num_decoder_layers=shape.layers,
            num_heads=shape.heads,
            dropout_rate=0.0,
            pad_token_id=0,
            eos_token_id=1,
            decoder_start_token_id=0,
        )
    )
    scale_initial_weights(model)
    return model


def _settings(order: Order) -> dict[str, JsonValue]:
    """The settings that a resumed run must share with earlier ones; the number of steps may differ."""
    return {
        "kind": "decomposer",
        "seed": order.seed,
        "pairs": order.size,
        "shape": [order.shape.width, order.shape.feed_forward, order.shape.layers, order.shape.heads],
        "learning_rate": LEARNING_RATE,
        "torch": torch.__version__,
    }
