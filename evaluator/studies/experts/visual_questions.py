"""Training of Visual Question Answering: a small ViLT on clean scenes and the grammar's questions."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import BertTokenizer, ViltConfig, ViltForQuestionAnswering, ViltImageProcessorPil

from evaluator.execution.experts.visual_questions import embedded
from evaluator.miniature.grammar.captions import DIRECTIONS
from evaluator.miniature.grammar.labels import BACKGROUNDS, NUMBERS
from evaluator.miniature.grammar.questions import Question, draw_question
from evaluator.miniature.scenes import SIZE, Scene, draw_scene
from evaluator.miniature.seeds import Split
from evaluator.miniature.vocabulary import CLASS_LABELS, Colour, Shape
from evaluator.studies.experts.bert import word_pieces
from evaluator.studies.experts.data.bank import Bank, normalised
from evaluator.studies.experts.scene_encoder import (
    PatchHeads,
    batch_of_patch_labels,
    older_names,
    trained_encoder,
    vision_config,
)
from evaluator.training.export import export_transformers

NAME = "visual-questions"
_LENGTH = 16
"""Most tokens of a question, begin and end included."""
_VOCABULARY_SCENES = 2000
_LAYERS = 8
"""The first layers see what lies where, as in the scene encoder; the others locate what the question is about."""
_MOST = 4
"""Most things in a scene."""
_COLOURS, _SHAPES = list(Colour), list(Shape)
_DRAWS = 3
"""Draws among which a question about a direction is preferred."""
_RARE = torch.tensor(6.0)
"""Weight of the few patches that a question is about."""

ANSWERS: tuple[str, ...] = tuple(
    dict.fromkeys(
        [
            "yes",
            "no",
            *(number.english for number in NUMBERS[1 : _MOST + 1]),
            *_COLOURS,
            *(colour.english for colour in BACKGROUNDS.values()),
            *_SHAPES,
            *CLASS_LABELS,
        ]
    )
)
"""All answers of the grammar's questions; the names of things come last."""

_FIRST_NAME = len(ANSWERS) - len(CLASS_LABELS)


@cache
def tokenizer() -> BertTokenizer:
    """The words of the questions, and letters to spell all others."""
    rng = np.random.default_rng(0)
    scenes = (_scene(split=Split.TRAIN, index=index) for index in range(_VOCABULARY_SCENES))
    pieces = word_pieces([draw_question(scene=scene, rng=rng).text for scene in scenes])
    ids = {piece: index for index, piece in enumerate(pieces)}
    return BertTokenizer(vocab=ids, do_lower_case=True, model_max_length=_LENGTH)


@cache
def _scene(*, split: Split, index: int) -> Scene:
    return draw_scene(split=split, index=index)


class QuestionModel(nn.Module):
    """A ViLT with auxiliary heads on its patches, which are not exported.

    Before the last layers the heads predict what a patch shows, after them what the question is about and what
    answers it.
    """

    def __init__(self, vilt: ViltForQuestionAnswering) -> None:
        super().__init__()
        width = vilt.config.hidden_size
        self.vilt = vilt
        self.seen = nn.LayerNorm(width)
        self.patches = PatchHeads(width)
        self.places = nn.Linear(width, 2)
        self.relevant = nn.ModuleList([nn.Linear(width, 2) for _ in range(_LAYERS - vision_config().num_hidden_layers)])


def build() -> nn.Module:
    """A ViLT of the scene encoder's width, with more layers."""
    vision = vision_config()
    config = ViltConfig(
        vocab_size=len(tokenizer()),
        max_position_embeddings=_LENGTH,
        hidden_size=vision.hidden_size,
        num_hidden_layers=_LAYERS,
        num_attention_heads=vision.num_attention_heads,
        intermediate_size=vision.intermediate_size,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.05,
        image_size=SIZE,
        patch_size=vision.patch_size,
        id2label=dict(enumerate(ANSWERS)),
        label2id={answer: index for index, answer in enumerate(ANSWERS)},
    )
    return QuestionModel(ViltForQuestionAnswering(config))


