"""Fine-tunes a pretrained encoder as a cross-encoder, which reads two texts together and says whether they agree.

The network that ships is all-MiniLM-L6-v2. all-mpnet-base-v2, five times as large, can be trained in the same way to be
its teacher, whose probabilities tell the smaller one more than labels do.
"""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import AutoConfig, BertModel, MPNetModel, PreTrainedModel

from evaluator.controlllm.training.same_meaning.generated import TextPair, generated_pairs, noised
from evaluator.controlllm.training.same_meaning.natural import drawn_pairs, pairs_digest, unlabelled_pairs
from evaluator.core.canonical_json import JsonValue
from evaluator.execution.experts.pretrained import load_pretrained
from evaluator.execution.experts.weights import weights_digest
from evaluator.scoring.arbiters.network import SYMMETRIC, encoded, open_tokenizer
from evaluator.training.export import RECORD, checkpoint_of, write_record
from evaluator.training.loop import Progress, Schedule, fit, reached_step
from evaluator.training.runs import ChoiceError, begin, begin_run

STEPS = 2400
LEARNING_RATES = {"bert": 1e-4, "mpnet": 4e-5}
"""By the type of the pretrained model."""
BATCH = 64
_CHUNK = 16
NATURAL = 0.85
"""Share of pairs written by hand in a batch."""
_NOISED = 0.3
"""Share of these whose given text is varied in case, punctuation and politeness."""
_SMOOTHING = 0.01
_TAUGHT = 0.6
"""Weight of a teacher's probability beside the label."""
_UNLABELLED = 0.25
"""Share of pairs without a label in a batch with a teacher."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Settings of a training run."""

    base: Path
    """Folder of the pretrained model: `config.json`, `model.safetensors`, `tokenizer.json`."""
    out: Path
    teacher: Path | None = None
    """Folder of a trained network whose probabilities this one learns."""
    start: Path | None = None
    """Folder of a trained network that this run goes on from."""
    steps: int = STEPS
    seed: int = 0
    resume: bool = False
    stop_after: int | None = None


class PairNetwork(nn.Module):
    """An encoder over both texts; mean over the tokens, a hidden layer, and one logit."""

    def __init__(self, body: PreTrainedModel) -> None:
        super().__init__()
        self.body = body
        self._has_types = hasattr(body.config, "type_vocab_size")
        self.pool = nn.Linear(body.config.hidden_size, body.config.hidden_size)
        self.head = nn.Linear(body.config.hidden_size, 1)

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        """Logits of shape (pairs,) from token numbers, types and mask of shape (pairs, tokens)."""
        own = {"token_type_ids": types} if self._has_types else {}
        states = self.body(input_ids=ids, attention_mask=mask, **own).last_hidden_state
        weights = mask.unsqueeze(-1).to(states.dtype)
        mean = (states * weights).sum(1) / weights.sum(1)
        logits: Tensor = self.head(torch.tanh(self.pool(mean)))
        return logits.squeeze(-1).float()


_BODIES = {"bert": BertModel, "mpnet": MPNetModel}


def model_type(base: Path) -> str:
    """The type of a pretrained model, one of `LEARNING_RATES`.

    Raises:
        ChoiceError: the type is another one.
    """
    own = str(AutoConfig.from_pretrained(base, local_files_only=True).model_type)
    if own not in _BODIES:
        raise ChoiceError(f"{base} holds a model of the type {own}; known are {', '.join(sorted(_BODIES))}")
    return own


def trained_network(folder: Path) -> PairNetwork:
    """The trained network of a folder, which is not trained further."""
    config = AutoConfig.from_pretrained(folder, local_files_only=True, attn_implementation="eager")
    network = PairNetwork(_BODIES[config.model_type](config, add_pooling_layer=False))
    network.load_state_dict(load_file(folder / "model.safetensors"))
    return network.requires_grad_(False).eval()


