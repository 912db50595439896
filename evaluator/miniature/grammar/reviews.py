"""Reviews: short positive or negative texts."""

from dataclasses import dataclass

import numpy as np

from evaluator.miniature.grammar.german import Article, Bilingual, Case, capitalised, joined, noun_phrase
from evaluator.miniature.grammar.labels import NUMBERS
from evaluator.miniature.grammar.words import DAYS, OPINIONS, PLACES, Opinion, Place

SENTIMENTS: dict[bool, Bilingual] = {True: Bilingual("positive", "positiv"), False: Bilingual("negative", "negativ")}


@dataclass(frozen=True, slots=True)
class Review:
    """A visit with one opinion, which determines the sentiment."""

    day: Bilingual
    place: Place
    opinion: Opinion
    positive: bool
    hours: int
    """Duration of the visit, from 2 to 8."""
    opinion_first: bool

    @property
    def sentiment(self) -> Bilingual:
        """`positive` or `negative`."""
        return SENTIMENTS[self.positive]

    @property
    def judgement(self) -> Bilingual:
        """The adjective that determines the sentiment, for example `tasty`."""
        return self.opinion.good if self.positive else self.opinion.bad

    @property
    def sentences(self) -> tuple[Bilingual, ...]:
        """The sentences in order."""
        noun = self.opinion.noun
        german_noun = noun_phrase(noun=noun, case=Case.NOMINATIVE, article=Article.DEFINITE)
        adverb, judgement = self.opinion.adverb(positive=self.positive), self.judgement
        opinion = Bilingual(
            f"The {noun.english} was {adverb.english} {judgement.english}.",
            f"{capitalised(german_noun)} war {adverb.german} {judgement.german}.",
        )
        place, number = self.place.phrase, NUMBERS[self.hours]
        visit = Bilingual(
            f"On {self.day.english} we were {place.english}.", f"Am {self.day.german} waren wir {place.german}."
        )
        stay = Bilingual(f"We stayed for {number.english} hours.", f"Wir blieben {number.german} Stunden.")
        return (visit, opinion, stay) if self.opinion_first else (visit, stay, opinion)

    @property
    def text(self) -> Bilingual:
        """The whole review."""
        return joined(self.sentences)


def draw_review(rng: np.random.Generator) -> Review:
    """A random review, positive or negative with equal probability."""
    return Review(
        day=DAYS[rng.integers(len(DAYS))],
        place=PLACES[rng.integers(len(PLACES))],
        opinion=OPINIONS[rng.integers(len(OPINIONS))],
        positive=bool(rng.random() < 0.5),
        hours=int(rng.integers(2, len(NUMBERS))),
        opinion_first=bool(rng.random() < 0.5),
    )
