"""Goals of sealed requests: which inputs they have and what is wrong with them, and which answers they want."""

import random
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evaluator.core import canonical_json
from evaluator.core.suites.base import Task
from evaluator.core.suites.sealed import LONGEST_TEXT, GoalField, SealedRequest, SealedRequestError
from evaluator.core.suites.secrets import derived
from evaluator.openagi.grammar import Base, Degradation
from evaluator.openagi.season.hidden.realiser import with_neutral_names
from evaluator.openagi.season.requests import (
    NOUNS,
    UNSOUND,
    AnswerSpec,
    Composition,
    InputSpec,
    Language,
    RequestSpec,
    Stratum,
    Trick,
)
from evaluator.openagi.season.sealed.rules import goal_read
from evaluator.openagi.season.tasks import season_task

SLUG = "openagi-season"
_SLOT = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"(image|text|document|query)(?:_[1-9])?")
_SHORTEST_TEXT = 15
_MOST_ANSWERS = 3
WORD = "word"
"""The flaw of a text in which a word is masked."""
_FLAWS = {
    Degradation.LOW_RESOLUTION: "low resolution", Degradation.NOISE: "noise", Degradation.BLUR: "blur",
    Degradation.GRAYSCALE: "grayscale", WORD: "a masked word",
}  # fmt: skip
_NOT_NEEDED = "not_needed"
_WORDLESS = frozenset({Base.RESTORATION, Base.TEXT_TO_IMAGE})
"""Domain tasks whose answers are images."""
_UNNEEDED_TEXTS = (Base.SUMMARIZATION, Base.SENTIMENT)


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Input(_Form):
    """One input."""

    flaws: tuple[Literal[*Degradation, "word"], ...] = ()  # type: ignore[valid-type]  # members of the enumeration
    needed: bool = True


class Answer(_Form):
    """One answer."""

    goal: Base
    language: Language | None = None
    """None for an image, and for translations, which are into German."""


class Goal(_Form):
    """What a request asks for."""

    language: Language = Language.ENGLISH
    """Of the request itself."""
    inputs: Annotated[dict[str, Input], Field(min_length=1, max_length=3)]
    """By the names of their slots: `image`, `text`, `document` or `query`, with a number where there are two."""
    answers: Annotated[tuple[Answer, ...], Field(min_length=1, max_length=_MOST_ANSWERS)]
    """In order; of a request that no tool can meet, those of a similar one."""
    possible: bool = True
    """Whether the tools can meet the request."""
    trick: Trick = Trick.PLAIN
    """Difficulty of the wording. That of an unneeded input and of an impossible request follow from the rest."""


class SeasonForm:
    """See `evaluator.core.suites.sealed.SealedForm`."""

    example = SealedRequest(
        text="The postcard in {image} was scanned too coarsely. Make it larger, then tell me in German what it shows.",
        goal=canonical_json.dumps(
            {
                "language": "en",
                "inputs": {"image": {"flaws": ["low_resolution"]}},
                "answers": [{"goal": "image_captioning", "language": "de"}],
            }
        ),
    )

    def task(self, request: SealedRequest, *, key: str, seed: str) -> Task:
        """See `SealedForm`: inputs are in random order, under the neutral names of the season."""
        goal = _goal(request.goal)
        _check_text(request.text, goal=goal)
        # Goals that agree about the inputs of a text get the same names, so that their plans can be compared.
        about = derived("sealed request", SLUG, request.text, key, seed=seed)
        spec = _spec(goal, source=random.Random(f"{about} source").choice(_UNNEEDED_TEXTS))  # noqa: S311
        lexicon = derived("lexicon", SLUG, seed=seed)
        named = with_neutral_names(spec=spec, lexicon=lexicon, rng=random.Random(about))  # noqa: S311
        names = {old.name: new.name for old in spec.given for new in named.given if old.named(new.name) == new}
        text = _SLOT.sub(lambda slot: names[slot[1]], request.text)
        return season_task(key=key, text=text, spec=named, lexicon=lexicon)

    def fields(self, text: str) -> tuple[GoalField, ...]:
        """See `SealedForm`."""
        slots = _slots(text)
        goals = {"": "none"} | {str(base): str(base).replace("_", " ") for base in Base}
        languages = {"": "an image", "en": "English", "de": "German"}
        fields = [
            GoalField(
                name=f"input {slot}", label=f"What has to be repaired in {slot}", is_multiple=True,
                choices={**_flaws_of(slot), _NOT_NEEDED: "the request does not need this input"},
            )
            for slot in slots
        ]  # fmt: skip
        for number in range(1, _MOST_ANSWERS + 1):
            fields += [
                GoalField(name=f"goal {number}", label=f"Answer {number}", choices=goals),
                GoalField(name=f"language {number}", label=f"Language of answer {number}", choices=languages),
            ]
        possible = {"yes": "yes", "no": "no, and the answers above are those of a similar request"}
        return (*fields, GoalField(name="possible", label="Can the tools meet the request?", choices=possible))

    def goal(self, text: str, *, values: Mapping[str, Sequence[str]]) -> str:
        """See `SealedForm`."""
        inputs = {
            slot: {
                "flaws": [flaw for flaw in values.get(f"input {slot}", ()) if flaw != _NOT_NEEDED],
                "needed": _NOT_NEEDED not in values.get(f"input {slot}", ()),
            }
            for slot in _slots(text)
        }
        answers = [
            {"goal": goal, "language": _first(values, f"language {number}") or None}
            for number in range(1, _MOST_ANSWERS + 1)
            if (goal := _first(values, f"goal {number}"))
        ]
        return canonical_json.dumps(
            {"inputs": inputs, "answers": answers, "possible": _first(values, "possible") != "no"}
        )

    def read(self, text: str) -> str | None:
        """See `SealedForm`."""
        found = goal_read(text, slots=_slots(text))
        return None if found is None else canonical_json.dumps(found)


