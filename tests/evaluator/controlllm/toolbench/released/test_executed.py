"""Requests of Tool100 executed under the profile `paper`: small random models, a folder of small pictures."""

import shutil
from pathlib import Path

import pytest

from evaluator.controlllm.toolbench.released.executed import SEVERAL, TOOL100
from evaluator.controlllm.toolbench.released.inputs import ReleasedInputs
from evaluator.core.plans.model import Plan, Step, plan_to_json
from evaluator.core.plans_file import GivenPlan, GivenPlans
from evaluator.core.records import Outcome, Reason, without_timings
from evaluator.core.suites.registry import suite_of
from evaluator.core.tools.types import ResourceType
from evaluator.episodes.base import episode_of
from evaluator.episodes.execution import ExecutionEvaluator
from evaluator.execution.engine.pool import ExpertPool
from evaluator.execution.engine.store import MemoryStore
from evaluator.execution.experts.profile import load_profile
from evaluator.scoring.metrics import rule_names
from tests.evaluator.controlllm.toolbench.released.files import picture, write_files
from tests.evaluator.execution.experts.paper.world import fetch_tools, small
from tests.fakes.device_memory import Card

WORKING = 300_000
"""Bytes of a batch, on a stand-in for a card."""
pytestmark = [pytest.mark.full, pytest.mark.usefixtures("one_thread")]


@pytest.fixture(scope="module")
def suite(data):
    return suite_of(TOOL100)


@pytest.fixture(scope="module")
def chosen(suite):
    """As few requests as have every tool that can run, among them a video, a mask and each kind of map."""
    tools = set(load_profile("paper").experts)
    runnable = [task for task in suite.tasks if task.gold is not None and set(task.gold.tools()) <= tools]
    found, called, given = [], set(), set()
    for task in sorted(runnable, key=lambda task: len(task.gold.steps)):
        types = set(task.resources.values())
        if set(task.gold.tools()) - called or types - given or (task.metric == SEVERAL and len(found) < 30):
            found.append(task)
            called |= set(task.gold.tools())
            given |= types
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory, chosen):
    found = tmp_path_factory.mktemp("inputs")
    write_files(found, tasks=chosen)
    return found


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    also = ("classification", "text-generation", "machine-translation", "vit-score", "bert-score", "clip-score")
    fetch_tools(folder=cache, mirror=tmp_path_factory.mktemp("mirror"), names=also)
    return small(load_profile("paper", weights=cache))


@pytest.fixture(scope="module")
def make_evaluator(suite, paper, folder):
    store = MemoryStore()

    def make(*, inputs=folder, experts=None, into=store):
        return ExecutionEvaluator(
            suite=suite, profile=paper, samples=ReleasedInputs(inputs, tasks=suite.tasks), count=1, store=into,
            judge=episode_of(TOOL100).judge, beside_gold=True, experts=experts,
        )  # fmt: skip

    return make


def given(plans):
    """A planner with a plan for each task."""
    return GivenPlans({task: GivenPlan(plan_to_json(plan)) for task, plan in plans.items()})


def test_the_chosen_requests_cover_tools_and_types(chosen):
    assert len(chosen) >= 12
    types = {kind for task in chosen for kind in task.resources.values()}
    assert {ResourceType.VIDEO, ResourceType.MASK, ResourceType.EDGE, ResourceType.SEGMENTATION} <= types
    assert any(task.metric == SEVERAL for task in chosen)


def test_gold_plans_run_on_the_folder_and_have_one_by_construction(make_evaluator, chosen):
    evaluator = make_evaluator()
    keys = [task.key for task in chosen]
    records = list(evaluator.run(planner=given({task.key: task.gold for task in chosen}), tasks=keys))
    assert {record.task: (record.outcome, record.reason_text) for record in records} == dict.fromkeys(
        keys, (Outcome.SCORED, "")
    )
    assert {record.task: record.score for record in records} == dict.fromkeys(keys, pytest.approx(1.0, abs=1e-5))
    assert {record.indicators["SE"] for record in records} == {1.0}
    called = {tool for task in chosen for tool in task.gold.tools()}
    assert set(evaluator.facts()["expert_calls"]) == called
    # All of the gold plans' tools but the one that has no expert.
    assert len(called) == 30


