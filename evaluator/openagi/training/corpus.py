"""The corpus of pretraining: requests in many other words than the suite's, with plans of imaginary annotators.

What the planner can learn here: which tools have to do with which words, the forms in which the strategies of
`evaluator.openagi.strategies` ask and are answered, and that plans shown before a request tell how to write its own.

What it cannot: which order of the restoring tools is right (each annotator has an order of their own, all equally
likely), nor how careful to be (annotators leave out tools that are needed and add some that are not). A few plans of
one annotator tell which order and how much care are in demand: that is what demonstrations, fine-tuning and task
feedback have to add.

None of OpenAGI's 185 requests is ever drawn, and none of their gold plans is looked at. Some words are also OpenAGI's
("noisy", "caption", "document"), as they are English; others of OpenAGI's ("low-resolutioned", "clozed", "class label",
"regular image") are not here, so a planner that read only these has to guess them, as a language model would.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.core.language_model import Message
from evaluator.core.planner import Expected, PlannerRequest, RequestedTask, offered_tools
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.openagi.strategies.constraint import comma_text, tree_text
from evaluator.openagi.strategies.prompts import (
    Demonstration,
    branch_prompt,
    few_shot_prompt,
    sequence_prompt,
    zero_shot_prompt,
)

Words = tuple[str, ...]

ADJECTIVES: Mapping[str, Words] = {
    "Image Super Resolution": ("low-resolution", "low resolution", "pixelated", "tiny", "coarse", "shrunken"),
    "Image Denoising": ("noisy", "grainy", "speckled", "noise-ridden"),
    "Image Deblurring": ("blurry", "blurred", "fuzzy", "unsharp", "out-of-focus"),
    "Colorization": ("grayscale", "gray", "monochrome", "black-and-white", "colourless"),
}
"""What is said of an image that needs a restoring tool, before the noun."""

COMPLAINTS: Mapping[str, Words] = {
    "Image Super Resolution": ("has a low resolution", "is far too small", "has too few pixels", "was shrunk"),
    "Image Denoising": ("is full of noise", "is noisy", "has grain all over", "is covered in speckles"),
    "Image Deblurring": ("is blurry", "is out of focus", "lacks sharpness", "got blurred"),
    "Colorization": ("is in grayscale", "has no colours", "is black and white", "lost its colours"),
}
"""The same, behind the noun."""

IMAGES: Words = ("image", "picture", "photo", "photograph", "snapshot", "shot")
TEXTS: Words = ("text", "sentence", "passage", "paragraph", "note")
QUERIES: Words = ("query", "question")
DOCUMENTS: Words = ("document", "article", "report", "story")

MASKED: Words = ("masked", "cloze", "gapped", "incomplete", "partly hidden")
"""What is said of a text with a missing word, before the noun."""
GAPS: Words = ("with a masked word", "with a blank in it", "that lacks a word", "with one word hidden", "with a gap")
"""The same, behind the noun."""

RESTORE: Words = (
    "restore it", "repair it", "get the clean {image}", "bring back the original {image}", "make it a normal {image}",
    "return the {image} as it was", "undo the damage", "recover a proper {image}",
)  # fmt: skip
DRAW: Words = (
    "draw a {image} of it", "make a {image} from it", "generate an image", "produce a matching {image}",
    "paint what it says", "create a {image}", "illustrate it",
)  # fmt: skip
TRANSLATE: Words = (
    "translate it into German", "translate the {text} to German", "write it in German", "get a German translation",
    "say the same in German", "turn it into German", "return the translation in German",
)  # fmt: skip
RESULTS: Mapping[str, Words] = {
    "Image Captioning": ("caption", "description", "sentence about it", "short description"),
    "Image Classification": ("class", "category", "label of the main thing", "kind of thing it shows"),
    "Object Detection": ("objects", "list of objects", "names of all things", "names of what is visible"),
    "Text Summarization": ("summary", "short version", "gist", "main point", "abstract"),
    "Sentiment Analysis": ("sentiment", "mood", "polarity", "opinion, positive or negative,"),
    "Text Generation": ("continuation", "next lines", "rest of the {text}"),
}
"""What a request wants of one input, as a noun."""
GIVE: Words = ("return the {what}", "give me the {what}", "find the {what}", "get the {what}", "tell the {what}",
               "write the {what}", "output the {what}")  # fmt: skip
ANSWER: Words = ("answer it", "answer the {query}", "reply to the {query}", "respond to it", "find the answer",
                 "give the answer", "return the answer")  # fmt: skip

IN_ENGLISH: Words = ("in English", "in plain English", "as English words", "in the English language")
IN_GERMAN: Words = ("in German", "in the German language", "as German words", "for a German reader", "and in German")
ENGLISH: Words = ("English ", "")
"""Before the noun of an input; all texts that are given are English."""

FRAMES: Words = (
    "I have {given}. How do I {goal}?",
    "I have {given}. Please {goal}.",
    "Here is {given}; {goal}.",
    "There is {given}, and I want to {goal}.",
    "Starting from {given}, {goal}.",
    "With {given} at hand, {goal}.",
    "Given {given}, {goal}.",
    "Input: {given}. Goal: {goal}.",
    "What does it take to {goal} when there is {given}?",
    "How can one {goal} with {given}?",
    "Please {goal}. What you get is {given}.",
    "Use {given} to {goal}.",
    "My task is to {goal}, and all I have is {given}.",
    "{given}: {goal}",
)
"""Whole requests."""


RESTORERS = tuple(ADJECTIVES)
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
    image, text, query = (_one(rng, words) for words in (IMAGES, TEXTS, QUERIES))
    given = _given(sampled=sampled, nouns=(image, text, query), rng=rng)
    goal = _goal(sampled=sampled, rng=rng).format(image=image, text=text, query=query)
    written = _one(rng, FRAMES).format(given=given, goal=goal)
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
        document = _one(rng, DOCUMENTS)
        parts = [_writing(masked=m, noun=n, rng=rng) for m, n in zip(sampled.masked, (document, query), strict=True)]
    else:
        parts = [_writing(masked=sampled.masked[0], noun=text, rng=rng)]
    return _one(rng, (" and ", ", together with ", " plus ", " with ")).join(parts)


def _picture(*, sampled: SampledRequest, noun: str, rng: np.random.Generator) -> str:
    order = [str(name) for name in rng.permutation(sampled.restorers)]
    before = [name for name in order if rng.random() < 0.7]
    behind = [name for name in order if name not in before]
    words = _one(rng, (" ", ", ")).join(_one(rng, ADJECTIVES[name]) for name in before)
    phrase = f"{words} {noun}" if words else noun
    clause = " and ".join(_one(rng, COMPLAINTS[name]) for name in behind)
    return _article(f"{phrase} that {clause}" if clause else phrase, rng=rng)


def _writing(*, masked: bool, noun: str, rng: np.random.Generator) -> str:
    noun = f"{_one(rng, ENGLISH)}{noun}"
    if not masked:
        return _article(noun, rng=rng)
    if rng.random() < 0.5:
        return _article(f"{_one(rng, MASKED)} {noun}", rng=rng)
    return _article(f"{noun} {_one(rng, GAPS)}", rng=rng)


def _article(phrase: str, *, rng: np.random.Generator) -> str:
    indefinite = "an" if phrase[0] in "aeiouAEIOU" else "a"
    article = _one(rng, (indefinite, indefinite, "this", ""))
    return f"{article} {phrase}".strip()


def _goal(*, sampled: SampledRequest, rng: np.random.Generator) -> str:
    if sampled.kind in ("restore", "draw", "translate"):
        return _one(rng, {"restore": RESTORE, "draw": DRAW, "translate": TRANSLATE}[sampled.kind])
    if sampled.kind in ("ask image", "ask text"):
        goal = _one(rng, ANSWER)
    else:
        goal = _one(rng, GIVE).replace("{what}", _one(rng, RESULTS[str(sampled.base)]))
    if sampled.german:
        return f"{goal} {_one(rng, IN_GERMAN)}"
    return goal if rng.random() < _UNSAID else f"{goal} {_one(rng, IN_ENGLISH)}"


def _damage(rng: np.random.Generator) -> tuple[str, ...]:
    return tuple(name for name in RESTORERS if rng.random() < _DAMAGED)


def _masks(rng: np.random.Generator, *, count: int) -> tuple[bool, ...]:
    return tuple(bool(rng.random() < _MASKED) for _ in range(count))


def _one(rng: np.random.Generator, words: Sequence[str]) -> str:
    return words[int(rng.integers(len(words)))]


CARELESS = 0.6
"""The most careless annotator leaves out needed tools this often; the others less, evenly spread."""
SUPERFLUOUS = 0.3
"""The same for tools that are not needed."""
CONFUSED = 0.3
"""The same for taking a tool of the same types for the one that makes the answer."""
SCATTERED = 0.3
"""How often the order of the restoring tools is not even the annotator's own."""


