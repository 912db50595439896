"""Cross-encoder arbiters: `transformers` models that classify pairs of texts.

The probability that two texts have the same meaning is the sigmoid of the output if the model has one label, else the
softmax of the label with such a name. Each pair is classified in both directions, and the lower probability counts, so
that entailment of a more specific text is not enough.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluator.core.canonical_json import JsonValue
from evaluator.execution.experts.checkpoints import Checkpoint, weights_folder
from evaluator.scoring.arbiters.base import ArbiterError, ArbiterName, Question, Settled

_SAME = frozenset({"same", "duplicate", "paraphrase", "equivalent", "entailment", "is_duplicate", "label_1"})
"""Names of the label for texts with the same meaning in published models."""
_MOST_TOKENS = 512
_LARGEST = 2_000_000_000
"""Parameters."""
_FOLDER = "arbiters"


class CrossEncoder:
    """Settles pairs by the probability of the same meaning. The model is loaded for the first pair."""

    def __init__(self, *, name: ArbiterName, device: str = "cpu") -> None:
        self._name = name
        self._device = device
        self._identity = name.identity()
        self._loaded: tuple[Any, Any, int | None] | None = None
        self._problem = ""

    def identity(self) -> Mapping[str, JsonValue]:
        """See `Arbiter`."""
        return self._identity

    def settle(self, questions: Sequence[Question]) -> Sequence[Settled]:
        """See `Arbiter`."""
        return [self._settle(question) for question in questions]

    def _settle(self, question: Question) -> Settled:
        if self._problem:
            return Settled(verdict="undecided", problem=self._problem, is_final=False)
        try:
            if self._loaded is None:
                self._loaded = _load(name=self._name, device=self._device)
            both = [self._probability(question.wanted, question.given)]
            both.append(self._probability(question.given, question.wanted))
        except Exception as error:  # noqa: BLE001 - a model of the operator's choice must not stop an evaluation
            # Loading it again for each pair would delay the evaluation.
            reason = str(error).partition("\n")[0] or type(error).__name__
            self._problem = f"The arbiter cannot be used: {reason}."
            return Settled(verdict="undecided", problem=self._problem, is_final=False)
        return decided(probability=round(min(both), 4), threshold=self._name.threshold)

    def _probability(self, first: str, second: str) -> float:
        import torch

        assert self._loaded is not None
        tokenizer, model, place = self._loaded
        limit = min(_MOST_TOKENS, tokenizer.model_max_length)
        # One pair at a time, so that rounding does not depend on other pairs.
        encoded = tokenizer(first, second, truncation=True, max_length=limit, return_tensors="pt").to(model.device)
        with torch.inference_mode():
            output = model(**encoded).logits[0].double()
        probability = torch.sigmoid(output[0]) if place is None else torch.softmax(output, dim=0)[place]
        return float(probability)


def decided(*, probability: float, threshold: float) -> Settled:
    """The verdict for a probability, in [0, 1], that two texts have the same meaning."""
    answers = (f"{probability:.4f}",)
    least = round(1 - threshold, 9)
    if probability >= threshold:
        return Settled(verdict="same", answers=answers)
    if probability <= least:
        return Settled(verdict="different", answers=answers)
    text = f"The arbiter's probability is between {least:g} and {threshold:g}."
    return Settled(verdict="undecided", answers=answers, problem=text)


def _load(*, name: ArbiterName, device: str) -> tuple[Any, Any, int | None]:
    """Tokenizer, model, and the index of the label for the same meaning; None if there is only one label."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    from evaluator.execution.experts.pretrained import load_pretrained

    folder = Path(name.folder) if name.kind == "dir" else _fetched(name)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    model = load_pretrained(AutoModelForSequenceClassification, folder=folder, device=device)
    labels = dict(model.config.id2label)
    places = [place for place, label in labels.items() if str(label).lower() in _SAME]
    if len(labels) != 1 and len(places) != 1:
        known = ", ".join(str(label) for label in labels.values())
        raise ArbiterError(f"none of its labels says that two texts mean the same: {known}")
    return tokenizer, model, None if len(labels) == 1 else places[0]


def _fetched(name: ArbiterName) -> Path:
    """The folder with a model of the hub, which is fetched if necessary, and verified."""
    from evaluator.execution.experts.fetching import Fetcher

    item = Checkpoint(
        name=f"{name.repo.replace('/', '--')}-{name.commit}",
        licence="",
        values=_LARGEST,
        repo=name.repo,
        revision=name.commit,
    )
    folder = weights_folder(_FOLDER)
    Fetcher(folder=folder, report=lambda _: None).fetch(item)
    return folder / item.name
