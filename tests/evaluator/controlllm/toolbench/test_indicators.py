"""The five planning metrics: agreement with hand-made labels, the rules one by one, and the invariants."""

import json
import random
from collections import Counter

import pytest

from evaluator.controlllm.toolbench.indicators import INDICATORS, LOWER_IS_BETTER, judge_plan
from evaluator.controlllm.toolbench.judging import judge
from evaluator.controlllm.toolbench.released.files import RawTask
from evaluator.controlllm.toolbench.tasks import tool_task
from evaluator.core.plans.model import Plan, Step
from evaluator.core.suites.registry import suite_of
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.scoring.metrics.planning import agreement, depth
from tests.evaluator.toolbench_data import BESIDE, need_controlllm

GOLD = {"IR": 0, "NR": 1, "HR": 0, "CR": 1, "SE": 1}
MINI = suite_of("toolmini")
TOOLS = sorted(CONTROLLLM.tools)


def judged(task, plan):
    return judge_plan(plan=plan, goal=task.goal, catalogue=CONTROLLLM, files=task.files)


def covered(suites):
    return [task for suite in suites.values() for task in suite.tasks if task.goal is not None]


# --- against labels made by hand ---


def test_the_indicators_agree_with_the_labels_made_by_hand(suites):
    need_controlllm()
    file = BESIDE / "labelled_plans.jsonl"
    if not file.is_file():
        pytest.skip("the hand-made labels are not beside this checkout")
    agree, count = Counter(), 0
    for row in map(json.loads, file.read_text().splitlines()):
        task = suites[row["suite"]].task(row["task"])
        if task.goal is None:
            print(f"{row['id']}: {row['suite']} {row['task']} is not covered ({task.uncovered})")
            continue
        count += 1
        found = judge(suite=suites[row["suite"]], task=task, value=row["plan"]).judgement
        for name, value in found.indicators().items():
            agree[name] += value == row["labels"][name]
            if value != row["labels"][name]:
                print(f"{row['id']} {name}: label {row['labels'][name]}, found {value}: {found.why[name]}")
    assert count >= 38
    assert {name: agree[name] / count >= 0.95 for name in INDICATORS} == dict.fromkeys(INDICATORS, True)


def test_goals_cover_every_request_with_a_readable_gold(suites):
    uncovered = [
        (task.key, task.uncovered)
        for suite in suites.values()
        for task in suite.tasks
        if task.goal is None and task.uncovered != "no gold decomposition is known"
    ]
    assert uncovered == []
    least = {"toolmini": 120, "tool100": 127, "tool2k": 1250}
    for slug, suite in suites.items():
        assert sum(task.goal is not None for task in suite.tasks) >= least[slug]


# --- invariants ---


def test_the_gold_plan_of_every_covered_task_is_perfect(suites):
    assert [task.key for task in covered(suites) if judged(task, task.gold).indicators() != GOLD] == []


def test_an_empty_plan_solves_nothing_and_holds_nothing_necessary(suites):
    empty = Plan(steps=(), answers=())
    for task in covered(suites):
        found = judged(task, empty)
        assert (found.SE, found.NR) == (0, 0)


def test_an_invented_tool_never_improves_any_metric(suites):
    rng = random.Random(1)
    for task in rng.choices(covered(suites), k=300):
        plan = mutated(task.gold, rng)
        before = judged(task, plan).indicators()
        invented = Step("new", "perfect_solver", dict(rng.choice(task.gold.steps).inputs), {"image": "new.image"})
        place = rng.randint(0, len(plan.steps))
        worse = Plan(steps=(*plan.steps[:place], invented, *plan.steps[place:]), answers=plan.answers)
        after = judged(task, worse).indicators()
        for name in INDICATORS:
            better = after[name] < before[name] if name in LOWER_IS_BETTER else after[name] > before[name]
            assert not better, (task.key, name)


