"""Recipes of the experts that read signs and short texts."""

from evaluator.studies.experts.language_models import exporter
from evaluator.studies.experts.reading import annotation, signs
from evaluator.studies.experts.recipe import Recipe
from evaluator.training.loop import Schedule

READING_RECIPES: tuple[Recipe, ...] = (
    Recipe(
        name=signs.NAME,
        title="Optical character recognition: TrOCR",
        build=signs.build,
        objective=lambda bank, weights: signs.ReadingObjective(),  # noqa: ARG005
        schedule=Schedule(steps=6000, learning_rate=2e-3),
        export=signs.export,
        texts=0,
        pictures=False,
        data=f"{signs.SIGNS:,} training signs; half of their words are characters at random, and a quarter of the "
        "world's words are kept from them",
        limits="reads small letters and digits of one font, in one to three words below one another",
    ),
    Recipe(
        name=annotation.NAME,
        title="Titles, tags, names and places of texts: T5",
        build=annotation.build,
        objective=lambda bank, weights: annotation.objective(),  # noqa: ARG005
        schedule=Schedule(steps=5000, learning_rate=3e-3),
        export=exporter(annotation.tokenizer, begins=False),
        texts=annotation.EXAMPLES,
        pictures=False,
        data="stories, their summaries, reviews, captions of scenes and clips, and words of signs",
        limits="knows the grammar's sentences and words only; names are the grammar's twelve people and seven days; no "
        "story of the other splits occurs in its training, but a quarter of the reviews and half of the captions do",
    ),
)
"""In the order of training."""
