"""Questions about pictures, some of which depend on the answer to an earlier question."""

from collections.abc import Callable, Mapping
from functools import lru_cache

from evaluator.lumos.mini.draws import Drawn, Source
from evaluator.lumos.tasks import GoldTurn
from evaluator.miniature.grammar.documents import draw_document, draw_document_question
from evaluator.miniature.grammar.german import english_article
from evaluator.miniature.grammar.labels import BACKGROUNDS, COLOURS
from evaluator.miniature.grammar.questions import draw_question
from evaluator.miniature.scenes import Scene, draw_scene
from evaluator.miniature.seeds import one_of
from evaluator.miniature.vocabulary import Shape

KINDS = ("question", "notice", "two pictures")
IMAGE, OTHER, NOTICE = "IMG", "IMG2", "NOTICE"
_FIRST_SCENE = 5_000_000
"""Scenes with such numbers are not used by other suites."""
_PER_QUESTION = 16
"""Maximum number of scenes drawn; two have the same shapes once in a hundred times."""


def draw_picture_question(*, source: Source, index: int, attempt: int = 0) -> Drawn:
    """Draw the question with this number. Attempts give questions of the same kind about the same pictures."""
    kind = KINDS[index % len(KINDS)]
    return _DRAWERS[kind](source, index, attempt)


def given(*, source: Source, number: int) -> Mapping[str, Scene | str]:
    """The inputs of the question with this number, by reference: scenes and a notice."""
    notice = draw_document(source.stream("notice", number)).text.english
    return {**scenes_of(source=source, number=number), NOTICE: notice}


def scenes_of(*, source: Source, number: int) -> Mapping[str, Scene]:
    """The two scenes of a question, with different sets of shapes."""
    first = _scene(source=source, number=number * _PER_QUESTION)
    for place in range(1, _PER_QUESTION):
        second = _scene(source=source, number=number * _PER_QUESTION + place)
        if shapes_of(first) != shapes_of(second):
            break
    return {IMAGE: first, OTHER: second}


def shapes_of(scene: Scene) -> frozenset[Shape]:
    """The shapes in a scene."""
    return frozenset(thing.shape for thing in scene.things)


@lru_cache(maxsize=4096)
def _scene(*, source: Source, number: int) -> Scene:
    return draw_scene(split=source.split, index=_FIRST_SCENE + number, hidden_seed=source.hidden_seed)


def _question(source: Source, index: int, attempt: int) -> Drawn:
    scene = scenes_of(source=source, number=index)[IMAGE]
    asked = draw_question(scene=scene, rng=source.stream("picture question", index, attempt))
    turn = GoldTurn(f"Look at {IMAGE} to answer: {asked.text}", f"R1 = VQA([{IMAGE}], Question: {asked.text})")
    return Drawn(
        text=f"Look at the picture {IMAGE}. {asked.text}", answer=asked.answer.english, gold=(turn,), kind="question",
        scope=f"scenes {index}", pictures=(IMAGE,),
    )  # fmt: skip


def _notice(source: Source, index: int, attempt: int) -> Drawn:
    scene = scenes_of(source=source, number=index)[IMAGE]
    rng = source.stream("notice question", index, attempt)
    story = draw_document(source.stream("notice", index))
    first, second = (draw_document_question(document=story, rng=rng).question for _ in range(2))
    while second.text == first.text:
        second = draw_document_question(document=story, rng=rng).question
    shapes = shapes_of(scene)
    shape = one_of(rng, sorted(shapes if rng.random() < 0.5 else set(Shape) - shapes))
    right = first if shape in shapes else second
    asked = f"Is there {english_article(shape)} {shape}?"
    text = (
        f"If there is {english_article(shape)} {shape} in the picture {IMAGE}, answer from the text {NOTICE}: "
        f"{first.text} Otherwise answer: {second.text}"
    )
    turns = (
        GoldTurn(f"Find out whether there is {english_article(shape)} {shape} in {IMAGE}.",
                 f"R1 = VQA([{IMAGE}], Question: {asked})"),
        GoldTurn(f"Answer from {NOTICE}: {right.text}", f"R2 = QA([{NOTICE}], Question: {right.text})"),
    )  # fmt: skip
    return Drawn(
        text=text, answer=right.answer.english, gold=turns, kind="notice", scope=f"scenes {index}",
        pictures=(IMAGE, NOTICE),
    )  # fmt: skip


def _two(source: Source, index: int, attempt: int) -> Drawn:
    scenes = scenes_of(source=source, number=index)
    rng = source.stream("two pictures", index, attempt)
    shapes = {name: shapes_of(scene) for name, scene in scenes.items()}
    right = one_of(rng, (IMAGE, OTHER))
    wrong = OTHER if right == IMAGE else IMAGE
    only = sorted(shapes[right] - shapes[wrong])
    if not only:
        right, wrong = wrong, right
        only = sorted(shapes[right] - shapes[wrong])
    shape = one_of(rng, only)
    asked, answer = one_of(rng, tuple(_DETAILS.values()))(scenes[right], shape)
    text = (
        f"One of the pictures {IMAGE} and {OTHER} shows {english_article(shape)} {shape}, the other does not. "
        f"Of the one that does, answer: {asked}"
    )
    turns = (
        GoldTurn(f"Find out whether {IMAGE} shows {english_article(shape)} {shape}.",
                 f"R1 = VQA([{IMAGE}], Question: Is there {english_article(shape)} {shape}?)"),
        GoldTurn(f"Look at {right} to answer: {asked}", f"R2 = VQA([{right}], Question: {asked})"),
    )  # fmt: skip
    return Drawn(
        text=text, answer=answer, gold=turns, kind="two pictures", scope=f"scenes {index}", pictures=(IMAGE, OTHER)
    )


_DETAILS: Mapping[str, Callable[[Scene, str], tuple[str, str]]] = {
    "background": lambda scene, _shape: ("What colour is the background?", BACKGROUNDS[scene.background].english),
    "colour": lambda scene, shape: (
        f"What colour is the {shape}?",
        next(COLOURS[thing.colour].english for thing in scene.things if thing.shape == shape),
    ),
}
_DRAWERS: Mapping[str, Callable[[Source, int, int], Drawn]] = {
    "question": _question,
    "notice": _notice,
    "two pictures": _two,
}
