"""PlanArena's own files for the released requests: what they show, and plans that are executed on them."""

import json

import pytest

from evaluator.controlllm.toolbench.released.executed import TOOL2K, TOOL100
from evaluator.controlllm.toolbench.released.inputs import released_inputs
from evaluator.controlllm.toolbench.released.pack import NOTE, PackInputs, shown_in
from evaluator.core.suites.registry import suite_of
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import Boxes, Clip, Label, Labels, Masks, encode
from evaluator.episodes.base import Setting, episode_of
from evaluator.execution.engine.store import LocalStore
from evaluator.execution.experts.profile import load_expert, load_profile
from evaluator.miniature.roles import label_of
from evaluator.planners.ablations import VariantPlanner, with_texts
from evaluator.planners.bundled import bundled_planner
from tests.evaluator.controlllm.toolbench.released.files import write_files
from tests.evaluator.controlllm.toolbench.released.test_executed_suites import planarena


@pytest.fixture(scope="module")
def pack(data):
    return PackInputs(tasks=suite_of(TOOL100).tasks)


def named(suite, key):
    return suite_of(suite).task(key)


def test_every_file_of_tool100_is_drawn_with_the_type_of_its_role(pack):
    kinds = {ResourceType.VIDEO: Clip, ResourceType.MASK: Masks}
    drawn = 0
    for task in suite_of(TOOL100).tasks:
        for name, value in pack.inputs(task=task, index=0).items():
            kind = min(task.files[name])
            assert isinstance(value, kinds.get(kind, object)), (task.key, name)
            drawn += 1
    assert drawn == 150


def test_a_file_is_the_same_each_time_and_another_for_each_sample(pack):
    task = named(TOOL100, "image_detection/1")
    first, again, other = (
        encode(PackInputs(tasks=[task]).inputs(task=task, index=index)["image_386.png"]).data for index in (0, 0, 1)
    )
    assert first == again != other


def test_who_asks_about_a_bench_gets_what_plays_one_under_this_name(pack):
    task = named(TOOL100, "image_detection/1")
    assert shown_in(task=task, name="image_386.png").names == ("bench",)
    experts = load_profile("lilliput-cast").experts
    image = pack.inputs(task=task, index=0)["image_386.png"]
    (found,) = load_expert(spec=experts["object_detection"]).run([{"image": image}])
    select = load_expert(spec=experts["select_bbox"])
    (chosen,) = select.run([{"bbox_list": found["object"], "condition": "the benches"}])
    assert isinstance(chosen["result"], Boxes)
    assert [box.label for box in chosen["result"].items] == ["bench"]
    (none,) = select.run([{"bbox_list": found["object"], "condition": "giraffe"}])
    assert none["result"].items == () or label_of("giraffe") == label_of("bench")


def test_selections_keep_everything_for_objects_and_tell_actions_from_things():
    select = load_expert(spec=load_profile("lilliput-cast").experts["select_category"])
    labels = load_labels("dog", "cat")
    assert _names(select, labels, "all objects") == ["dog", "cat"]
    assert _names(select, labels, "dogs") == ["dog"]
    assert _names(select, load_labels("playing piano"), "playing piano") == ["playing piano"]
    assert _names(select, load_labels("playing piano"), "knitting") == []


def load_labels(*names):
    return Labels(tuple(map(Label, names)))


def _names(select, labels, condition):
    (result,) = select.run([{"category_list": labels, "condition": condition}])
    return [item.name for item in result["target_category_result"].items]


def test_an_operators_folder_wins_and_is_not_comparable(data, pack, tmp_path):
    tasks = suite_of(TOOL100).tasks
    write_files(tmp_path, tasks=tasks[:2])
    own = released_inputs(folder=str(tmp_path), tasks=tasks, slug=TOOL100, profile="lilliput")
    assert not isinstance(own, PackInputs)
    assert own.digest != pack.digest
    assert isinstance(released_inputs(folder=None, tasks=tasks, slug=TOOL100, profile="lilliput"), PackInputs)
    with pytest.raises(LookupError, match="does not know the things of PlanArena's own pack"):
        released_inputs(folder=None, tasks=tasks, slug=TOOL100, profile="paper")


def test_the_digest_changes_with_the_pack(pack, monkeypatch):
    monkeypatch.setattr("evaluator.controlllm.toolbench.released.pack.PACK_VERSION", "other")
    assert PackInputs(tasks=()).digest != pack.digest


def test_gold_agrees_with_itself_and_a_plan_for_another_thing_does_not(data, tmp_path):
    suite = suite_of(TOOL100)
    keys = [task.key for task in suite.tasks if task.key.startswith("image_detection/")][:3]
    store = LocalStore(tmp_path)
    setting = Setting(profile="lilliput", split="public", samples=2, open_store=lambda: store)
    evaluator = episode_of(TOOL100).evaluator(suite=suite, setting=setting)
    gold = list(evaluator.run(planner=bundled_planner(name="gold", suite=suite), tasks=keys))
    assert [record.score for record in gold] == [1.0] * len(keys)
    damaged = {}
    for key in keys:
        plan = suite.task(key).gold
        (step,) = (step for step in plan.steps if "condition" in step.inputs)
        damaged[key] = with_texts(plan=plan, texts={(step.id, "condition"): "broccoli"})
    worse = list(evaluator.run(planner=VariantPlanner(name="other", plans=damaged), tasks=keys))
    assert max(record.score for record in worse) < 0.5
    assert evaluator.facts()["data"]["origin"] == NOTE


def test_the_requests_that_need_a_chat_model_or_sound_can_run(data):
    setting = Setting(profile="lilliput", split="public")
    assert not episode_of(TOOL100).not_run(suite=suite_of(TOOL100), setting=setting)


@pytest.mark.full
def test_every_request_of_tool2k_with_a_gold_plan_has_its_files(data):
    pack = PackInputs(tasks=suite_of(TOOL2K).tasks)
    for task in suite_of(TOOL2K).tasks:
        if task.gold is not None:
            assert set(pack.inputs(task=task, index=0)) == set(task.files)


def test_the_command_says_what_the_files_show(data):
    done = planarena("suites", "inputs", TOOL100, "--json")
    assert done.exit_code == 0, done.stderr
    rows = {(row["request"], row["name"]): row for row in json.loads(done.stdout)}
    assert rows["image_detection/1", "image_386.png"]["shows"] == ["bench"]
    assert NOTE in planarena("suites", "inputs", TOOL100).stdout
