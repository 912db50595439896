"""The chain declines what no tool is for, also requests that the threshold was not chosen on."""

import pytest

from evaluator.controlllm.chain.conversation import declined
from evaluator.controlllm.chain.state import Outcome
from evaluator.controlllm.strategies.strategy import AdaptiveControlLLM
from evaluator.controlllm.toolbench.abstention import Need
from evaluator.controlllm.toolbench.mini.requests import drawn_tasks
from evaluator.controlllm.toolbench.tasks import tool_task
from evaluator.core.planner import request_for
from evaluator.core.suites.hidden import suite_on_split
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.judgement import all_tools


def staged_of(request):
    stages = AdaptiveControlLLM().stages(request)
    with pytest.raises(StopIteration) as end:
        next(stages)
    return end.value.value


def share_declined(suite, tasks):
    found = []
    for task in tasks:
        request = request_for(suite=suite, task=task, context=all_tools(suite=suite, task=task))
        found.append(bool(declined(staged_of(request), files=set(task.resources))))
    return sum(found) / len(found)


def test_most_of_what_the_tools_can_do_is_not_declined_in_the_words_of_the_public_split():
    drawn = list(map(tool_task, drawn_tasks(count=120)))
    assert share_declined(suite_of("toolmini"), drawn) < 0.12


def test_most_of_what_the_tools_cannot_do_is_declined_also_in_hidden_words():
    suite = suite_on_split(suite=suite_of("toolmini-abstain"), split="hidden", hidden_seed="held-1")
    for need, least in ((Need.NO_TOOL, 0.65), (Need.MISSING_FILE, 0.8)):
        assert share_declined(suite, [task for task in suite.tasks if task.need is need]) > least


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("Email yard_001.png to my neighbour.", "no tool is for this"),
        ("Crop yard_002.png to the train.", "yard_002.png is not among the given files"),
    ],
)
def test_what_is_declined_is_said(words, why):
    suite = suite_of("toolmini")
    task = suite.task("image_detection/0")
    request = request_for(suite=suite, task=task, context=all_tools(suite=suite, task=task))
    request = request.model_copy(update={"task": request.task.model_copy(update={"request": words})})
    (said,) = declined(staged_of(request), files={"yard_001.png"}).values()
    assert why in said
    assert Outcome.DECLINED == "declined"