@dataclass(frozen=True, slots=True)
class Annotator:
    """How somebody writes plans."""

    order: tuple[str, ...]
    """All restoring tools in the order in which they use them."""
    leaves_out: float
    adds: float
    confuses: float
    texts_first: bool
    """Whether they repair texts before images."""


def draw_annotator(rng: np.random.Generator) -> Annotator:
    """An annotator of a random kind."""
    return Annotator(
        order=tuple(str(name) for name in rng.permutation(RESTORERS)),
        leaves_out=float(rng.uniform(0, CARELESS)),
        adds=float(rng.uniform(0, SUPERFLUOUS)),
        confuses=float(rng.uniform(0, CONFUSED)),
        texts_first=bool(rng.random() < 0.5),
    )


@dataclass(frozen=True, slots=True)
class WrittenPlan:
    """A plan as one branch per input and the names behind them, as `lessons.as_tree` has it."""

    branches: tuple[tuple[str, ...], ...]
    """In the order of the inputs. With one input everything is in its branch."""
    names: tuple[str, ...] = ()
    texts_first: bool = False
    """Whether the branches of texts were written before those of images, where all stands in one list."""


def annotate(*, sampled: SampledRequest, annotator: Annotator, rng: np.random.Generator) -> WrittenPlan:
    """The plan that an annotator writes: its types agree, no branch has a name twice, and it is never empty."""
    branches: list[tuple[str, ...]] = []
    if sampled.resources[0] == "image":
        chosen = [name for name in annotator.order if _says(name in sampled.restorers, annotator, rng)]
        is_scattered = rng.random() < SCATTERED
        branches.append(tuple(str(name) for name in rng.permutation(chosen)) if is_scattered else tuple(chosen))
    for masked in sampled.masked:
        branches.append(("Fill Mask",) if _says(masked, annotator, rng) else ())
    names = []
    if sampled.base is not None:
        alike = next((group for group in (READERS, REWRITERS) if sampled.base in group), ())
        is_confused = bool(alike) and rng.random() < annotator.confuses
        names.append(alike[int(rng.integers(len(alike)))] if is_confused else sampled.base)
    if sampled.kind not in ("restore", "draw") and _says(sampled.german, annotator, rng):
        names.append("Machine Translation")
    if len(branches) > 1:
        return WrittenPlan(branches=tuple(branches), names=tuple(names), texts_first=annotator.texts_first)
    written = (*branches[0], *names)
    if not written:
        # Everything was left out: one tool that is needed.
        needed = sampled.restorers or (("Fill Mask",) if any(sampled.masked) else ("Machine Translation",))
        written = (needed[int(rng.integers(len(needed)))],)
    return WrittenPlan(branches=(written,))


