"""Recipes of the language experts."""

from collections.abc import Callable

from tokenizers import Tokenizer
from torch import nn

from evaluator.studies.experts import language_models as models
from evaluator.studies.experts import texts
from evaluator.studies.experts.answering import answer_objective
from evaluator.studies.experts.data.tokenizers import bilingual_tokenizer, english_tokenizer
from evaluator.studies.experts.recipe import EXAMPLES, REVIEWS, TRANSLATIONS, Recipe
from evaluator.training.loop import Objective, Schedule


def _recipe(
    *,
    name: str,
    title: str,
    build: Callable[[], nn.Module],
    objective: Callable[..., Objective],
    schedule: Schedule,
    tokenizer: Callable[[], Tokenizer] = english_tokenizer,
    examples: int = EXAMPLES,
) -> Recipe:
    return Recipe(
        name=name,
        title=title,
        build=build,
        objective=lambda bank, weights: objective(tokenizer=tokenizer()),  # noqa: ARG005
        schedule=schedule,
        # T5 is the one class that was never given a token for the beginning.
        export=models.exporter(tokenizer, begins=build is not models.translator),
        pictures=False,
        texts=examples,
    )


TEXT_RECIPES: tuple[Recipe, ...] = (
    _recipe(
        name="machine-translation",
        title="Machine Translation: T5, English to German",
        build=models.translator,
        objective=texts.translation_objective,
        schedule=Schedule(steps=10000, learning_rate=3e-3),
        tokenizer=bilingual_tokenizer,
        examples=TRANSLATIONS,
    ),
    _recipe(
        name="fill-mask",
        title="Fill Mask: RoBERTa",
        build=models.filler,
        objective=texts.fill_objective,
        schedule=Schedule(steps=1000, learning_rate=2e-3),
    ),
    _recipe(
        name="question-answering",
        title="Question Answering: DistilBERT, extractive",
        build=models.answerer,
        objective=answer_objective,
        schedule=Schedule(steps=1000, learning_rate=1e-3),
    ),
    _recipe(
        name="summarization",
        title="Text Summarization: BART",
        build=models.summariser,
        objective=texts.summary_objective,
        schedule=Schedule(steps=700, learning_rate=1e-3),
    ),
    _recipe(
        name="sentiment",
        title="Sentiment Analysis: BERT",
        build=models.judge_of_sentiment,
        objective=texts.sentiment_objective,
        schedule=Schedule(steps=300, learning_rate=1e-3),
        examples=REVIEWS,
    ),
    _recipe(
        name="text-generation",
        title="Text Generation: GPT-2",
        build=models.continuer,
        objective=texts.generation_objective,
        schedule=Schedule(steps=600, learning_rate=2e-3),
    ),
)
"""In the order of training."""
