"""What a paraphrased request is about, and the sentence that says it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.openagi.training.corpus import phrasebook as say

RESTORERS = tuple(say.ADJECTIVES)
"""In the catalogue's order, which is nobody's convention."""
READERS = ("Image Captioning", "Image Classification", "Object Detection")
"""From one image to a text."""
REWRITERS = ("Text Summarization", "Sentiment Analysis", "Text Generation")
"""From one text to a text."""
_SHARES = {
    "restore": 0.14, "read": 0.40, "draw": 0.05, "rewrite": 0.12, "translate": 0.05, "ask image": 0.16, "ask text": 0.08
}  # fmt: skip
"""How often each kind of request is drawn."""
_DAMAGED = 0.5
_MASKED = 0.4
_GERMAN = 0.5
_UNSAID = 0.3
"""How often English is not mentioned where nothing else is asked for."""


@dataclass(frozen=True, slots=True)
class SampledRequest:
    """What somebody asks for: the tools that it takes, by the place they have in the flow of data."""

    kind: str
    restorers: tuple[str, ...] = ()
    """What the image needs."""
    masked: tuple[bool, ...] = ()
    """For each text that is given, in order, whether a word is missing."""
    base: str | None = None
    """The tool that makes the answer; None where repairing, or translating, is all."""
    german: bool = False

    @property
    def resources(self) -> tuple[str, ...]:
        """Names of what is given, as the suite names what its requests give."""
        if self.kind in ("restore", "read"):
            return ("image",)
        return {"ask image": ("image", "query"), "ask text": ("document", "query")}.get(self.kind, ("text",))

    @property
    def makes(self) -> str:
        """Type of the answer."""
        return "image" if self.kind in ("restore", "draw") else "text"


def draw_request(rng: np.random.Generator) -> SampledRequest:
    """A sampled of a random kind."""
    kind = str(rng.choice(list(_SHARES), p=list(_SHARES.values())))
    german = bool(rng.random() < _GERMAN)
    if kind == "restore":
        return SampledRequest(kind=kind, restorers=_damage(rng) or (_one(rng, RESTORERS),))
    if kind == "read":
        return SampledRequest(kind=kind, restorers=_damage(rng), base=_one(rng, READERS), german=german)
    if kind == "draw":
        return SampledRequest(kind=kind, masked=_masks(rng, count=1), base="Text to Image Generation")
    if kind == "rewrite":
        return SampledRequest(kind=kind, masked=_masks(rng, count=1), base=_one(rng, REWRITERS), german=german)
    if kind == "translate":
        return SampledRequest(kind=kind, masked=_masks(rng, count=1), german=True)
    if kind == "ask image":
        masks = _masks(rng, count=1)
        return SampledRequest(
            kind=kind, restorers=_damage(rng), masked=masks, base="Visual Question Answering", german=german
        )
    return SampledRequest(kind=kind, masked=_masks(rng, count=2), base="Question Answering", german=german)


def sentence(*, sampled: SampledRequest, rng: np.random.Generator) -> str:
    """The sampled in words of the phrasebook."""
    image, text, query = (_one(rng, words) for words in (say.IMAGES, say.TEXTS, say.QUERIES))
    given = _given(sampled=sampled, nouns=(image, text, query), rng=rng)
    goal = _goal(sampled=sampled, rng=rng).format(image=image, text=text, query=query)
    written = _one(rng, say.FRAMES).format(given=given, goal=goal)
    return written[0].upper() + written[1:]


def _given(*, sampled: SampledRequest, nouns: tuple[str, str, str], rng: np.random.Generator) -> str:
    image, text, query = nouns
    if sampled.kind in ("restore", "read"):
        return _picture(sampled=sampled, noun=image, rng=rng)
    if sampled.kind == "ask image":
        parts = [
            _picture(sampled=sampled, noun=image, rng=rng),
            _writing(masked=sampled.masked[0], noun=query, rng=rng),
        ]
    elif sampled.kind == "ask text":
        document = _one(rng, say.DOCUMENTS)
        parts = [_writing(masked=m, noun=n, rng=rng) for m, n in zip(sampled.masked, (document, query), strict=True)]
    else:
        parts = [_writing(masked=sampled.masked[0], noun=text, rng=rng)]
    return _one(rng, (" and ", ", together with ", " plus ", " with ")).join(parts)


def _picture(*, sampled: SampledRequest, noun: str, rng: np.random.Generator) -> str:
    order = [str(name) for name in rng.permutation(sampled.restorers)]
    before = [name for name in order if rng.random() < 0.7]
    behind = [name for name in order if name not in before]
    words = _one(rng, (" ", ", ")).join(_one(rng, say.ADJECTIVES[name]) for name in before)
    phrase = f"{words} {noun}" if words else noun
    clause = " and ".join(_one(rng, say.COMPLAINTS[name]) for name in behind)
    return _article(f"{phrase} that {clause}" if clause else phrase, rng=rng)


def _writing(*, masked: bool, noun: str, rng: np.random.Generator) -> str:
    noun = f"{_one(rng, say.ENGLISH)}{noun}"
    if not masked:
        return _article(noun, rng=rng)
    if rng.random() < 0.5:
        return _article(f"{_one(rng, say.MASKED)} {noun}", rng=rng)
    return _article(f"{noun} {_one(rng, say.GAPS)}", rng=rng)


def _article(phrase: str, *, rng: np.random.Generator) -> str:
    indefinite = "an" if phrase[0] in "aeiouAEIOU" else "a"
    article = _one(rng, (indefinite, indefinite, "this", ""))
    return f"{article} {phrase}".strip()


def _goal(*, sampled: SampledRequest, rng: np.random.Generator) -> str:
    if sampled.kind in ("restore", "draw", "translate"):
        return _one(rng, {"restore": say.RESTORE, "draw": say.DRAW, "translate": say.TRANSLATE}[sampled.kind])
    if sampled.kind in ("ask image", "ask text"):
        goal = _one(rng, say.ANSWER)
    else:
        goal = _one(rng, say.GIVE).replace("{what}", _one(rng, say.RESULTS[str(sampled.base)]))
    if sampled.german:
        return f"{goal} {_one(rng, say.IN_GERMAN)}"
    return goal if rng.random() < _UNSAID else f"{goal} {_one(rng, say.IN_ENGLISH)}"


def _damage(rng: np.random.Generator) -> tuple[str, ...]:
    return tuple(name for name in RESTORERS if rng.random() < _DAMAGED)


def _masks(rng: np.random.Generator, *, count: int) -> tuple[bool, ...]:
    return tuple(bool(rng.random() < _MASKED) for _ in range(count))


def _one(rng: np.random.Generator, words: Sequence[str]) -> str:
    return words[int(rng.integers(len(words)))]