@torch.no_grad()
def begin(model: nn.Module, folders: Mapping[str, Path]) -> None:
    """Start from the trained encoder of clean scenes."""
    assert isinstance(model, QuestionModel)
    state = older_names(trained_encoder(folders), mlp=True)
    for kind in ("weight", "bias"):
        model.seen.get_parameter(kind).copy_(state[f"layernorm.{kind}"])
    unexpected = model.vilt.vilt.load_state_dict(state, strict=False).unexpected_keys
    assert not unexpected, unexpected


@dataclass(frozen=True, slots=True)
class QuestionObjective:
    """Cross-entropy of the answer, on clean images.

    An answer says little about where to look. Auxiliary losses therefore ask for: what each patch shows before the
    question is considered, and with the same heads what each word means, so that words and patches agree; where the
    things lie that the words name; after each later layer which patches the question names and which answer it, and
    attention to these in the last layers; colour and shape of an answer that is a name, separately.
    """

    bank: Bank
    batch: int = 48

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        assert isinstance(model, QuestionModel)
        indices = np.sort(rng.integers(len(self.bank), size=self.batch))
        scenes = [_scene(split=self.bank.split, index=int(index)) for index in indices]
        questions = [_draw_hard(scene=scene, rng=rng) for scene in scenes]
        words = encoded([question.text for question in questions])
        images = embedded(model=model.vilt, pixels=normalised(np.asarray(self.bank.pixels[indices])))
        mask = torch.ones(images.shape[:2], dtype=torch.long)
        output = model.vilt(
            **words, image_embeds=images, pixel_mask=mask, output_hidden_states=True, output_attentions=True
        )
        labels = batch_of_patch_labels(bank=self.bank, indices=indices)
        early = vision_config().num_hidden_layers
        patches = [state[:, -labels.shape[1] :] for state in output.hidden_states]
        texts = output.hidden_states[early][:, :_LENGTH]
        seen = model.patches.loss(patches=model.seen(patches[early]), labels=labels)
        meant = model.patches.loss(patches=model.seen(texts), labels=word_labels()[words["input_ids"]])
        located = torch.stack(
            [
                place_loss(places=model.places(state[:, :_LENGTH]), words=words["input_ids"], labels=labels)
                for state in output.hidden_states[early + 1 : early + 3]
            ]
        )
        targets = torch.stack([pointed_at(q, labels=row) for q, row in zip(questions, labels, strict=True)])
        relevant = [
            F.binary_cross_entropy_with_logits(head(state), targets, pos_weight=_RARE)
            for head, state in zip(model.relevant, patches[early + 1 :], strict=True)
        ]
        attention = [attention_loss(attention=weights, targets=targets[..., 1]) for weights in output.attentions[-2:]]
        answers = answer_loss(logits=output.logits, questions=questions)
        pointing = 2 * torch.stack(relevant).sum() + 0.3 * torch.stack(attention).sum()
        return answers + seen + 0.3 * meant + 5 * located.sum() + pointing


def _draw_hard(*, scene: Scene, rng: np.random.Generator) -> Question:
    """The first of a few questions that asks for a direction, else the last: directions are learnt last by far."""
    for _ in range(_DRAWS - 1):
        question = draw_question(scene=scene, rng=rng)
        if any(direction.english in question.text for direction in DIRECTIONS.values()):
            return question
    return draw_question(scene=scene, rng=rng)


