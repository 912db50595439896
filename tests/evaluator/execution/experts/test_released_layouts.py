"""Every checkpoint of the profile `paper` in its released layout: fetched, converted, verified, loaded and run."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from evaluator.core.plans.model import plan_to_json
from evaluator.core.plans_file import GivenPlan, GivenPlans
from evaluator.core.records import Outcome
from evaluator.core.suites.registry import suite_of
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.episodes.execution import ExecutionEvaluator
from evaluator.execution.engine.store import MemoryStore
from evaluator.execution.experts.checkpoints import read_lock
from evaluator.execution.experts.colorizer import stretched
from evaluator.execution.experts.fetching import Fetcher
from evaluator.execution.experts.profile import load_expert, load_profile
from evaluator.openagi.released import ReleasedFolderSamples
from evaluator.scoring.metrics.scorers.loading import load_scorer
from tests.evaluator.core.suites.test_openagi_data import release_task
from tests.evaluator.execution.experts.paper.released import TOOL_BUILDERS, TOOL_FILES
from tests.evaluator.execution.experts.paper.world import fetch_checkpoints
from tests.evaluator.execution.experts.released import BUILDERS, SINGLE_FILES, write

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("one_thread")]

PROFILE = load_profile("paper")
CHECKPOINTS = PROFILE.checkpoints
PICTURE = Image.new("RGB", (40, 33), (9, 99, 200))
TEXT = "The bear is <mask> and [MASK] big."


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    names = [*BUILDERS, *SINGLE_FILES]
    fetch_checkpoints(folder=folder, mirror=tmp_path_factory.mktemp("mirror"), names=names)
    return folder


@pytest.fixture(scope="module")
def paper(cache):
    """The profile on the fetched checkpoints, its lines unchanged but for the size of batches."""
    result = load_profile("paper", weights=cache)
    return replace(result, experts={tool: replace(spec, batch_size=2) for tool, spec in result.experts.items()})


def run(expert, tool):
    item = {name: PICTURE if name == "image" else TEXT for name in OPENAGI[tool].inputs}
    if hasattr(expert, "run_seeded"):
        return expert.run_seeded(batch=[item], seeds=[7])
    return expert.run([item])


def test_every_checkpoint_of_the_profile_is_made():
    of_openagi = {PROFILE.experts[tool].path.name for tool in OPENAGI.tools}
    others = {spec.path.name for spec in (*PROFILE.scorers.values(), *PROFILE.reference_experts.values())}
    assert {*BUILDERS, *SINGLE_FILES} == of_openagi | others
    assert {*BUILDERS, *SINGLE_FILES, *TOOL_BUILDERS, *TOOL_FILES} == set(CHECKPOINTS)


def test_only_what_is_needed_is_fetched(cache):
    locked = read_lock(cache)
    for name in BUILDERS:
        files = locked[name].files
        assert not [file for file in files if not file.endswith((".json", ".txt", ".safetensors", ".model"))], name
        assert not [file for file in files if "fp16" in file], name
    parts = {file.partition("/")[0] for file in locked["text-to-image"].files if "/" in file}
    assert parts == set(CHECKPOINTS["text-to-image"].folders)
    assert "text_model.embeddings.position_ids" in load_file(cache / "clip-score" / "model.safetensors")


def test_the_reference_translator_loads(cache):
    spec = load_profile("paper", weights=cache).reference_experts["Machine Translation"]
    assert isinstance(run(load_expert(spec=replace(spec, batch_size=1)), "Machine Translation")[0]["text"], str)


@pytest.mark.parametrize("processor", ["CLIPImageProcessor", "CLIPFeatureExtractor"])
def test_a_pipeline_that_names_a_safety_checker_draws_without_it(tmp_path, processor):
    """Also where the repository was taken from a mirror, and with the older name of the processor."""
    item = CHECKPOINTS["text-to-image"]
    repo = tmp_path / "mirror" / item.repo
    BUILDERS["text-to-image"](repo)
    index = json.loads((repo / "model_index.json").read_text())
    assert {"feature_extractor", "safety_checker"} <= set(index)
    write(repo, "model_index.json", {**index, "feature_extractor": ["transformers", processor]})
    Fetcher(folder=tmp_path / "cache", mirror=tmp_path / "mirror", report=lambda _: None).fetch(item)
    spec = load_profile("paper", weights=tmp_path / "cache").experts["Text to Image Generation"]
    expert = load_expert(spec=replace(spec, batch_size=1, parameters={"steps": 2}))
    assert expert._pipeline.safety_checker is None
    (result,) = run(expert, "Text to Image Generation")
    assert result["image"].size == (16, 16)


class TestAsReleased:
    """What OpenAGI's released code does with its experts, and other code with the same checkpoints does not."""

    def test_objects_are_named_in_the_order_of_the_queries(self, paper):
        spec = replace(paper.experts["Object Detection"], parameters={"threshold": 0.0}, precision="float32")
        expert = load_expert(spec=spec)
        # From right to left, and the last one in the middle: any order by place differs.
        boxes = torch.tensor([[[0.8, 0.5, 0.2, 0.2], [0.2, 0.5, 0.2, 0.2], [0.5, 0.5, 0.2, 0.2]]])
        logits = 9 * torch.nn.functional.one_hot(torch.tensor([[2, 1, 2]]), 4).float()
        expert._model.forward = lambda **_: SimpleNamespace(logits=logits, pred_boxes=boxes)
        (objects,) = expert.detect(np.zeros((1, 48, 48, 3), dtype=np.uint8))
        assert [round(detection.box[0], 2) for detection in objects] == [0.7, 0.1, 0.4]

    def test_colours_are_predicted_at_the_profiles_size_and_values_stretched(self, paper):
        assert dict(paper.experts["Colorization"].parameters) == {"size": 256, "stretches": True}
        expert = load_expert(spec=replace(paper.experts["Colorization"], precision="float32"))
        seen = []
        expert._model.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].shape[-2:]))
        dull = PICTURE.copy()
        dull.paste((90, 90, 90), (0, 0, 20, 33))
        (result,) = run_on(expert, dull)
        assert [tuple(shape) for shape in seen] == [(256, 256)]
        assert result.size == dull.size
        levels = [level for band in result.getextrema() for level in band]
        assert (min(levels), max(levels)) == (0, 255)

    def test_stretched_values_are_those_of_the_released_formula(self):
        image = torch.tensor([0.2, 0.5, 0.7, 0.45, 0.3, 0.6]).view(1, 3, 1, 2)
        other = torch.full((1, 3, 1, 2), 0.4)
        result = (stretched(torch.cat([image, other])) * 255).floor().flatten().tolist()
        # (value - 0.2) / (0.7 - 0.2) * 255, cut off; a flat image becomes black.
        assert result == [0, 153, 255, 127, 51, 204] + [0] * 6

    @pytest.mark.parametrize(("text", "tokens"), [("the", 30), ("the " * 9, 30), ("the " * 20, 60)])
    def test_text_and_continuation_have_thirty_tokens_together(self, paper, text, tokens):
        """A text that is longer is continued by one token."""
        expert = load_expert(spec=replace(paper.experts["Text Generation"], precision="float32"))
        expert._model.generation_config.eos_token_id = None  # a random model may end at any time
        # A continuation may be read back as other tokens than it was written in: count those that were kept.
        kept = []
        decode = expert._tokenizer.decode
        expert._tokenizer.decode = lambda ids, **settings: kept.append(len(ids)) or decode(ids, **settings)
        (result,) = expert.run([{"text": text.strip()}])
        assert result["text"].startswith(text.strip())
        assert len(expert._tokenizer(text.strip())["input_ids"]) + kept[0] == tokens

    @pytest.mark.parametrize(("tool", "tokens"), [("Image Captioning", 40), ("Text Summarization", 142)])
    def test_lengths_count_the_token_that_a_decoder_starts_from(self, paper, tool, tokens):
        expert = load_expert(spec=replace(paper.experts[tool], precision="float32"))
        longest = []
        generate = expert._model.generate

        def note(**settings):
            written = generate(**settings, min_new_tokens=settings["max_new_tokens"])
            longest.append(written.shape[1])
            return written

        expert._model.generate = note
        run(expert, tool)
        assert set(longest) == {tokens}


