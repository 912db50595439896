"""Pretraining of `lilliput-planner`, a small T5.

Its tokenizer is byte-level BPE, trained on paraphrased requests and tool names. Their frequent words are single tokens,
and any text can be encoded and decoded without loss.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch import Tensor, nn
from transformers import T5Config, T5ForConditionalGeneration

from evaluator.core.canonical_json import JsonValue
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.openagi.training.corpus import (
    constrained_lesson,
    draw_annotator,
    draw_paraphrase,
    few_shot_lesson,
    zero_shot_lesson,
)
from evaluator.openagi.training.finetuning import lesson_loss
from evaluator.planners.language_models.local.network import Network
from evaluator.training.export import (
    END,
    END_ID,
    PAD,
    PAD_ID,
    UNKNOWN,
    checkpoint_of,
    export_transformers,
    fast_tokenizer,
    write_record,
    write_tokenizer,
)
from evaluator.training.lessons import Lesson
from evaluator.training.loop import Progress, Schedule, fit
from evaluator.training.runs import begin

_READ = 4000
_SIZE = 1000
_STREAM = 6


@cache
def planner_tokenizer() -> Tokenizer:
    """Trained by every process, deterministically."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=_SIZE,
        min_frequency=2,
        special_tokens=[PAD, END, UNKNOWN],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_texts(), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single=f"$A {END}", special_tokens=[(END, END_ID)])
    return tokenizer


def _texts() -> list[str]:
    rng = np.random.default_rng(_STREAM)
    requests = [draw_paraphrase(annotator=draw_annotator(rng), rng=rng).request for _ in range(_READ)]
    forms = [zero_shot_lesson(rng=rng, names_tools=True), few_shot_lesson(rng=rng, shown=3)] * 10
    return [
        *requests,
        *(text for form in forms for text in (form.messages[0].content, form.answer)),
        *[*OPENAGI.tools] * 10,
    ]


def new_model(*, seed: int) -> T5ForConditionalGeneration:
    """Two encoder and two decoder layers, 80 wide: about 0.4 million parameters."""
    torch.manual_seed(seed)
    return T5ForConditionalGeneration(
        T5Config(
            vocab_size=planner_tokenizer().get_vocab_size(),
            d_model=80,
            d_kv=20,
            d_ff=224,
            num_layers=2,
            num_decoder_layers=2,
            num_heads=4,
            relative_attention_num_buckets=32,
            relative_attention_max_distance=128,
            dropout_rate=0.0,
            pad_token_id=PAD_ID,
            eos_token_id=END_ID,
            decoder_start_token_id=PAD_ID,
        )
    )


STEPS = 3000
LEARNING_RATE = 2e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Pretraining:
    """Settings of a pretraining run."""

    out: Path
    steps: int = STEPS
    seed: int = 0
    resume: bool = False
    stop_after: int | None = None


def pretrain(order: Pretraining, *, report: Callable[[Progress], None] | None = None) -> Path | None:
    """Pretrain the planner and return its folder, or None if it stopped before the end.

    The checkpoint is beside the folder.

    Raises:
        SettingsError: the checkpoint belongs to another run.
    """
    begin(checkpoint=checkpoint_of(order.out), settings=_record(order), resume=order.resume)
    model = new_model(seed=order.seed)
    network = Network(module=model, tokenizer=fast_tokenizer(planner_tokenizer()))
    reached = fit(
        model=model,
        objective=PretrainingObjective(network),
        schedule=Schedule(steps=order.steps, learning_rate=LEARNING_RATE, seed=order.seed, checkpoint_every=100),
        checkpoint=checkpoint_of(order.out),
        resume=order.resume,
        stop_after=order.stop_after,
        report=report,
    )
    if reached < order.steps:
        return None
    export_transformers(model.eval(), order.out)
    write_tokenizer(tokenizer=planner_tokenizer(), folder=order.out)
    write_record(folder=order.out, record=_record(order))
    return order.out


def _record(order: Pretraining) -> dict[str, JsonValue]:
    return {
        "kind": "pretrain",
        "steps": order.steps,
        "seed": order.seed,
        "learning_rate": LEARNING_RATE,
        "torch": torch.__version__,
    }


MOST_SHOWN = 5
"""Maximum number of demonstrations in a prompt."""

CONSTRAINED, FEW_SHOT, ZERO_SHOT = 0.65, 0.2, 0.15
"""Shares of the batches."""


@dataclass(frozen=True, slots=True)
class PretrainingObjective:
    """The loss of plans of annotators, in the prompt formats of all strategies."""

    network: Network
    batch: int = 40
    """Batch size for short prompts; a fifth of it for long prompts."""

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:  # noqa: ARG002 - it is the network's
        return lesson_loss(network=self.network, lessons=self._lessons(rng))

    def _lessons(self, rng: np.random.Generator) -> list[Lesson]:
        kind = rng.choice(3, p=(CONSTRAINED, FEW_SHOT, ZERO_SHOT))
        if kind == 0:
            return [constrained_lesson(rng) for _ in range(self.batch)]
        if kind == 1:
            shown = int(rng.integers(1, MOST_SHOWN + 1))
            return [few_shot_lesson(rng=rng, shown=shown) for _ in range(self.batch // 5)]
        names_tools = bool(rng.random() < 0.5)
        rows = self.batch // 5 if names_tools else self.batch
        return [zero_shot_lesson(rng=rng, names_tools=names_tools) for _ in range(rows)]
