"""Paraphrases of OpenAGI's requests, with the same meaning and none of the 185 sentences.

    "Given noisy blurry image, how to return the caption in German step by step?"
    "I have a grainy, out-of-focus picture. Which steps do you take to describe it in one German sentence?"

A paraphrase consists of a frame, words for each input and its defects in any order, and words for the goal. Each part
has the meaning of its part of the released grammar, so that gold plan and data stay valid.
"""

import random
from collections.abc import Mapping, Sequence

from evaluator.openagi.grammar import Base, Degradation
from evaluator.openagi.tasks import OpenAGITask

_FRAMES = (
    "I have {given}. Which steps do you take to {goal}?",
    "Starting from {given}, {goal}. List the steps.",
    "How would you {goal}, step after step, if all you get is {given}?",
    "My input is {given}; work out a sequence of steps to {goal}.",
    "Plan how to {goal}, given nothing but {given}.",
    "There is {given}. Break down what must be done to {goal}.",
    "With {given} at hand, what has to be done in which order to {goal}?",
    "You receive {given}. Please {goal}, one step at a time.",
    "Somebody sends {given} and wants you to {goal}. What do you do, in order?",
    "What is the right order of steps to {goal} when you are handed {given}?",
    "Please {goal}. The only thing supplied is {given}. Go stepwise.",
    "The task is to {goal}, using {given}. Describe each step.",
)

_DEFECTS: Mapping[Degradation, Sequence[str]] = {
    Degradation.LOW_RESOLUTION: ("low-res", "pixelated", "small, coarsely resolved", "low-definition"),
    Degradation.NOISE: ("grainy", "noise-ridden", "speckled", "noise-corrupted"),
    Degradation.BLUR: ("blurred", "out-of-focus", "unsharp", "defocused"),
    Degradation.GRAYSCALE: ("black-and-white", "monochrome", "colourless", "gray-toned"),
}
_PICTURES = ("picture", "photo", "photograph")
_TEXTS: Mapping[str, Sequence[str]] = {
    "text": ("text in English", "piece of English writing", "passage in English"),
    "query": ("question in English", "question written in English", "question asked in English"),
    "document": ("document in English", "document written in English", "reference document in English"),
}
_MASKED = (
    "with a masked word",
    "in which a word is blanked out",
    "that has a gap to be filled in",
    "with a missing word",
)

_GERMAN = ("in German", "in the German language", "auf Deutsch")
_ENGLISH = ("in English", "in the English language")
_GOALS: Mapping[Base, Sequence[str]] = {
    Base.RESTORATION: (
        "recover a clean version of it", "restore it to its undamaged state", "repair all its defects",
        "bring it back to normal quality",
    ),
    Base.CAPTIONING: (
        "describe it in one sentence {language}", "write a caption for it {language}",
        "say what it shows in a short sentence {language}",
    ),
    Base.CLASSIFICATION: (
        "name the class it belongs to {language}", "classify it and give the label {language}",
        "tell which category it falls into {language}",
    ),
    Base.DETECTION: (
        "list the objects that appear in it {language}", "detect the objects in it and name them {language}",
        "name every object that it contains {language}",
    ),
    Base.TEXT_TO_IMAGE: (
        "draw an image of what it says", "turn it into an illustration", "create an image that depicts it",
    ),
    Base.SUMMARIZATION: (
        "summarise it {language}", "give the gist of it {language}", "condense it to a short summary {language}",
    ),
    Base.TRANSLATION: ("translate it so that it reads {language}", "render it {language} with its meaning kept"),
    Base.SENTIMENT: (
        "tell whether its sentiment is positive or negative {language}", "judge the mood of it {language}",
        "state the sentiment it expresses {language}",
    ),
    Base.VQA: (
        "answer what is asked about the picture {language}", "reply {language} to what is asked about the picture",
    ),
    Base.QA: (
        "answer what is asked, from the document, {language}", "find the answer in the document and give it {language}",
    ),
}  # fmt: skip


def variant(*, task: OpenAGITask, seed: str) -> str:
    """A paraphrase of a task's request, other than the released requests.

    Args:
        task: the task; its text is not used.
        seed: determines the paraphrase.
    """
    rng = random.Random(f"openagi variant {seed}")  # noqa: S311 - the secret is the seed
    given = " and ".join(_input(name=name, task=task, rng=rng) for name in task.resources)
    goal = rng.choice(_GOALS[task.base])
    if task.language is not None:
        goal = goal.format(language=rng.choice(_GERMAN if task.language == "de" else _ENGLISH))
    return rng.choice(_FRAMES).format(given=given, goal=goal)


def _input(*, name: str, task: OpenAGITask, rng: random.Random) -> str:
    """The words for one input, with its defects."""
    if name == "image":
        defects = [rng.choice(_DEFECTS[Degradation(degradation)]) for degradation in task.degradations]
        rng.shuffle(defects)
        return _with_article(f"{', '.join(defects)} {rng.choice(_PICTURES)}")
    words = _with_article(rng.choice(_TEXTS[name]))
    return f"{words} {rng.choice(_MASKED)}" if name in task.clozed else words


def _with_article(words: str) -> str:
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"
