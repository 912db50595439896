"""Every strategy that is listed runs on a few tasks of its suites, with a language model that answers from a script.

A strategy without a script here fails: whoever adds one also says what its language model would have to write.
"""

import json
import re
from collections.abc import Callable, Mapping

import pytest

from evaluator.core.language_model import Answer, Call, Completion, Failure, ScoreCall, Scores, ToolCall
from evaluator.core.plans.checks import check_plan
from evaluator.core.records import Outcome, Reason
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.parts import ask_all
from evaluator.planners.driving import StrategyPlanner
from evaluator.planners.language_models.scripted import ScriptedModel
from evaluator.planners.strategies.registry import StrategyEntry, strategies
from evaluator.replies.read import read_plan
from tests.evaluator.controlllm.baselines.test_hugginggpt import TASKS as TASKS_OF_REMOVING
from tests.evaluator.planners.strategies.conversing import prompt_of
from tests.evaluator.planners.strategies.test_action_lines import DONE, INPAINT, SEGMENT, SELECT

Script = Callable[[Call], Answer | Failure | str]

RESTORE, REMOVE, DRAW = "3", "image_editing/5", "image_processing/0"
"""Given blurry grayscale image, how to return the regular image ...; Remove the keyboard from station_000.png; Make
the hed map of yard_000.png: one call, so that every search finds it."""
TASKS = {"openagi": (RESTORE, "0", "150"), "toolmini": (REMOVE, DRAW, "QA/0", "extra/0")}


def texts(*, openagi: str = "", toolmini: str = "") -> Mapping[str, Script]:
    """The same text for every call."""
    results = {"openagi": openagi, "toolmini": toolmini}
    return {suite: (lambda call, text=text: text) for suite, text in results.items() if text}


def turns(**by_suite: tuple[str, ...]) -> Mapping[str, Script]:
    """One text for each turn of a conversation, the last one again and again."""

    def script(call: Call, answers: tuple[str, ...]) -> str:
        spoken = sum(message.role == "assistant" for message in call.messages)
        return answers[min(spoken, len(answers) - 1)]

    return {suite: (lambda call, answers=answers: script(call, answers)) for suite, answers in by_suite.items()}


def searcher(call: Call) -> str:
    """ControlLLM's stages: the decomposition, and the best score for the one tool that is needed."""
    if '"dep"' not in prompt_of(call):
        best = "image_to_hed: " in call.messages[-1].content
        return json.dumps({"thought": "", "score": 5 if best else 1})
    subtask = {
        "description": "Trace the soft edges of yard_000.png with `image_to_hed`.",
        "task": ["image-processing"], "id": 0, "dep": [-1],
        "args": [{"type": "image", "value": "yard_000.png"}], "returns": [{"type": "hed", "value": "<GENERATED>-0"}],
    }  # fmt: skip
    return f"<Solution>{json.dumps([subtask])}</Solution>"


def sequence(call: Call) -> Answer | str:
    """Names within a constraint: the restorations that the request needs, or the first names that may end it."""
    if isinstance(call, ScoreCall):
        return Scores(log_probabilities=tuple(-1.0 for _ in call.continuations))
    assert call.constraint is not None
    names: tuple[str, ...] = ()
    while True:
        following = call.constraint.following(names)
        wanted = [name for name in ("Image Deblurring", "Colorization") if name in following.names]
        if wanted and not set(names) & set(wanted):
            names = (*names, wanted[0])
        elif following.may_end:
            return call.constraint.separator.join(names)
        else:
            names = (*names, following.names[0])


HUGGINGGPT = texts(
    openagi=json.dumps(
        [
            {"task": "Image Deblurring", "id": 0, "dep": [-1], "args": {"image": "$image"}},
            {"task": "Colorization", "id": 1, "dep": [0], "args": {"image": "<resource>-0"}},
        ]
    ),
    toolmini=json.dumps(TASKS_OF_REMOVING),
)
STEPS = {
    "openagi": (
        ("Image Deblurring", {"image": "$image"}, "image"),
        ("Colorization", {"image": "s1.image"}, "image"),
    ),
    "toolmini": (
        ("image_instance_segmentation", {"image": "station_000.png"}, "mask"),
        ("select_mask", {"mask_list": "s1.mask", "condition": "keyboard"}, "result"),
        ("image_inpainting", {"image": "station_000.png", "mask": "s2.result"}, "image"),
    ),
}
"""Tools, inputs and outputs of the plans."""


def as_json(suite: str) -> str:
    steps = [{"id": f"s{at}", "tool": step[0], "inputs": step[1]} for at, step in enumerate(STEPS[suite], start=1)]
    return json.dumps({"steps": steps, "answers": [f"s{len(steps)}.{STEPS[suite][-1][2]}"]})


def as_calls(suite: str) -> Script:
    """The steps as calls of the tools, whose names have no blanks."""
    calls = tuple(
        ToolCall(
            id=f"toolu_{number}",
            name=tool.replace(" ", "_"),
            arguments=json.dumps({name: re.sub(r"s(\d)\.\w+", r"call_\1", value) for name, value in inputs.items()}),
        )
        for number, (tool, inputs, _) in enumerate(STEPS[suite])
    )
    return lambda call: Completion(text="", calls=calls)