def run_on(expert, picture):
    return [result["image"] for result in expert.run([{"image": picture}])]


def given(plans):
    """A planner with a plan for each task."""
    return GivenPlans({task: GivenPlan(plan_to_json(plan)) for task, plan in plans.items()})


SUITE = suite_of("openagi")


def plans_that_call_every_tool():
    """Gold plans, as few as have every tool, both drawings among them; and one with the tool that no gold plan has."""
    plans = {key: SUITE.task(key).gold for key in ("105", "106")}
    for tool in OPENAGI.tools:
        called = {step.tool for plan in plans.values() for step in plan.steps}
        result = next((task for task in SUITE.tasks if tool in task.gold.tools()), None)
        if tool not in called and result is not None:
            plans[result.key] = result.gold
    task = next(task for task in SUITE.tasks if task.base == "summarization" and not task.clozed)
    continuation = [
        replace(step, tool="Text Generation") if step.tool == "Text Summarization" else step for step in task.gold.steps
    ]
    return {**plans, task.key: replace(task.gold, steps=tuple(continuation))}


def test_gold_plans_with_every_tool_run_on_the_released_data(paper, tmp_path):
    """Data in the released layout, experts and scorers from checkpoints in theirs: every task gets a score."""
    plans = plans_that_call_every_tool()
    assert {step.tool for plan in plans.values() for step in plan.steps} == set(OPENAGI.tools)
    assert {SUITE.task(key).metric for key in plans} == set(paper.scorers)
    for key in plans:
        release_task(tmp_path, SUITE.task(key))
    # Half precision takes a minute of convolutions on a processor; the test of single experts has it.
    single = {tool: replace(spec, batch_size=1, precision="float32") for tool, spec in paper.experts.items()}
    evaluator = ExecutionEvaluator(
        suite=SUITE, profile=replace(paper, experts=single), samples=ReleasedFolderSamples(tmp_path), count=1,
        store=MemoryStore(),
    )  # fmt: skip
    records = list(evaluator.run(planner=given(plans), tasks=list(plans)))
    assert {record.task: (record.outcome, record.reason_text) for record in records} == dict.fromkeys(
        plans, (Outcome.SCORED, "")
    )
    assert all(0 <= record.score <= 1 for record in records)
    assert set(evaluator.facts()["expert_calls"]) == set(OPENAGI.tools)


class TestScorers:
    @pytest.mark.parametrize("name", load_profile("paper").scorers)
    def test_a_score_is_not_random(self, paper, name):
        output, reference = ("A bear.", "Ein Bär.") if name == "BERT" else (PICTURE, PICTURE.rotate(45))
        results = []
        for seed in (1, 2):
            torch.manual_seed(seed)
            scorer = load_scorer(name=name, profile=paper)
            wanted = "A bear." if name == "CLIP" else reference
            results.append(scorer.score(outputs=[output], references=[wanted]))
        assert results[0] == results[1]


def test_scores_of_texts_of_any_length_and_of_images_of_any_size(paper):
    bert, vit = (load_scorer(name=name, profile=paper) for name in ("BERT", "ViT"))
    texts = ["A bear.", "word " * 500, ""]
    assert bert.score(outputs=texts, references=texts) == pytest.approx([1.0, 1.0, 1.0], abs=1e-5)
    assert bert.score(outputs=["", "A bear."], references=["A bear.", ""]) == [0.0, 0.0]
    images = [Image.new("RGB", size, (200, 30, 30)) for size in ((37, 53), (1, 1))]
    assert vit.score(outputs=images, references=images) == pytest.approx([1.0, 1.0])
