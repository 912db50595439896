"""The requests of `toolworld`: what they want, what their files show, and that the right results are right."""

from collections import Counter

import numpy as np
import pytest
from PIL import Image as PillowImage

from evaluator.controlllm.toolbench.judging import judge
from evaluator.controlllm.toolbench.world import materials
from evaluator.controlllm.toolbench.world.contents import Material
from evaluator.controlllm.toolbench.world.hidden import hidden_requests
from evaluator.controlllm.toolbench.world.requests import public_requests
from evaluator.controlllm.toolbench.world.suite import (
    WorldSamples,
    WorldTask,
    toolworld_suite,
    world_samples,
    world_task,
)
from evaluator.core.plans.checks import check_plan
from evaluator.core.plans.model import plan_to_json
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import Boxes, Clip, Labels, Masks, Value
from evaluator.episodes.base import Setting, episode_of
from evaluator.execution.experts.profile import load_profile
from evaluator.miniature.scenes import SceneObject
from evaluator.miniature.seeds import Split
from evaluator.scoring.metrics.results.rules import RULE_SCORES
from evaluator.scoring.metrics.rule_names import EDIT

SUITE = toolworld_suite()
TASKS = [task for task in SUITE.tasks if isinstance(task, WorldTask)]
PUBLIC = world_samples(profile="lilliput", split="public", hidden_seed=None)


def of_kind(value: Value, kind: ResourceType) -> bool:
    classes = {
        ResourceType.TEXT: str, ResourceType.BBOX: Boxes, ResourceType.MASK: Masks, ResourceType.CATEGORY: Labels,
        ResourceType.VIDEO: Clip, ResourceType.TITLE: str, ResourceType.TAGS: Labels, ResourceType.LOCATION: str,
    }  # fmt: skip
    return isinstance(value, classes.get(kind, PillowImage.Image))


def test_gold_plans_are_valid_and_solve_by_the_judge() -> None:
    offered = frozenset(SUITE.catalogue.tools)
    for task in TASKS:
        assert task.gold is not None
        context = SUITE.context(task=task, offered=offered)
        assert check_plan(plan=task.gold, context=context) == (), task.key
        found = judge(suite=SUITE, task=task, value=plan_to_json(task.gold)).judgement
        assert (found.SE, found.IR, found.NR, found.HR, found.CR) == (1, 0, 1, 0, 1), (task.key, found.why)


def test_every_file_and_every_right_result_has_its_type_and_scores_one(full: bool) -> None:
    first = {(task.group, task.metric): task for task in reversed(TASKS)}
    for task in TASKS if full else first.values():
        _check(task)


def test_so_has_every_file_and_every_right_result_of_hidden_requests(full: bool) -> None:
    seed = "one secret"
    tasks = [world_task(request) for request in hidden_requests(seed=seed)]
    samples = world_samples(profile="lilliput", split="hidden", hidden_seed=seed)
    first = {(task.group, task.metric): task for task in reversed(tasks)}
    for task in tasks if full else first.values():
        _check(task, samples=samples)


def _check(task: WorldTask, *, samples: WorldSamples = PUBLIC) -> None:
    for index in range(2):
        inputs = samples.inputs(task=task, index=index)
        assert list(inputs) == list(task.resources)
        for name, value in inputs.items():
            assert of_kind(value, task.resources[name]), name
        for answer in task.answers:
            right = samples.reference(task=answer, index=index)
            rule = RULE_SCORES.get(answer.metric)
            if rule is None:
                continue
            if answer.metric == EDIT:
                assert isinstance(right, Clip)
                before, after = (PillowImage.fromarray(frame) for frame in right.frames)
                assert rule.score(outputs=[before, after], references=[right] * 2) == [0, pytest.approx(1)]
            else:
                assert answer.expects is not None
                assert of_kind(right, answer.expects)
                assert rule.score(outputs=[right], references=[right]) == [pytest.approx(1)]


def test_pictures_meet_the_demands_of_their_requests(full: bool) -> None:
    counts: Counter[int] = Counter()
    for task in TASKS[:: 1 if full else 2]:
        for given in task.given:
            if given.material is not Material.THINGS or given.masked:
                continue
            source = materials.Source(split=Split.PUBLIC, hidden_seed=None, key=task.key, sample=0)
            shown = materials.picture(given=given, source=source)
            parts = [part for part in shown.tableau.parts if isinstance(part, SceneObject)]
            for demand in given.demands:
                found = sum(demand.means(part) for part in parts)
                assert demand.least <= found <= demand.most, (task.key, demand)
                counts[found] += demand.most > 1
    # Of things that are to be counted there are none as well as three.
    assert set(counts) == {0, 1, 2, 3}


def test_samples_are_always_the_same_and_differ_from_each_other() -> None:
    again = WorldSamples(split=Split.PUBLIC, hidden_seed=None)
    task = TASKS[0]
    pictures = []
    for index in range(3):
        one, other = (source.inputs(task=task, index=index) for source in (PUBLIC, again))
        for name in one:
            assert np.array_equal(np.asarray(one[name]), np.asarray(other[name]))
        pictures.append(np.asarray(next(iter(one.values()))).tobytes())
    assert len(set(pictures)) == 3


def test_hidden_requests_have_the_public_keys_and_other_words_and_pictures() -> None:
    first, other = hidden_requests(seed="one secret"), hidden_requests(seed="another secret")
    public = {request.raw.instruction for request in public_requests()}
    assert [request.raw.key for request in first] == [task.key for task in TASKS]
    said = {request.raw.instruction for request in first}
    assert len(said) == 180
    assert not said & public
    assert sum(one.raw.instruction == two.raw.instruction for one, two in zip(first, other, strict=True)) < 10
    hidden = world_samples(profile="lilliput", split="hidden", hidden_seed="one secret")
    task = world_task(first[0])
    shown = [np.asarray(source.inputs(task=task, index=0)[next(iter(task.resources))]) for source in (hidden, PUBLIC)]
    assert not np.array_equal(*shown)
    assert hidden.digest != PUBLIC.digest


def test_data_are_refused_with_a_sentence_where_there_are_none() -> None:
    with pytest.raises(LookupError, match="under profile paper"):
        world_samples(profile="paper", split="public", hidden_seed=None)
    with pytest.raises(ValueError, match="there is no split 'test'"):
        world_samples(profile="lilliput", split="test", hidden_seed=None)
    with pytest.raises(ValueError, match="secret"):
        world_samples(profile="lilliput", split="hidden", hidden_seed=None)


def test_every_tool_of_a_right_plan_has_an_expert() -> None:
    experts = set(load_profile("lilliput").experts)
    assert frozenset(name for task in TASKS for name in task.relevant_tools or ()) <= experts
    assert episode_of("toolworld").not_run(suite=SUITE, setting=Setting(profile="lilliput")) == {}


def test_a_crop_is_no_cut_out_and_a_caption_no_class() -> None:
    """Where the words leave one tool, another result does not solve the request."""
    by_tool = {task.wanted[0].tool: task for task in TASKS if len(task.wanted) == 1}
    for tool in ("image_cropping", "mask_image", "video_captioning", "video_classification", "image_captioning"):
        assert by_tool[tool].gold is not None
        assert tool in by_tool[tool].gold.tools()  # type: ignore[union-attr]
        parts = by_tool[tool].goal.alternatives  # type: ignore[union-attr]
        assert [pattern.tool for pattern in parts[0]] == [tool]  # type: ignore[union-attr]
