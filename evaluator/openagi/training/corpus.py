"""The corpus of pretraining: paraphrased requests with plans of simulated annotators.

The planner can learn which tools belong to which words, the prompt and answer formats of
`evaluator.openagi.strategies`, and that the plans shown in a prompt are examples to follow.

It cannot learn the right order of the restoring tools, because every annotator has a random order, nor how complete
plans should be, because annotators omit needed tools and add superfluous ones. Demonstrations, fine-tuning and task
feedback have to teach both.

None of OpenAGI's 185 requests is ever drawn, and gold plans are not used. Common English words of OpenAGI ("noisy",
"caption", "document") are included; its unusual ones ("low-resolutioned", "clozed", "class label", "regular image") are
not, so the planner has to guess them, as a language model would.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

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
from evaluator.training.lessons import Lesson

Words = tuple[str, ...]

ADJECTIVES: Mapping[str, Words] = {
    "Image Super Resolution": ("low-resolution", "low resolution", "pixelated", "tiny", "coarse", "shrunken"),
    "Image Denoising": ("noisy", "grainy", "speckled", "noise-ridden"),
    "Image Deblurring": ("blurry", "blurred", "fuzzy", "unsharp", "out-of-focus"),
    "Colorization": ("grayscale", "gray", "monochrome", "black-and-white", "colourless"),
}
"""Attributes of images that need a restoring tool."""

COMPLAINTS: Mapping[str, Words] = {
    "Image Super Resolution": ("has a low resolution", "is far too small", "has too few pixels", "was shrunk"),
    "Image Denoising": ("is full of noise", "is noisy", "has grain all over", "is covered in speckles"),
    "Image Deblurring": ("is blurry", "is out of focus", "lacks sharpness", "got blurred"),
    "Colorization": ("is in grayscale", "has no colours", "is black and white", "lost its colours"),
}
"""The same as relative clauses."""

IMAGES: Words = ("image", "picture", "photo", "photograph", "snapshot", "shot")
TEXTS: Words = ("text", "sentence", "passage", "paragraph", "note")
QUERIES: Words = ("query", "question")
DOCUMENTS: Words = ("document", "article", "report", "story")

MASKED: Words = ("masked", "cloze", "gapped", "incomplete", "partly hidden")
"""Attributes of texts with a missing word."""
GAPS: Words = ("with a masked word", "with a blank in it", "that lacks a word", "with one word hidden", "with a gap")
"""The same, after the noun."""

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
"""The requested result for one input, as a noun."""
GIVE: Words = ("return the {what}", "give me the {what}", "find the {what}", "get the {what}", "tell the {what}",
               "write the {what}", "output the {what}")  # fmt: skip
ANSWER: Words = ("answer it", "answer the {query}", "reply to the {query}", "respond to it", "find the answer",
                 "give the answer", "return the answer")  # fmt: skip

IN_ENGLISH: Words = ("in English", "in plain English", "as English words", "in the English language")
IN_GERMAN: Words = ("in German", "in the German language", "as German words", "for a German reader", "and in German")
ENGLISH: Words = ("English ", "")
"""Before the noun of an input; all input texts are English."""

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
READERS = ("Image Captioning", "Image Classification", "Object Detection")
"""From one image to a text."""
REWRITERS = ("Text Summarization", "Sentiment Analysis", "Text Generation")
"""From one text to a text."""
_SHARES = {
    "restore": 0.14, "read": 0.40, "draw": 0.05, "rewrite": 0.12, "translate": 0.05, "ask image": 0.16, "ask text": 0.08
}  # fmt: skip
"""Probability of each kind of request."""
_DAMAGED = 0.5
_MASKED = 0.4
_GERMAN = 0.5
_UNSAID = 0.3
"""Probability that a request for an English answer does not mention English."""


@dataclass(frozen=True, slots=True)
class SampledRequest:
    """The content of a request: the needed tools by their role."""

    kind: str
    restorers: tuple[str, ...] = ()
    masked: tuple[bool, ...] = ()
    """Whether a word is missing, for each input text."""
    base: str | None = None
    """The tool that makes the answer; None for requests that only repair or translate."""
    german: bool = False

    @property
    def resources(self) -> tuple[str, ...]:
        """Names of the inputs, as in the suite."""
        if self.kind in ("restore", "read"):
            return ("image",)
        return {"ask image": ("image", "query"), "ask text": ("document", "query")}.get(self.kind, ("text",))

    @property
    def makes(self) -> str:
        """Type of the answer."""
        return "image" if self.kind in ("restore", "draw") else "text"


def draw_request(rng: np.random.Generator) -> SampledRequest:
    """A random request."""
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
    """A random wording of a request."""
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
"""Maximum rate at which an annotator omits needed tools; rates are uniformly distributed."""
SUPERFLUOUS = 0.3
"""The same for adding superfluous tools."""
CONFUSED = 0.3
"""The same for replacing the tool that makes the answer by one of the same types."""
SCATTERED = 0.3
"""Probability that restoring tools are in random order instead of the annotator's."""


