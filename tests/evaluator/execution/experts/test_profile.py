import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from evaluator.core.expert import ExpertSpec
from evaluator.core.tools.catalogues import CONTROLLLM, OPENAGI
from evaluator.execution.engine.jobs import step_key
from evaluator.execution.experts.profile import (
    NO_WEIGHTS,
    PROFILES,
    Profile,
    ProfileError,
    ScorerSpec,
    load_expert,
    load_profile,
)
from evaluator.execution.experts.weights import WeightsError, verify_weights, weights_digest
from evaluator.planners.language_models.shipped import LUMOS


@pytest.fixture
def copied(tmp_path):
    """A copy of the profile with its own weights, free to be damaged."""
    profile = load_profile("lilliput")
    weights = next(iter(profile.experts.values())).path.parent
    shutil.copytree(weights, tmp_path / "weights")
    text = (PROFILES / "lilliput.toml").read_text().replace("../../../miniature/weights", "weights")
    (tmp_path / "lilliput.toml").write_text(text)
    return tmp_path


def change(folder: Path, *, old: str, new: str) -> None:
    path = folder / "lilliput.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def models(profile: Profile) -> list[ExpertSpec | ScorerSpec]:
    """The experts and scorers that have weights."""
    experts = [spec for spec in profile.experts.values() if spec.weights_digest != NO_WEIGHTS]
    return [*experts, *profile.scorers.values()]


def test_the_shipped_profile_names_tools_of_the_catalogue_and_existing_weights():
    profile = load_profile("lilliput")
    assert profile.name == "lilliput"
    assert set(profile.scorers) == {"ViT", "BERT", "CLIP"}
    assert set(OPENAGI.tools) <= set(profile.experts) <= {*OPENAGI.tools, *CONTROLLLM.tools}
    for tool, spec in profile.experts.items():
        assert spec.tool == tool
        if spec.weights_digest != NO_WEIGHTS:
            verify_weights(folder=spec.path, expected=spec.weights_digest)


def test_the_shipped_weights_stay_small():
    from evaluator.studies.experts.recipes import RECIPES

    rooms = {name: recipe.module.partition(".")[0] for name, recipe in RECIPES.items()}
    kinds = {
        name: {"tableaux": "tableaux", "signs": "reading", "annotation": "reading"}.get(room, "")
        for name, room in rooms.items()
    }
    folder = load_profile("lilliput").experts["Image Denoising"].path.parent
    sizes = Counter[str]()
    for path in folder.rglob("*"):
        if path.is_file():
            name = path.relative_to(folder).parts[0]
            sizes["modules" if name == LUMOS else kinds.get(name, "")] += path.stat().st_size
    assert sizes[""] < 30_000_000
    assert 0 < sizes["tableaux"] < 15_000_000
    assert 0 < sizes["reading"] < 850_000
    assert 0 < sizes["modules"] < 7_000_000


def test_cards_say_what_is_recorded_beside_the_weights(tmp_path):
    from evaluator.studies.experts.quality.cards import card, record_quality
    from evaluator.studies.experts.recipes import RECIPES

    profile = load_profile("lilliput")
    for spec in models(profile):
        record = json.loads((spec.path / "training.json").read_text())
        assert record["texts"] == RECIPES[spec.path.name].texts if "texts" in record else record["scenes"]
        assert (spec.path / "card.md").read_text() == card(spec.path), "run `planarena lilliput cards`"
        assert all(f"- {name}: {figure}" in card(spec.path) for name, figure in record["quality"])
    folder = tmp_path / "captioning"
    shutil.copytree(profile.experts["Image Captioning"].path, folder)
    record_quality(folder=folder, quality={"captions that are exactly right, 2 scenes": "50.0%"})
    assert card(folder).endswith("\n- captions that are exactly right, 2 scenes: 50.0%\n")
    record = json.loads((folder / "training.json").read_text())
    del record["quality"]
    (folder / "training.json").write_text(json.dumps(record))
    assert "not measured since the training" in card(folder)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("batch_size = 32", "batch_size = 8"),
        ("batch_size = 32", "batch_size = 32\nbatch_sizes = { 80 = 64 }"),
        ('id = "lilliput/denoising"', 'id = "lilliput/denoising-2"'),
        ("num_layers = 3", "num_layers = 1"),
        ('weights = "deblurring"', 'weights = "denoising"'),
    ],
)
def test_whatever_changes_results_changes_the_digest(copied, old, new):
    change(copied, old=old, new=new)
    assert load_profile("lilliput", folder=copied).digest != load_profile("lilliput").digest