def _first(values: Mapping[str, Sequence[str]], name: str) -> str:
    return next(iter(values.get(name, ())), "")


def _goal(text: str) -> Goal:
    try:
        return Goal.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the goal"
        raise SealedRequestError(f"Goal: {where}: {first['msg']}.") from None


def _slots(text: str) -> list[str]:
    """The slots of a text in order."""
    slots = list(dict.fromkeys(_SLOT.findall(text)))
    if wrong := next((slot for slot in slots if not _NAME.fullmatch(slot)), None):
        raise SealedRequestError(
            f"The slot {{{wrong[:40]}}} names no input: write {{image}}, {{text}}, {{document}} or {{query}}, with a "
            "number such as {image_2} where there are two of a kind."
        )
    if "{" in (rest := _SLOT.sub("", text)) or "}" in rest:
        raise SealedRequestError("The text has a brace that belongs to no slot.")
    return slots


def _flaws_of(slot: str) -> dict[str, str]:
    is_image = slot.startswith("image")
    return {flaw: label for flaw, label in _FLAWS.items() if (flaw != WORD) == is_image}


def _check_text(text: str, *, goal: Goal) -> None:
    if not _SHORTEST_TEXT <= len(text) <= LONGEST_TEXT:
        raise SealedRequestError(f"The text must have {_SHORTEST_TEXT} to {LONGEST_TEXT} characters.")
    slots = set(_slots(text))
    if wrong := next((name for name in goal.inputs if not _NAME.fullmatch(name)), None):
        raise SealedRequestError(f"Goal: {wrong[:40]!r} is no name of an input.")
    if unknown := sorted(slots - set(goal.inputs)):
        raise SealedRequestError(f"The goal has no input {unknown[0]!r}, which the text names.")
    if missing := sorted(set(goal.inputs) - slots):
        raise SealedRequestError(f"The text never names the input {missing[0]!r}: write {{{missing[0]}}}.")