def _says(needed: bool, annotator: Annotator, rng: np.random.Generator) -> bool:
    """Whether a tool gets into the plan."""
    return bool(rng.random() < (1 - annotator.leaves_out if needed else annotator.adds))


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a planner reads and what it is to write."""

    messages: tuple[Message, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Paraphrase:
    """A request with the plan of an annotator."""

    request: str
    sampled: SampledRequest
    plan: WrittenPlan


def draw_paraphrase(*, annotator: Annotator, rng: np.random.Generator) -> Paraphrase:
    """A request, and a plan for it."""
    sampled = draw_request(rng)
    return Paraphrase(
        request=sentence(sampled=sampled, rng=rng),
        sampled=sampled,
        plan=annotate(sampled=sampled, annotator=annotator, rng=rng),
    )


def constrained_lesson(rng: np.random.Generator) -> Lesson:
    """One of the calls by which `openagi/nonlinear` finds a plan, of a random annotator's."""
    drawn = draw_paraphrase(annotator=draw_annotator(rng), rng=rng)
    lessons = tree_lessons(
        request=drawn.request, resources=drawn.sampled.resources, branches=drawn.plan.branches, names=drawn.plan.names
    )
    return lessons[int(rng.integers(len(lessons)))]


def tree_lessons(
    *, request: str, resources: Sequence[str], branches: Sequence[Sequence[str]], names: Sequence[str]
) -> tuple[Lesson, ...]:
    """All calls by which `openagi/nonlinear` finds a plan; with one resource the one call of `openagi/constrained`.

    Args:
        request: its text.
        resources: names of what it gives, in its order.
        branches: the names of each resource's branch; with one resource the whole plan.
        names: behind the branches.
    """
    if len(branches) == 1:
        return (Lesson(sequence_prompt(request=request), comma_text(branches[0])),)
    lessons = [
        Lesson(branch_prompt(request=request, resource=resource), comma_text(branch))
        for resource, branch in zip(resources, branches, strict=True)
    ]
    joining = sequence_prompt(request=request, so_far=tree_text(branches=branches))
    ending = sequence_prompt(request=request, so_far=tree_text(branches=branches, names=names))
    return (*lessons, Lesson(joining, comma_text(names)), Lesson(ending, ""))