def test_an_edit_is_compared_with_the_picture_before_and_after(make_evaluator, chosen):
    """A copy of the picture has made nothing of the change."""
    task = next(task for task in chosen if task.metric == rule_names.EDIT)
    name = task.results[0].before
    masked = next(step for step in task.gold.steps if step.tool in {"mask_image", "image_inpainting"})
    nothing = Plan(
        steps=(
            Step(id="s1", tool="object_detection", inputs={"image": name}, outputs={"object": "s1.object"}),
            Step(
                id="s2", tool="select_bbox", inputs={"bbox_list": "s1.object", "condition": "no such thing"},
                outputs={"result": "s2.result"},
            ),
            Step(
                id="s3", tool="highlight_object_on_image", inputs={"image": name, "bbox": "s2.result"},
                outputs={"result": "s3.result"},
            ),
        ),
        answers=("s3.result",),
    )  # fmt: skip
    (record,) = make_evaluator().run(planner=given({task.key: nothing}), tasks=[task.key])
    assert record.outcome is Outcome.SCORED
    # Everything but the masked region was to become black; a random detector finds no mask, so all of it.
    assert record.score < 0.2, masked.tool


def test_pictures_larger_than_the_engine_works_on_are_reduced(make_evaluator, chosen, tmp_path):
    """As photographs are: 640x480 pixels are more than an expert is given."""
    task = next(task for task in chosen if "image_inpainting" in task.gold.tools())
    write_files(tmp_path, tasks=[task], size=(640, 480))
    (record,) = make_evaluator(inputs=tmp_path).run(planner=given({task.key: task.gold}), tasks=[task.key])
    assert (record.outcome, record.reason_text) == (Outcome.SCORED, "")


def test_where_the_gold_plan_fails_nobody_is_scored(make_evaluator, chosen, folder, tmp_path):
    """A mask of another size than its picture: no plan is compared with nothing."""
    task = next(task for task in chosen if ResourceType.MASK in task.resources.values() and len(task.gold.steps) == 1)
    files = tmp_path / "files"
    shutil.copytree(folder, files)
    mask = next(name for name, kind in task.resources.items() if kind is ResourceType.MASK)
    picture(seed=1, size=(9, 9)).save(files / Path(mask).name)
    (record,) = make_evaluator(inputs=files).run(planner=given({task.key: task.gold}), tasks=[task.key])
    assert (record.outcome, record.score) == (Outcome.INFRA_FAULT, None)
    assert record.reason is Reason.EXPERT_FAILED
    assert "the gold plan failed" in record.reason_text


def test_requests_without_their_files_or_a_tool_are_not_run(make_evaluator, suite, chosen):
    evaluator = make_evaluator()
    own = {task.key for task in chosen}
    reasons = {task.key: evaluator.not_run.get(task.key) for task in suite.tasks}
    assert not any(reasons[key] for key in own)
    chat = next(task for task in suite.tasks if task.gold and "openai_chat_model" in task.gold.tools())
    assert reasons[chat.key][0] is Reason.NO_EXPERT
    assert "gpt-3.5-turbo-16k" in reasons[chat.key][1]
    lacking = {key: reason for key, reason in reasons.items() if reason and reason[0] is Reason.NO_DATA}
    assert lacking
    assert all("cannot be used" in sentence for _, sentence in lacking.values())
    assert evaluator.gaps.endswith("more")


def test_results_have_equal_bytes_under_three_caps_of_memory_and_in_any_order(make_evaluator, paper, chosen):
    tasks, planner = [task.key for task in chosen], given({task.key: task.gold for task in chosen})

    def run(card, *, order):
        pool = ExpertPool(profile=paper, load=card.load, memory=card)
        made = make_evaluator(experts=pool, into=MemoryStore()).run(planner=planner, tasks=order)
        return {record.task: without_timings(record).model_dump_json() for record in made}, pool

    wide = Card(10**10, working=WORKING)
    wanted, pool = run(wide, order=tasks)
    assert set(pool.loads.values()) == {1}
    most = max(pool._sizes.values())
    for room, order in ((wide.peak * 2 // 3, tasks), (most + WORKING, tasks), (most + WORKING, tasks[::-1])):
        card = Card(room, working=WORKING)
        found, pool = run(card, order=order)
        assert found == wanted
        assert card.peak <= room
        assert len(pool.resident) < len(pool.loads), "some were unloaded"