def test_altered_and_missing_weights_are_refused(copied, tmp_path):
    with pytest.raises(WeightsError, match=r"model\.safetensors"):
        weights_digest(tmp_path)
    spec = load_profile("lilliput", folder=copied).experts["Colorization"]
    path = spec.path / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(WeightsError, match="a file was altered"):
        load_expert(spec=spec)
    # Those of an expert that another one uses.
    spec = load_profile("lilliput", folder=copied).experts["image_instance_segmentation"]
    (spec.uses[0].path / "config.json").write_text("{}")
    with pytest.raises(WeightsError, match="tableau-detection are not those of the profile"):
        load_expert(spec=spec)
    lock = copied / "weights" / "lock.json"
    lock.write_text(json.dumps(json.loads(lock.read_text()) | {"denoising": "0" * 64}))
    assert load_profile("lilliput", folder=copied).digest != load_profile("lilliput").digest


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("batch_size = 32", "batchsize = 32", "unknown settings: batchsize"),
        ("batch_size = 32", "batch_size = 32\nbatch_sizes = { 80 = 0 }", "whole GB, such as { 24 = 32 }, not 80 = 0"),
        ("batch_size = 32", "batch_size = 32\nbatch_sizes = { large = 8 }", "not large = 8"),
        ('implementation = "swin2sr"', 'implementation = "magic"', "no expert implementation 'magic'"),
        ('weights = "colorization"', 'weights = "nowhere"', "nowhere"),
        ("[scorers.BERT]", "[scorers.BLEU]", "no scorer 'BLEU'"),
    ],
)
def test_a_wrong_entry_is_explained(copied, old, new, words):
    change(copied, old=old, new=new)
    with pytest.raises(ProfileError, match=words):
        load_profile("lilliput", folder=copied)


def test_an_expert_that_uses_another_depends_on_everything_that_one_depends_on(copied):
    before = load_profile("lilliput", folder=copied)
    change(copied, old="size = 64, threshold = 0.5", new="size = 64, threshold = 0.55")
    after = load_profile("lilliput", folder=copied)
    tool = "image_instance_segmentation"
    assert before.digest != after.digest
    assert before.experts[tool].facts() != after.experts[tool].facts()
    assert before.experts[tool].uses == (before.experts["object_detection"],)
    keys = {
        step_key(spec=profile.experts[tool], inputs={}, batch_size=1, device={"kind": "cpu"})
        for profile in (before, after)
    }
    assert len(keys) == 2


@pytest.mark.parametrize(
    ("used", "fault"),
    [("zebra_detection", "is none of the profile's"), ("image_instance_segmentation", "runs others itself")],
)
def test_only_an_expert_of_the_profile_that_uses_no_other_can_be_used(copied, used, fault):
    change(copied, old='uses = ["object_detection"]', new=f'uses = ["{used}"]')
    with pytest.raises(ProfileError, match=f'uses "{used}", which {fault}'):
        load_profile("lilliput", folder=copied)


def test_what_depends_on_the_batch_is_declared_and_part_of_the_digest_but_not_of_keys_elsewhere(copied):
    before = load_profile("lilliput", folder=copied)
    name, line = "Text to Image Generation", 'implementation = "stable-diffusion"\n'
    assert name in before.experts
    change(copied, old=line, new=line + 'alone = ["cuda"]\n')
    declared = load_profile("lilliput", folder=copied)
    assert declared.digest != before.digest
    assert declared.experts[name].facts() == before.experts[name].facts()
    assert declared.experts[name].on("cuda:0").batch_size == 1
    change(copied, old='alone = ["cuda"]\n', new="tolerance = 0.1\n")
    tolerant = load_profile("lilliput", folder=copied)
    assert (tolerant.digest, tolerant.experts[name].tolerance) == (before.digest, 0.1)
    change(copied, old="tolerance = 0.1", new="tolerance = 2")
    with pytest.raises(ProfileError, match=r"tolerance must be in \[0, 1\], found 2"):
        load_profile("lilliput", folder=copied)
    change(copied, old="tolerance = 2", new='alone = ["tpu"]')
    with pytest.raises(ProfileError, match="there is no device 'tpu'; there are: cpu, cuda"):
        load_profile("lilliput", folder=copied)