def zero_shot_lesson(*, rng: np.random.Generator, names_tools: bool) -> Lesson:
    """A bare request, answered in steps."""
    found = draw_paraphrase(annotator=draw_annotator(rng), rng=rng)
    messages = zero_shot_prompt(request=_asked(found), names_tools=names_tools)
    return Lesson(messages, _numbered(step_lines(found)))


def few_shot_lesson(*, rng: np.random.Generator, shown: int) -> Lesson:
    """A request behind others with the plans of the same annotator, answered in steps."""
    annotator = draw_annotator(rng)
    demonstrations = []
    for _ in range(shown):
        one = draw_paraphrase(annotator=annotator, rng=rng)
        demonstrations.append(Demonstration(one.request, step_lines(one)))
    found = draw_paraphrase(annotator=annotator, rng=rng)
    messages = few_shot_prompt(request=_asked(found), demonstrations=demonstrations)
    return Lesson(messages, _numbered(step_lines(found)))


def step_lines(found: Paraphrase) -> tuple[str, ...]:
    """A plan as lines that each name a tool and, where there are two texts, say on which of them it works."""
    pairs = list(zip(found.sampled.resources, found.plan.branches, strict=True))
    several_texts = found.sampled.kind == "ask text"
    if found.plan.texts_first:
        pairs = pairs[::-1]
    repairs = [f"{name} on the {resource}" if several_texts else name for resource, branch in pairs for name in branch]
    return (*repairs, *found.plan.names)


def _numbered(lines: Sequence[str]) -> str:
    return "\n".join(f"Step {number}: {line}" for number, line in enumerate(lines, start=1))


def _asked(found: Paraphrase) -> PlannerRequest:
    resources = {name: "image" if name == "image" else "text" for name in found.sampled.resources}
    return PlannerRequest(
        suite=OPENAGI.name,
        task=RequestedTask(id="paraphrase", request=found.request, resources=resources),
        expects=Expected(type=found.sampled.makes),
        tools=list(offered_tools(OPENAGI)),
    )
