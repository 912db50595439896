"""Training the scorer: from random weights to a folder."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch import Tensor, nn
from transformers import BertConfig, BertForSequenceClassification

from evaluator.controlllm.strategies.trained.scorer import LONGEST, SPECIAL, read
from evaluator.controlllm.training.drafting import Pair
from evaluator.controlllm.training.lessons import distinct_pairs, padded
from evaluator.controlllm.training.scoring_corpus import by_kind, draw_lesson
from evaluator.core.canonical_json import JsonValue
from evaluator.training.export import checkpoint_of, export_transformers, write_record
from evaluator.training.loop import Progress, Schedule, fit, reached_step
from evaluator.training.runs import begin, begin_run

STEPS = 900
LEARNING_RATE = 1e-3
PAIRS = 8_000
_PIECES = 2400
_TOKENIZER_READS = 6_000
_STREAM = 43


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerOrder:
    """How to train, and where to."""

    out: Path
    steps: int = STEPS
    seed: int = 0
    size: int = PAIRS
    """Pairs of the corpus whose subtasks are scored."""
    width: int = 192
    layers: int = 3
    resume: bool = False
    stop_after: int | None = None


@dataclass(frozen=True, slots=True)
class ScoringObjective:
    """Give the scores of a batch of lessons: mean cross-entropy over the five scores."""

    subtasks: Mapping[str, Sequence[tuple[Pair, int]]]
    """By kind."""
    tokenizer: Tokenizer
    batch: int = 48

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        """The loss on one batch, a scalar."""
        lessons = [draw_lesson(subtasks=self.subtasks, rng=rng) for _ in range(self.batch)]
        ids = padded([read(text, tokenizer=self.tokenizer) for text, _ in lessons], value=0)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(input_ids=ids, attention_mask=(ids != 0).long()).logits
        return F.cross_entropy(logits.float(), torch.tensor([score - 1 for _, score in lessons]))


def train_scorer(order: ScorerOrder, *, report: Callable[[Progress], None] | None = None) -> Path | None:
    """Train the scorer and return its folder, or None if it stopped before the end.

    The checkpoint lies beside the folder.

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
    subtasks = by_kind(list(distinct_pairs(size=order.size)))
    tokenizer = scorer_tokenizer(subtasks)
    model = new_scorer(tokenizer=tokenizer, order=order)
    reached = fit(
        model=model,
        objective=ScoringObjective(subtasks, tokenizer),
        schedule=Schedule(steps=order.steps, learning_rate=LEARNING_RATE, seed=order.seed, checkpoint_every=50),
        checkpoint=checkpoint,
        resume=order.resume,
        stop_after=order.stop_after,
        report=report,
    )
    if reached < order.steps:
        return None
    export_transformers(model.eval(), order.out)
    tokenizer.save(str(order.out / "tokenizer.json"), pretty=False)
    written: list[JsonValue] = [asdict(run) for run in runs]
    write_record(folder=order.out, record={**_settings(order), "runs": written})
    return order.out


def scorer_tokenizer(subtasks: Mapping[str, Sequence[tuple[Pair, int]]]) -> Tokenizer:
    """A tokenizer of single words, learnt from what the scorer reads; every letter is one of its pieces."""
    rng = np.random.default_rng(_STREAM)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=len(SPECIAL) + _PIECES,
        min_frequency=2,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    words = (word for _ in range(_TOKENIZER_READS) for word in draw_lesson(subtasks=subtasks, rng=rng)[0])
    tokenizer.train_from_iterator((word for word in words if word not in SPECIAL), trainer)
    return tokenizer


def new_scorer(*, tokenizer: Tokenizer, order: ScorerOrder) -> BertForSequenceClassification:
    """A BERT with random weights: 1.8 million parameters in the default shape."""
    torch.manual_seed(order.seed)
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=tokenizer.get_vocab_size(),
            hidden_size=order.width,
            num_hidden_layers=order.layers,
            num_attention_heads=4,
            intermediate_size=4 * order.width,
            max_position_embeddings=LONGEST,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            num_labels=5,
            pad_token_id=0,
        )
    )


def _settings(order: ScorerOrder) -> dict[str, JsonValue]:
    return {
        "kind": "scorer",
        "seed": order.seed,
        "pairs": order.size,
        "shape": [order.width, order.layers],
        "learning_rate": LEARNING_RATE,
        "torch": torch.__version__,
    }