def attention_loss(*, attention: Tensor, targets: Tensor) -> Tensor:
    """Negative log of the attention of half of the heads from the first word, which predicts the answer, to `targets`.

    Args:
        attention: (batch, heads, tokens, tokens).
        targets: (batch, patches), 1 for the patches that answer the question; items without a 1 do not count.
    """
    answered = targets.sum(dim=1) > 0
    if not answered.any():
        return attention.new_zeros(())
    half = attention[:, : attention.shape[1] // 2, 0, -targets.shape[1] :].mean(dim=1)
    return -((half * targets).sum(dim=1)[answered] + 1e-3).log().mean()


def place_loss(*, places: Tensor, words: Tensor, labels: Tensor) -> Tensor:
    """Mean squared error of the places predicted from words, against the things that the words name.

    Args:
        places: (batch, words, 2), x and y in [0, 1].
        words: token ids, (batch, words).
        labels: for each patch 0 or 1 + colour and 0 or 1 + shape of what lies there, (batch, patches, 2).
    """
    shapes = word_labels()[words][..., 1]
    matches = ((labels[:, None, :, 1] == shapes[..., None]) & (shapes[..., None] > 0)).float()
    counts = matches.sum(dim=-1)
    named = counts > 0
    if not named.any():
        return places.new_zeros(())
    side = math.isqrt(labels.shape[1])
    rows, columns = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    centres = (torch.stack([columns, rows], dim=-1).reshape(-1, 2) + 0.5) / side
    return F.mse_loss(places[named], (matches @ centres)[named] / counts[named][:, None])


@cache
def word_labels() -> Tensor:
    """For each word of the vocabulary 0 or 1 + the colour and 0 or 1 + the shape that it names, shape (words, 2)."""
    labels = torch.zeros((len(tokenizer()), 2), dtype=torch.long)
    for index, colour in enumerate(_COLOURS):
        labels[tokenizer().convert_tokens_to_ids(str(colour)), 0] = 1 + index
    for index, shape in enumerate(_SHAPES):
        labels[tokenizer().convert_tokens_to_ids(str(shape)), 1] = 1 + index
    return labels


def encoded(questions: Sequence[str]) -> Mapping[str, Tensor]:
    """Token ids and masks, shape (batch, 16)."""
    tokens: Mapping[str, Tensor] = tokenizer()(
        list(questions), padding="max_length", truncation=True, max_length=_LENGTH, return_tensors="pt"
    )
    return tokens


def pointed_at(question: Question, *, labels: Tensor) -> Tensor:
    """Which patches show what a question names, and which show its answer: floats of shape (patches, 2).

    If the answer is no, no patch shows it.

    Args:
        labels: for each patch 0 or 1 + colour and 0 or 1 + shape of what lies there.
    """
    words = question.text.rstrip("?").split()
    shapes = torch.tensor([1 + _SHAPES.index(shape) for shape in _SHAPES if shape in words])
    colours = torch.tensor([1 + _COLOURS.index(colour) for colour in _COLOURS if colour in words])
    named = torch.isin(labels[:, 1], shapes) | torch.isin(labels[:, 0], colours)
    answering = named
    if question.answer.english in CLASS_LABELS:
        colour, shape = divmod(CLASS_LABELS.index(question.answer.english), len(_SHAPES))
        answering = (labels == torch.tensor([1 + colour, 1 + shape])).all(dim=-1)
    elif question.text.startswith("Is the "):
        # The patches of the thing show where it is, so they decide between yes and no.
        subject = labels[:, 1] == 1 + _SHAPES.index(Shape(words[2]))
        answering = subject & (question.answer.english == "yes")
    return torch.stack([named, answering], dim=-1).float()


def answer_loss(*, logits: Tensor, questions: Sequence[Question]) -> Tensor:
    """Cross-entropy of logits (batch, answers); for an answer that is a name, also of its colour and its shape."""
    answers = torch.tensor([ANSWERS.index(question.answer.english) for question in questions])
    loss = F.cross_entropy(logits, answers)
    named = answers >= _FIRST_NAME
    if not named.any():
        return loss
    joint = logits[named, _FIRST_NAME:].log_softmax(dim=-1).reshape(-1, len(_COLOURS), len(_SHAPES))
    names = answers[named] - _FIRST_NAME
    colour = F.nll_loss(joint.logsumexp(dim=2), names // len(_SHAPES), reduction="sum")
    shape = F.nll_loss(joint.logsumexp(dim=1), names % len(_SHAPES), reduction="sum")
    return loss + (colour + shape) / len(questions)


def export(model: nn.Module, folder: Path) -> None:
    """Write the ViLT with its tokenizer and its image processor."""
    assert isinstance(model, QuestionModel)
    export_transformers(model.vilt, folder)
    tokenizer().save_pretrained(folder)
    processor = ViltImageProcessorPil(size={"shortest_edge": SIZE}, size_divisor=vision_config().patch_size)
    (folder / "preprocessor_config.json").write_text(json.dumps(processor.to_dict(), indent=1, sort_keys=True) + "\n")
