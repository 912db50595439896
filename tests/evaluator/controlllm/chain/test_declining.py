"""The chain declines what no tool is for, also requests that the threshold was not chosen on."""

import pytest

from evaluator.controlllm.chain.conversation import declined
from evaluator.controlllm.chain.state import Outcome
from evaluator.controlllm.strategies.strategy import AdaptiveControlLLM
from evaluator.controlllm.toolbench.abstention import Need
from evaluator.core.planner import request_for
from evaluator.core.suites.hidden import suite_on_split
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.judgement import all_tools


def staged_of(request):
    stages = AdaptiveControlLLM().stages(request)
    with pytest.raises(StopIteration) as end:
        next(stages)
    return end.value.value


def share_declined(slug, *, seed, need=None):
    suite = suite_on_split(suite=suite_of(slug), split="hidden", hidden_seed=seed)
    tasks = [task for task in suite.tasks if need is None or task.need is need]
    found = []
    for task in tasks:
        request = request_for(suite=suite, task=task, context=all_tools(suite=suite, task=task))
        found.append(bool(declined(staged_of(request), files=set(task.resources))))
    return sum(found) / len(found)


def test_most_of_what_the_tools_cannot_do_is_declined_and_most_of_what_they_can_is_not():
    assert share_declined("toolmini", seed="held-1") < 0.12
    assert share_declined("toolmini-abstain", seed="held-1", need=Need.NO_TOOL) > 0.65
    assert share_declined("toolmini-abstain", seed="held-1", need=Need.MISSING_FILE) > 0.8


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