def mutated(plan, rng):
    """The plan with one step dropped, one tool swapped or one argument changed, or as it is."""
    steps = list(plan.steps)
    index = rng.randrange(len(steps))
    step = steps[index]
    change = rng.choice(["drop", "tool", "argument", "none"])
    if change == "drop":
        del steps[index]
    elif change == "tool":
        steps[index] = Step(step.id, rng.choice(TOOLS), step.inputs, step.outputs)
    elif change == "argument":
        name = rng.choice(list(step.inputs))
        steps[index] = Step(step.id, step.tool, dict(step.inputs) | {name: "other_file.png"}, step.outputs)
    return Plan(steps=tuple(steps), answers=plan.answers)


def test_permuting_independent_steps_and_renaming_placeholders_change_nothing(suites):
    rng = random.Random(2)
    for task in rng.choices(covered(suites), k=300):
        plan = mutated(task.gold, rng)
        assert judged(task, renamed(shuffled(plan, rng))).indicators() == judged(task, plan).indicators(), task.key


def shuffled(plan, rng):
    """The steps in another order that respects who takes whose output."""
    made = {reference for step in plan.steps for reference in step.outputs.values()}
    left, order, there = list(plan.steps), [], set()
    while left:
        ready = [step for step in left if all(v in there or v not in made for v in step.inputs.values())]
        if not ready:
            return plan
        step = rng.choice(ready)
        left.remove(step)
        order.append(step)
        there.update(step.outputs.values())
    return Plan(steps=tuple(order), answers=plan.answers)


def renamed(plan):
    names = {
        reference: f"<TOOL-GEN>-{step.tool}-thing-{index}"
        for index, step in enumerate(plan.steps)
        for reference in step.outputs.values()
    }
    steps = tuple(
        Step(
            f"step{index}",
            step.tool,
            {name: names.get(value, value) for name, value in step.inputs.items()},
            {name: names[reference] for name, reference in step.outputs.items()},
        )
        for index, step in enumerate(plan.steps)
    )
    return Plan(steps=steps, answers=tuple(names.get(answer, answer) for answer in plan.answers))


# --- the rules one by one, on a request of our own ---


def request(instruction, *subtasks):
    output = f"<Solution>{json.dumps(list(subtasks))}</Solution>"
    return tool_task(RawTask(key="0", group="own", instruction=instruction, output=output, level=None))


def subtask(number, description, domain, args, gives, needs=(-1,)):
    return {
        "description": description, "task": [domain], "id": number, "dep": list(needs),
        "args": [{"type": kind, "value": value} for kind, value in args],
        "returns": [{"type": gives, "value": f"<GENERATED>-{number}"}],
    }  # fmt: skip


COUNT = request(
    "How many kittens are in yard_image.png?",
    subtask(0, "Count the number of kittens in yard_image.png", "image-perception",
            [("image", "yard_image.png"), ("text", "kitten")], "text"),
)  # fmt: skip
ERASE = request(
    "Erase the kite from sky_image.png with the help of kite_mask.png",
    subtask(0, "With the input kite_mask.png, remove the region by using `image_inpainting` tool", "image-editing",
            [("image", "sky_image.png"), ("mask", "kite_mask.png")], "image"),
)  # fmt: skip


def plan(*calls):
    """Steps from (tool, inputs); the n-th output is `#n`."""
    steps = []
    for number, (tool, inputs) in enumerate(calls):
        outputs = dict.fromkeys(CONTROLLLM[tool].outputs, f"#{number}") if tool in CONTROLLLM else {"o": f"#{number}"}
        steps.append(Step(f"s{number}", tool, inputs, outputs))
    return Plan(steps=tuple(steps), answers=())