def network_from(base: Path, *, seed: int) -> PairNetwork:
    """The network with pretrained weights, whose embeddings are not trained, and a new head."""
    torch.manual_seed(seed)
    # Eager attention is the fastest for short texts on a CPU.
    body = load_pretrained(
        _BODIES[model_type(base)], folder=base, device="cpu", add_pooling_layer=False, attn_implementation="eager",
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    network = PairNetwork(body)
    for parameter in network.body.embeddings.parameters():
        parameter.requires_grad_(False)
    return network


@dataclass(frozen=True, slots=True)
class Teacher:
    """A trained network that gives probabilities to learn."""

    network: PairNetwork
    tokenizer: Tokenizer

    def probabilities(self, pairs: list[TextPair]) -> Tensor:
        """The probability of `same` of each pair, of shape (pairs,), as the mean over what it reads of a pair."""
        others = [_turned(pair) for pair in pairs]
        with torch.inference_mode():
            logits = self.network(*padded(pairs + others, tokenizer=self.tokenizer)).view(2, len(pairs))
        return torch.sigmoid(logits.mean(0)).clone()


def _turned(pair: TextPair) -> TextPair:
    """The second reading of a pair, see `SameMeaning`."""
    return _swapped(pair) if pair.kind in SYMMETRIC else replace(pair, request="")


def _swapped(pair: TextPair) -> TextPair:
    return replace(pair, wanted=pair.given, given=pair.wanted)


@dataclass(frozen=True, slots=True)
class PairObjective:
    """Mean binary cross-entropy over the pairs of a batch, against labels and a teacher's probabilities."""

    tokenizer: Tokenizer
    batch: int = BATCH
    teacher: Teacher | None = None

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        """The loss on one batch, a scalar."""
        seed = int(rng.integers(2**32))
        unlabelled = 0 if self.teacher is None else round(_UNLABELLED * self.batch)
        drawn = [(pair, True) for pair in islice(_drawn(seed), self.batch - unlabelled)]
        drawn += [(pair, False) for pair in islice(unlabelled_pairs(_random(seed)), unlabelled)]
        # Texts of similar length together need little padding.
        drawn.sort(key=lambda each: len(each[0].wanted) + len(each[0].given))
        losses = []
        for start in range(0, len(drawn), _CHUNK):
            chunk = drawn[start : start + _CHUNK]
            pairs = [pair for pair, _ in chunk]
            with torch.autocast("cpu", dtype=torch.bfloat16):
                wanted = self._wanted(pairs, are_labelled=[is_labelled for _, is_labelled in chunk])
                logits = model(*padded(pairs, tokenizer=self.tokenizer))
            losses.append(F.binary_cross_entropy_with_logits(logits, wanted, reduction="sum"))
        return torch.stack(losses).sum() / len(drawn)

    def _wanted(self, pairs: list[TextPair], *, are_labelled: list[bool]) -> Tensor:
        labels = torch.tensor([float(pair.same) for pair in pairs]) * (1 - 2 * _SMOOTHING) + _SMOOTHING
        if self.teacher is None:
            return labels
        taught = self.teacher.probabilities(pairs)
        return torch.lerp(labels, taught, torch.where(torch.tensor(are_labelled), _TAUGHT, 1.0))


def _drawn(seed: int) -> Iterator[TextPair]:
    """An endless sequence of pairs by hand and by grammar, in both directions where a kind allows it."""
    rng = _random(seed)
    by_hand, by_grammar = drawn_pairs(rng), generated_pairs(seed=seed)
    while True:
        if rng.random() < NATURAL:
            pair = next(by_hand)
            if rng.random() < _NOISED:
                is_question = pair.kind in {"question", "ask", "text"}
                pair = replace(pair, given=noised(pair.given.rstrip("?."), rng, is_question=is_question))
        else:
            pair = next(by_grammar)
        if pair.kind in SYMMETRIC and rng.random() < 0.5:
            pair = _swapped(pair)
        yield pair


def _random(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - not for secrets


def padded(pairs: list[TextPair], *, tokenizer: Tokenizer) -> tuple[Tensor, Tensor, Tensor]:
    """Token numbers, types and mask of pairs, each of shape (pairs, tokens)."""
    rows = [
        encoded(kind=pair.kind, request=pair.request, wanted=pair.wanted, given=pair.given, tokenizer=tokenizer)
        for pair in pairs
    ]
    longest = max(len(ids) for ids, _ in rows)
    tensors = torch.zeros((3, len(rows), longest), dtype=torch.long)
    for place, (ids, types) in enumerate(rows):
        tensors[0, place, : len(ids)] = torch.tensor(ids)
        tensors[1, place, : len(ids)] = torch.tensor(types)
        tensors[2, place, : len(ids)] = 1
    return tensors[0], tensors[1], tensors[2]


def _settings(order: Order) -> dict[str, JsonValue]:
    before: JsonValue = None
    if order.start is not None:
        before = json.loads((order.start / RECORD).read_text(encoding="utf-8"))
    return {
        "kind": "same-meaning",
        "before": before,
        "teacher": None if order.teacher is None else json.loads((order.teacher / RECORD).read_text(encoding="utf-8")),
        "seed": order.seed,
        "base": weights_digest(order.base),
        "pairs": pairs_digest("train"),
        "natural": NATURAL,
        "batch": BATCH,
        "learning_rate": LEARNING_RATES[model_type(order.base)],
        "torch": torch.__version__,
    }


def train(order: Order, *, report: Callable[[Progress], None] | None = None) -> Path | None:
    """Train the network and return its folder, or None if it stopped early. The checkpoint is next to the folder.

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
    tokenizer = open_tokenizer(order.base)
    network = network_from(order.base, seed=order.seed)
    if order.start is not None:
        network.load_state_dict(load_file(order.start / "model.safetensors"))
    reached = fit(
        model=network,
        objective=PairObjective(tokenizer, teacher=_teacher(order)),
        schedule=Schedule(
            steps=order.steps,
            learning_rate=LEARNING_RATES[model_type(order.base)],
            seed=order.seed,
            checkpoint_every=100,
        ),
        checkpoint=checkpoint,
        resume=order.resume,
        stop_after=order.stop_after,
        report=report,
    )
    if reached < order.steps:
        return None
    order.out.mkdir(parents=True, exist_ok=True)
    save_file(
        {name: value.contiguous() for name, value in network.state_dict().items()}, order.out / "model.safetensors"
    )
    for name in ("config.json", "tokenizer.json"):
        (order.out / name).write_bytes((order.base / name).read_bytes())
    written: list[JsonValue] = [asdict(run) for run in runs]
    write_record(folder=order.out, record={**_settings(order), "runs": written})
    return order.out


def _teacher(order: Order) -> Teacher | None:
    if order.teacher is None:
        return None
    return Teacher(network=trained_network(order.teacher), tokenizer=open_tokenizer(order.teacher))


def average(*, folders: Sequence[Path], out: Path) -> Path:
    """Write the mean of the weights of networks that went on from the same one, which is better than each.

    Args:
        folders: of the trained networks.
        out: the folder to write.
    """
    weights = [load_file(folder / "model.safetensors") for folder in folders]
    means = {name: torch.stack([each[name] for each in weights]).mean(0).contiguous() for name in weights[0]}
    out.mkdir(parents=True, exist_ok=True)
    save_file(means, out / "model.safetensors")
    (out / "tokenizer.json").write_bytes((folders[0] / "tokenizer.json").read_bytes())
    records: list[JsonValue] = [json.loads((folder / RECORD).read_text(encoding="utf-8")) for folder in folders]
    write_record(folder=out, record={"kind": "same-meaning", "torch": torch.__version__, "averaged": records})
    return out
