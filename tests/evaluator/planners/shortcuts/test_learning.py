"""What the trained shortcuts make of examples, and that the same examples give the same models."""

import json

import pytest

from evaluator.core import canonical_json
from evaluator.core.plans.model import Plan, Step
from evaluator.planners.shortcuts.bag_of_words import BagOfWords
from evaluator.planners.shortcuts.examples import Example
from evaluator.planners.shortcuts.memoriser import Memoriser
from evaluator.planners.shortcuts.skeletons import Slot, abstracted, filled, skeleton_from, tokens_of, words_given

THINGS = ("dog", "train", "cat", "clock", "vase", "kite", "fork", "horse")


def locate(thing: str, number: int) -> Example:
    file = f"yard_{number:03d}.png"
    steps = (
        Step(id="s1", tool="detect", inputs={"image": file}, outputs={"boxes": "s1.boxes"}),
        Step(id="s2", tool="select", inputs={"boxes": "s1.boxes", "what": thing}, outputs={"box": "s2.box"}),
    )
    text = f"Locate the {thing} in {file}, please."
    return Example(
        text=text, resources={file: "image"}, given={}, wanted=(), plan=Plan(steps=steps, answers=("s2.box",))
    )


def add(first: int, second: int) -> Example:
    steps = (Step(id="s1", tool="add", inputs={"sum": f"{first} + {second}"}, outputs={"value": "s1.value"}),)
    text = f"Anna has {first} cakes and gets {second} more."
    return Example(text=text, resources={}, given={}, wanted=(), plan=Plan(steps=steps, answers=("s1.value",)))


EXAMPLES = [*(locate(thing, number) for number, thing in enumerate(THINGS)), *(add(n, 3 * n + 1) for n in range(2, 9))]


@pytest.mark.parametrize("example", [EXAMPLES[0], EXAMPLES[-1]], ids=["words", "numbers"])
def test_a_skeleton_is_filled_with_the_words_that_it_was_made_from(example):
    tokens = tokens_of(example.text)
    skeleton, spans = abstracted(plan=example.plan, tokens=tokens, resources=example.resources)
    words = [example.text[tokens[start].start : tokens[end - 1].end] for start, end in spans]
    assert words
    again = skeleton_from(json.loads(json.dumps(skeleton.to_json())))
    assert again.key == skeleton.key
    assert filled(again, words=words, resources=example.resources) == example.plan


def test_a_plural_of_the_request_is_cut_as_the_plan_has_it():
    plan = Plan(steps=(Step(id="s1", tool="count", inputs={"what": "kite"}, outputs={"n": "s1.n"}),), answers=("s1.n",))
    skeleton, spans = abstracted(plan=plan, tokens=tokens_of("How many kites are there?"), resources={})
    ((_, inputs),) = skeleton.steps
    assert (inputs["what"], spans) == ((Slot(0, cut=1),), [(2, 3)])


@pytest.mark.parametrize("learn", [Memoriser.of, BagOfWords.of])
def test_a_request_with_other_words_and_numbers_gets_the_plan_of_its_like(learn):
    model = learn(EXAMPLES)
    for example in (locate("bus", 77), add(31, 12)):
        found = model.plan(text=example.text, resources=example.resources, given={}, wanted=())
        assert (found[0] if isinstance(found, tuple) else found) == example.plan


@pytest.mark.parametrize("kind", [Memoriser, BagOfWords])
def test_the_same_examples_give_the_same_model_and_a_kept_one_answers_alike(kind):
    first, second = kind.of(EXAMPLES), kind.of(EXAMPLES)
    document = canonical_json.dumps(first.to_json())
    assert document == canonical_json.dumps(second.to_json())
    example = locate("zebra", 8)
    asked = {"text": example.text, "resources": example.resources, "given": {}, "wanted": ()}
    assert kind.from_json(json.loads(document)).plan(**asked) == first.plan(**asked)


def test_a_request_without_the_resources_of_a_plan_does_not_get_it():
    found = Memoriser.of(EXAMPLES).plan(
        text="Locate the dog in the picture, please.", resources={}, given={}, wanted=()
    )
    assert found is not None
    assert found[0].tools() == ("add",)


def test_values_that_are_given_are_words_as_well():
    given = {"train": [{"input": [[0, 3]]}]}
    assert {"train.input:3", "train.input:length 1", "train:length 1"} <= set(words_given(given))


def test_what_type_is_wanted_tells_apart_requests_with_equal_words():
    text = "Tell me about it."
    kinds = {"image": "draw", "text": "write"}
    examples = [
        Example(
            text=text, resources={}, given={}, wanted=(kind,),
            plan=Plan(steps=(Step(id="s1", tool=tool, inputs={}, outputs={"out": "s1.out"}),), answers=("s1.out",)),
        )
        for kind, tool in kinds.items()
        for _ in range(4)
    ]  # fmt: skip
    for model in (Memoriser.of(examples), BagOfWords.of(examples)):
        for kind, tool in kinds.items():
            found = model.plan(text=text, resources={}, given={}, wanted=(kind,))
            assert (found[0] if isinstance(found, tuple) else found).tools() == (tool,)