DETECT = ("object_detection", {"image": "yard_image.png"})
SELECT = ("select_bbox", {"bbox_list": "#0", "condition": "kitten"})


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([DETECT, SELECT, ("count_objects", {"bbox_list": "#1"})], GOLD),
        ([("image_question_answering", {"image": "yard_image.png", "text": "How many kittens are there?"})], GOLD),
        ([DETECT, ("select_bbox", {"bbox_list": "#0", "condition": "the kittens"}),
          ("count_objects", {"bbox_list": "#1"})], GOLD),
        ([DETECT, ("select_bbox", {"bbox_list": "#0", "condition": "puppy"}), ("count_objects", {"bbox_list": "#1"})],
         GOLD | {"SE": 0}),
        ([("image_question_answering", {"image": "yard_image.png", "text": "How many dogs are there?"})],
         GOLD | {"SE": 0}),
        ([("image_question_answering", {"image": "yard.jpg", "text": "How many kittens?"})], GOLD | {"HR": 1, "SE": 0}),
        ([("image_question_answering", {"text": "How many kittens?"})], GOLD | {"SE": 0}),
        ([DETECT, ("count_objects", {"bbox_list": "#0"})], GOLD | {"NR": 0, "SE": 0}),
        ([DETECT, SELECT, ("count_masks", {"mask_list": "#1"})], {"IR": 0, "NR": 0, "HR": 0, "CR": 0, "SE": 0}),
        ([SELECT, DETECT, ("count_objects", {"bbox_list": "#0"})], GOLD | {"HR": 1, "SE": 0}),
        ([DETECT, SELECT, ("count_objects", {"bbox_list": "#1"}), DETECT], GOLD | {"IR": 1}),
        ([DETECT, SELECT, ("count_objects", {"bbox_list": "#1"}),
          ("highlight_object_on_image", {"image": "yard_image.png", "bbox": "#1"})], GOLD | {"IR": 1}),
        ([("kitten_counter", {"image": "yard_image.png"})], {"IR": 1, "NR": 0, "HR": 0, "CR": 1, "SE": 0}),
    ],
)  # fmt: skip
def test_counting(calls, expected):
    assert judged(COUNT, plan(*calls)).indicators() == expected


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ({"image": "sky_image.png", "mask": "kite_mask.png"}, GOLD),
        ({"image": "kite_mask.png", "mask": "sky_image.png"}, GOLD | {"CR": 0, "SE": 0}),
        ({"image": "sky_image.png", "mask": "sky_image.png"}, GOLD | {"CR": 0, "SE": 0}),
        ({"image": "sky_image.png", "mask": "kita_mask.png"}, GOLD | {"HR": 1, "SE": 0}),
        ({"image": "sky_image.png"}, GOLD | {"SE": 0}),
    ],
)
def test_a_given_mask_has_the_role_that_the_request_gives_it(inputs, expected):
    assert judged(ERASE, plan(("image_inpainting", inputs))).indicators() == expected


def solves(task, *calls):
    return judged(task, plan(*calls)).SE


VQA = "image_question_answering"
YARD = {"image": "yard_image.png"}
THERE = request(
    "Is there a train in yard_image.png?",
    subtask(0, "1. Recognize all objects; 2. Select the class of train", "image-perception",
            [("image", "yard_image.png"), ("text", "train")], "category"),
)  # fmt: skip
STANDS_OUT = [
    "Can you make the kitten stand out in yard_image.png?",
    "Make the kitten more prominent in yard_image.png.",
    "Draw attention to the kitten in yard_image.png!",
]
MARKED = (
    DETECT,
    SELECT,
    ("highlight_object_on_image", YARD | {"bbox": "#1"}),
)
CROPPED = (*MARKED[:2], ("image_cropping", YARD | {"object": "#1"}))