def _spec(goal: Goal, *, source: Base) -> RequestSpec:
    """The content of a request.

    Args:
        goal: of the request.
        source: provides a text that is not needed.

    Raises:
        SealedRequestError: the goal contradicts itself, or its gold plan would not be the best one.
    """
    wanted = tuple(_answer(answer) for answer in goal.answers)
    nouns = list(dict.fromkeys(noun for answer in wanted for noun in NOUNS[answer.base]))
    needed = {name: given for name, given in goal.inputs.items() if given.needed}
    if sorted(map(_noun, needed)) != sorted(nouns):
        raise SealedRequestError(f"Goal: its answers need one each of {', '.join(nouns)}, and no other needed input.")
    if len({answer.base for answer in wanted}) < len(wanted):
        raise SealedRequestError("Goal: it has an answer twice.")
    unneeded = [name for name, given in goal.inputs.items() if not given.needed]
    if len(unneeded) > 1 or any(_noun(name) not in ("image", "text") for name in unneeded):
        raise SealedRequestError("Goal: at most one input is not needed, an image or a text.")
    given = tuple(
        _input(name=name, given=one, wanted=wanted, source=source) for name, one in sorted(goal.inputs.items())
    )
    image = next((one for one in given if one.is_needed and one.noun == "image"), None)
    degradations = () if image is None else image.degradations
    _check_sound(goal, wanted=wanted, degradations=degradations, has_image=image is not None)
    stratum = Stratum(
        composition=_composition(wanted) if goal.possible else Composition.NO_TOOL,
        trick=_trick(goal, is_distracted=bool(unneeded)),
        spoken=goal.language,
        wanted=wanted,
        degradations=len(degradations),
        clozed=frozenset(one.noun for one in given if one.is_clozed and one.is_needed),
    )
    return RequestSpec(stratum=stratum, given=given)


def _noun(name: str) -> str:
    return name.partition("_")[0]


def _answer(answer: Answer) -> AnswerSpec:
    language = Language.GERMAN if answer.goal is Base.TRANSLATION else answer.language
    if (language is None) != (answer.goal in _WORDLESS):
        needs = "has no language: it is an image" if answer.goal in _WORDLESS else "needs a language, en or de"
        raise SealedRequestError(f"Goal: the answer {answer.goal} {needs}.")
    return AnswerSpec(base=answer.goal, language=language)


def _input(*, name: str, given: Input, wanted: Sequence[AnswerSpec], source: Base) -> InputSpec:
    noun = _noun(name)
    if wrong := next((flaw for flaw in given.flaws if flaw not in _flaws_of(name)), None):
        raise SealedRequestError(f"Goal: {name} cannot have the flaw {wrong}.")
    if not given.needed and given.flaws:
        raise SealedRequestError(f"Goal: {name} is not needed, so that nothing has to be repaired in it.")
    users = [answer.base for answer in wanted if noun in NOUNS[answer.base]] if given.needed else [source]
    return InputSpec(
        name=name, noun=noun, source=None if noun == "image" else users[0], is_clozed=WORD in given.flaws,
        degradations=tuple(kind for kind in Degradation if kind in given.flaws), is_needed=given.needed,
    )  # fmt: skip


def _check_sound(
    goal: Goal, *, wanted: Sequence[AnswerSpec], degradations: Sequence[Degradation], has_image: bool
) -> None:
    if not goal.possible:
        if len(wanted) > 1:
            raise SealedRequestError("Goal: a request that no tool can meet has one answer.")
        return
    for answer in wanted:
        if frozenset(degradations) in UNSOUND.get(answer.base, ()):
            raise SealedRequestError(
                f"Goal: for {answer.base}, another plan than these repairs scores higher: choose other flaws."
            )
        if answer.base is Base.RESTORATION and not degradations:
            raise SealedRequestError("Goal: a restoration needs a flaw.")
    if goal.trick is Trick.INTACT and (degradations or not has_image):
        raise SealedRequestError(f"Goal: the trick {goal.trick} is about an image without flaws.")


def _composition(wanted: Sequence[AnswerSpec]) -> Composition:
    inputs = [set(NOUNS[answer.base]) for answer in wanted]
    if len(wanted) > 1:
        return Composition.SEVERAL if all(one & inputs[0] for one in inputs) else Composition.FOREST
    if wanted[0].base is Base.RESTORATION:
        return Composition.RESTORATION
    if len(inputs[0]) > 1:
        return Composition.TREE
    return Composition.IMAGE_CHAIN if inputs[0] == {"image"} else Composition.TEXT_CHAIN


def _trick(goal: Goal, *, is_distracted: bool) -> Trick:
    if not goal.possible:
        return Trick.IMPOSSIBLE
    if is_distracted:
        return Trick.DISTRACTOR
    if goal.trick in (Trick.IMPOSSIBLE, Trick.DISTRACTOR):
        raise SealedRequestError(f"Goal: nothing in it is {goal.trick}.")
    return goal.trick
