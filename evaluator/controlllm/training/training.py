"""Training the decomposer: from random weights to a folder."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import torch
from transformers import T5Config, T5ForConditionalGeneration

from evaluator.controlllm.strategies.trained.encoding import Encoding
from evaluator.controlllm.training.corpus import SIZE
from evaluator.controlllm.training.lessons import DecompositionObjective, batches_of, distinct_pairs, lessons_of
from evaluator.controlllm.training.tokens import decomposer_tokenizer
from evaluator.core.canonical_json import JsonValue
from evaluator.training.export import checkpoint_of, export_transformers, write_record
from evaluator.training.loop import Progress, Schedule, fit, reached_step
from evaluator.training.runs import begin, begin_run

_EMBEDDED = 0.1
"""Deviation of the embeddings at the beginning."""


def calm(model: T5ForConditionalGeneration) -> None:
    """Fit T5's first weights to AdamW, whose steps are not in proportion to what they change as Adafactor's are.

    The embeddings begin smaller, and the last norm keeps the size of the logits. T5 does not divide attention scores by
    the root of the heads' width; the norms before attention do that here, and the values make up for it. Without either
    attention saturates early, and the network hardly learns which kinds of subtasks a request asks for.
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


STEPS = 1800
LEARNING_RATE = 5e-4
_TOKENIZER_READS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The size of a network."""

    width: int = 256
    feed_forward: int = 768
    layers: int = 3
    heads: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """How to train, and where to."""

    out: Path
    steps: int = STEPS
    seed: int = 0
    size: int = SIZE
    """Pairs of the corpus."""
    shape: Shape = Shape()
    resume: bool = False
    stop_after: int | None = None


def train_decomposer(order: Order, *, report: Callable[[Progress], None] | None = None) -> Path | None:
    """Train the decomposer and return its folder, or None if it stopped before the end.

    The checkpoint lies beside the folder. A run that ended can be resumed with more steps, and then follows the
    schedule of all of them; the record names every such run.

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
    calm(model)
    return model


def _settings(order: Order) -> dict[str, JsonValue]:
    """What a run has in common with those that it goes on from; they may have had fewer steps."""
    return {
        "kind": "decomposer",
        "seed": order.seed,
        "pairs": order.size,
        "shape": [order.shape.width, order.shape.feed_forward, order.shape.layers, order.shape.heads],
        "learning_rate": LEARNING_RATE,
        "torch": torch.__version__,
    }