@pytest.mark.parametrize("instruction", STANDS_OUT)
@pytest.mark.parametrize(
    "gold",
    [
        ("Cut out the kitten", "image-editing", [*YARD.items(), ("text", "kitten")], "image"),
        ("Detect the kitten and draw its boxes", "image-perception", [*YARD.items(), ("text", "kitten")], "image"),
    ],
)
def test_what_shall_stand_out_is_marked_or_cut_out(instruction, gold):
    task = request(instruction, subtask(0, *gold))
    assert judged(task, plan(*MARKED)).indicators() == GOLD
    assert judged(task, plan(*CROPPED)).indicators() == GOLD
    assert solves(task, *MARKED[:2]) == 0
    wrong = [(tool, {**inputs, "condition": "dog"} if "condition" in inputs else inputs) for tool, inputs in MARKED]
    assert solves(task, *wrong) == 0


def test_what_shall_be_cut_out_is_not_marked():
    task = request(
        "Extract the kitten from yard_image.png, so that it stands out.",
        subtask(0, "Cut out the kitten", "image-editing", [*YARD.items(), ("text", "kitten")], "image"),
    )
    assert solves(task, *CROPPED) == 1
    assert solves(task, *MARKED) == 0


GONE = request(
    "Please erase the giraffe from yard_image.png",
    subtask(0, "1. Segment all objects; 2. Select the masks of giraffe", "image-perception",
            [("image", "yard_image.png"), ("text", "giraffe")], "mask"),
    subtask(1, "With the obtained masks of giraffe, remove the regions of interest", "image-editing",
            [("image", "yard_image.png"), ("mask", "<GENERATED>-0")], "image", (0,)),
)  # fmt: skip
TOLD = request(
    "Describe yard_image.png",
    subtask(0, "Answer questions based on image", "visual-question-answering",
            [("image", "yard_image.png"), ("text", "Describe the image in detail.")], "text"),
)  # fmt: skip
LISTED = request(
    "Which objects can be seen in yard_image.png?",
    subtask(
        0, "Recognize all objects in yard_image.png", "image-perception", [("image", "yard_image.png")], "category"
    ),
)
WHO = request(
    "In yard_image.png, who might live in this house?",
    subtask(0, "Answer questions based on image", "visual-question-answering",
            [("image", "yard_image.png"), ("text", "who might live in this house?")], "text"),
)  # fmt: skip


def asked(question):
    return VQA, YARD | {"text": question}


@pytest.mark.parametrize(
    ("task", "right", "wrong"),
    [
        (COUNT, asked("Count the kitten(s)."), asked("Is there a kitten?")),
        (THERE, asked("Does the picture contain any trains?"), asked("How many trains are there?")),
        (TOLD, asked("What is going on in this picture?"), asked("What colour is the car?")),
        (LISTED, asked("What objects are in the image?"), asked("What is the weather?")),
        (WHO, asked("Who could live in this house?"), asked("What color is this house?")),
        (GONE, ("text_image_editing", YARD | {"text": "Get rid of all giraffes"}),
         ("text_image_editing", YARD | {"text": "remove the zebra, not the giraffe"})),
        (THERE, ("visual_grounding", YARD | {"query": "find the train"}),
         ("visual_grounding", YARD | {"query": "person standing left of the train"})),
    ],
)  # fmt: skip
def test_a_text_must_ask_for_what_is_wanted(task, right, wrong):
    """The verdicts on more texts are in `meaning/test_objects.py`."""
    assert (solves(task, right), solves(task, wrong)) == (1, 0)


def test_a_cut_from_a_new_image_is_about_the_object_and_not_the_whole_prompt():
    for task in MINI.tasks:
        prompts = {part.target for part in task.goal.parts if part.kind == "generate"}
        assert not [part for part in task.goal.parts if part.kind != "generate" and part.target in prompts - {""}]


@pytest.mark.timeout(60)
def test_a_plan_that_takes_one_output_twice_at_each_step_is_not_judged_in_2_to_the_99_steps():
    first = ("image_captioning", YARD)
    calls = [first, *[(VQA, {"image": f"#{number}", "text": f"#{number}"}) for number in range(99)]]
    assert judged(COUNT, plan(*calls)).SE == 0