@dataclass(frozen=True, slots=True)
class Annotator:
    """The habits of an annotator."""

    order: tuple[str, ...]
    """All restoring tools in the annotator's order."""
    leaves_out: float
    adds: float
    confuses: float
    texts_first: bool
    """Whether texts are repaired before images."""


def draw_annotator(rng: np.random.Generator) -> Annotator:
    """A random annotator."""
    return Annotator(
        order=tuple(str(name) for name in rng.permutation(RESTORERS)),
        leaves_out=float(rng.uniform(0, CARELESS)),
        adds=float(rng.uniform(0, SUPERFLUOUS)),
        confuses=float(rng.uniform(0, CONFUSED)),
        texts_first=bool(rng.random() < 0.5),
    )


@dataclass(frozen=True, slots=True)
class WrittenPlan:
    """A plan as one branch per input and the names after them, as in `lessons.as_tree`."""

    branches: tuple[tuple[str, ...], ...]
    """In the order of the inputs. With one input, its branch is the whole plan."""
    names: tuple[str, ...] = ()
    texts_first: bool = False
    """Whether lists of steps have the branches of texts before those of images."""


def annotate(*, sampled: SampledRequest, annotator: Annotator, rng: np.random.Generator) -> WrittenPlan:
    """An annotator's plan: well-typed, not empty, without repetitions in a branch."""
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
        # Everything was omitted: add one needed tool.
        needed = sampled.restorers or (("Fill Mask",) if any(sampled.masked) else ("Machine Translation",))
        written = (needed[int(rng.integers(len(needed)))],)
    return WrittenPlan(branches=(written,))


def _says(needed: bool, annotator: Annotator, rng: np.random.Generator) -> bool:
    """Whether a tool is in the plan."""
    return bool(rng.random() < (1 - annotator.leaves_out if needed else annotator.adds))


@dataclass(frozen=True, slots=True)
class Paraphrase:
    """A request with an annotator's plan."""

    request: str
    sampled: SampledRequest
    plan: WrittenPlan


def draw_paraphrase(*, annotator: Annotator, rng: np.random.Generator) -> Paraphrase:
    sampled = draw_request(rng)
    return Paraphrase(
        request=sentence(sampled=sampled, rng=rng),
        sampled=sampled,
        plan=annotate(sampled=sampled, annotator=annotator, rng=rng),
    )


def constrained_lesson(rng: np.random.Generator) -> Lesson:
    """One of the calls of `openagi/nonlinear` for a random annotator's plan."""
    drawn = draw_paraphrase(annotator=draw_annotator(rng), rng=rng)
    lessons = tree_lessons(
        request=drawn.request, resources=drawn.sampled.resources, branches=drawn.plan.branches, names=drawn.plan.names
    )
    return lessons[int(rng.integers(len(lessons)))]


def tree_lessons(
    *, request: str, resources: Sequence[str], branches: Sequence[Sequence[str]], names: Sequence[str]
) -> tuple[Lesson, ...]:
    """All calls of `openagi/nonlinear` for a plan; for one resource, the single call of `openagi/constrained`.

    Args:
        request: the text.
        resources: names of the resources, in order.
        branches: the names of each resource's branch; for one resource, the whole plan.
        names: names after the branches.
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
    """A request without demonstrations, answered in steps."""
    drawn = draw_paraphrase(annotator=draw_annotator(rng), rng=rng)
    messages = zero_shot_prompt(request=_planner_request(drawn), names_tools=names_tools)
    return Lesson(messages, _numbered(step_lines(drawn)))


def few_shot_lesson(*, rng: np.random.Generator, shown: int) -> Lesson:
    """A request with demonstrations of the same annotator, answered in steps."""
    annotator = draw_annotator(rng)
    *examples, drawn = [draw_paraphrase(annotator=annotator, rng=rng) for _ in range(shown + 1)]
    demonstrations = [Demonstration(example.request, step_lines(example)) for example in examples]
    messages = few_shot_prompt(request=_planner_request(drawn), demonstrations=demonstrations)
    return Lesson(messages, _numbered(step_lines(drawn)))


def step_lines(drawn: Paraphrase) -> tuple[str, ...]:
    """The names of a plan's tools; repairs also name their input if there are two texts."""
    pairs = list(zip(drawn.sampled.resources, drawn.plan.branches, strict=True))
    several_texts = drawn.sampled.kind == "ask text"
    if drawn.plan.texts_first:
        pairs = pairs[::-1]
    repairs = [f"{name} on the {resource}" if several_texts else name for resource, branch in pairs for name in branch]
    return (*repairs, *drawn.plan.names)


def _numbered(lines: Sequence[str]) -> str:
    return "\n".join(f"Step {number}: {line}" for number, line in enumerate(lines, start=1))


def _planner_request(drawn: Paraphrase) -> PlannerRequest:
    resources = {name: "image" if name == "image" else "text" for name in drawn.sampled.resources}
    return PlannerRequest(
        suite=OPENAGI.name,
        task=RequestedTask(id="paraphrase", request=drawn.request, resources=resources),
        expects=Expected(type=drawn.sampled.makes),
        tools=list(offered_tools(OPENAGI)),
    )