CALLS = {
    "openagi": (
        "Action: Image Deblurring\nAction Input: $image",
        "Action: Colorization\nAction Input: result-1",
        "Final Answer: result-2",
    ),
    "toolmini": (SEGMENT, SELECT, INPAINT, DONE),
}
FREE_TEXT = texts(openagi="Step 1: Image Deblurring\nStep 2: Colorization")
SEARCH = {"toolmini": searcher}
SEQUENCE = {"openagi": sequence}
SCRIPTS: Mapping[str, Mapping[str, Script]] = {
    "arc-experts": {},
    "arc-single": {},
    "controlllm/adaptive": SEARCH,
    "controlllm/beam": SEARCH,
    "controlllm/chain": SEARCH,
    "controlllm/exhaustive": SEARCH,
    "controlllm/greedy": SEARCH,
    "controlllm/trained": texts(toolmini="It asks no model."),
    "gpt4tools": texts(**{suite: "\n".join(lines) for suite, lines in CALLS.items()}),
    "hugginggpt": HUGGINGGPT,
    "interngpt": texts(toolmini="It asks no model."),
    "json-plan": texts(openagi=as_json("openagi"), toolmini=as_json("toolmini")),
    "native-tools": {suite: as_calls(suite) for suite in STEPS},
    "openagi/constrained": SEQUENCE,
    "openagi/few-shot": FREE_TEXT,
    "openagi/nonlinear": SEQUENCE,
    "openagi/zero-shot": FREE_TEXT,
    "openagi/zero-shot-bare": FREE_TEXT,
    "rules": texts(openagi="It asks no model."),
    "vipergpt": texts(
        openagi="def execute_command(image):\n    sharp = image_deblurring(image)\n    return colorization(sharp)",
        toolmini="def execute_command(image1):\n    masks = image_instance_segmentation(image1)\n"
        "    return image_inpainting(image1, select_mask(masks, 'keyboard'))",
    ),
    "visprog": texts(
        openagi="A=IMAGE_DEBLURRING(image=IMAGE)\nB=COLORIZATION(image=A)\nC=RESULT(var=B)",
        toolmini="A=IMAGE_INSTANCE_SEGMENTATION(image=IMAGE1)\nB=SELECT_MASK(mask_list=A,condition='keyboard')\n"
        "C=IMAGE_INPAINTING(image=IMAGE1,mask=B)\nD=RESULT(var=C)",
    ),
    "visual-chatgpt": turns(**CALLS),
}
OF_WHOLE_PLANS = {name: entry for name, entry in strategies().items() if not entry.in_turns}
RUNS = [
    pytest.param(entry, suite, with_model, id=f"{entry.name} on {suite}{' with a model' if with_model else ''}")
    for entry in OF_WHOLE_PLANS.values()
    for suite in TASKS
    if entry.understands(suite)
    for with_model in (False, True)
    if (with_model and (entry.needs or entry.optional)) or not (with_model or entry.needs)
]


def solved_task(entry: StrategyEntry, suite: str) -> str:
    """The task that a script answers rightly; to all others it gives the same answer, whatever comes of it."""
    if suite == "openagi":
        return RESTORE
    return DRAW if SCRIPTS[entry.name] is SEARCH else REMOVE


def planner(entry: StrategyEntry, suite: str, *, with_model: bool) -> StrategyPlanner:
    """The strategy with the model that answers from its script."""
    model = ScriptedModel(SCRIPTS[entry.name][suite]) if with_model else None
    return StrategyPlanner(strategy=entry.strategy(with_model=with_model), model=model)


def test_every_strategy_has_a_script_for_every_suite_that_it_understands():
    assert SCRIPTS.keys() == OF_WHOLE_PLANS.keys()
    for name, entry in OF_WHOLE_PLANS.items():
        assert SCRIPTS[name].keys() == {suite for suite in TASKS if entry.understands(suite)}


@pytest.mark.parametrize(("entry", "slug", "with_model"), RUNS)
def test_it_plans_a_few_tasks_and_solves_the_one_that_its_script_answers(entry, slug, with_model):
    suite = suite_of(slug)
    tasks = [suite.task(key) for key in TASKS[slug]]

    def context(task):
        return suite.context(task=task, offered=frozenset(suite.catalogue.tools))

    asked = list(
        ask_all(planner=planner(entry, slug, with_model=with_model), suite=suite, tasks=tasks, context=context)
    )
    records = {task.key: (record, reply) for task, record, reply in asked}
    assert records.keys() == set(TASKS[slug])
    for record, _ in records.values():
        assert record.outcome is not Outcome.INFRA_FAULT, record.reason_text
        assert record.reason in {None, Reason.UNPARSABLE_PLAN}
    record, reply = records[solved_task(entry, slug)]
    assert reply is not None, record.reason_text
    assert record.planner_notes
    task = suite.task(solved_task(entry, slug))
    parsed = read_plan(value=reply.plan, context=context(task))
    assert check_plan(plan=parsed.plan, context=context(task)) == ()
    assert sorted(parsed.plan.tools()) == sorted(task.gold.tools())