@pytest.mark.timeout(60)
@pytest.mark.parametrize("literal", ["a-" * 200_000, "a" * 400_000, "x.png" * 80_000, "is there a " * 40_000])
def test_a_long_literal_is_not_judged_in_quadratic_time(literal):
    for task in (COUNT, THERE, GONE, TOLD, WHO):
        long = plan((VQA, YARD | {"text": literal}), ("visual_grounding", YARD | {"query": literal}))
        assert judged(task, long).SE == 0


def test_every_indicator_has_a_reason_that_names_the_step():
    found = judged(COUNT, plan(DETECT, SELECT, ("count_masks", {"mask_list": "#1"})))
    assert found.why["CR"] == "step 3 (count_masks): mask_list is bbox, it takes mask"
    assert found.why["NR"] == 'count "kitten" in yard_image.png: lacks count_objects'
    assert found.why["SE"] == 'count "kitten" in yard_image.png: no output is this'


def test_agreement_with_the_gold_plan_counts_as_multisets():
    gold = plan(DETECT, SELECT, ("count_objects", {"bbox_list": "#1"}))
    assert agreement(plan=gold, gold=gold, is_right=True).node_f1 == 1.0
    half = agreement(plan=plan(DETECT), gold=gold, is_right=False)
    assert (half.node_f1, half.edge_f1, half.parameter_value_f1) == (0.5, 0.0, pytest.approx(0.4))
    nothing = agreement(plan=Plan(steps=(), answers=()), gold=gold, is_right=False)
    assert (nothing.node_f1, nothing.edge_f1, nothing.parameter_value_f1) == (0.0, 0.0, 0.0)
    assert depth(gold) == 3
    twice = plan(DETECT, DETECT)
    assert agreement(plan=twice, gold=twice, is_right=True).node_f1 == 1.0


# --- plans that guess ---

ASK = ("image_question_answering", {"image": "yard_image.png", "text": "How many kittens are there?"})
COUNTED = [DETECT, SELECT, ("count_objects", {"bbox_list": "#1"})]
CAPTION, DEPTH, POSE = (
    (tool, {"image": "yard_image.png"}) for tool in ("image_captioning", "image_to_depth", "image_to_pose")
)


@pytest.mark.parametrize(
    ("calls", "solves"),
    [
        pytest.param([*COUNTED, ASK], 1, id="two right answers"),
        pytest.param([*COUNTED, ("highlight_object_on_image", {"image": "yard_image.png", "bbox": "#1"})], 1,
                     id="an addition without a text"),
        pytest.param([*COUNTED, CAPTION], 1, id="a detour"),
        pytest.param([*COUNTED, CAPTION, DEPTH], 1, id="two detours with fewer calls"),
        pytest.param([ASK, CAPTION], 0, id="two guesses"),
        pytest.param([CAPTION, ASK], 0, id="two guesses in another order"),
        pytest.param([*COUNTED, DETECT], 1, id="a repeated call"),
        pytest.param([DETECT, SELECT, ("select_bbox", {"bbox_list": "#0", "condition": "dog"}),
                      ("count_objects", {"bbox_list": "#1"}), ("count_objects", {"bbox_list": "#2"})], 0,
                     id="two objects"),
        pytest.param([*COUNTED, ("highlight_object_on_image", {"image": "yard_image.png", "bbox": "#1"}),
                      ("image_cropping", {"image": "yard_image.png", "object": "#1"})], 0, id="two additions"),
        pytest.param([*COUNTED, CAPTION, DEPTH, POSE], 0, id="a long detour"),
    ],
)  # fmt: skip
def test_a_plan_with_results_that_nobody_asked_for_solves_nothing(calls, solves):
    found = judged(COUNT, plan(*calls))
    assert solves == found.SE
    assert ("not asked for" in found.why["SE"]) == (not solves)
