"""Changing pictures as instructions say, on networks as they are before training."""

import shutil
from pathlib import Path

import pytest
from PIL import Image

import evaluator.world
from evaluator.experts.picture_editing import PictureEditingExpert
from evaluator.experts.profile import load_expert, load_profile
from evaluator.experts.protocol import ExpertError, ExpertSpec
from evaluator.experts.weights import WeightsError, weights_digest
from evaluator.training.experts.quality.guided_drawing import editing_quality
from evaluator.training.experts.tableaux import picture_editing

WEIGHTS = Path(evaluator.world.__file__).parent / "weights"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    weights = tmp_path_factory.mktemp("weights")
    shutil.copytree(WEIGHTS / "text-to-image", weights / "text-to-image")
    model = picture_editing.build()
    picture_editing.begin(model, {"weights": weights})
    picture_editing.export(model, weights / picture_editing.NAME)
    return weights / picture_editing.NAME


def load(folder, **parameters):
    spec = ExpertSpec(
        tool="",
        id="test/editing",
        implementation="",
        path=folder,
        weights_digest=weights_digest(folder),
        batch_size=3,
        parameters={"steps": 2, "guidance": 2.0, "image_guidance": 1.2, **parameters},
    )
    return PictureEditingExpert(spec=spec, device="cpu")


@pytest.fixture(scope="module")
def editor(folder):
    return load(folder)


def test_wrong_inputs_and_settings_are_refused(editor, folder):
    with pytest.raises(ExpertError, match='"image" must be an image'):
        editor.run([{"text": "Remove the star."}])
    with pytest.raises(ExpertError, match='"text" must be a text'):
        editor.run([{"image": Image.new("RGB", (64, 64))}])
    with pytest.raises(ExpertError, match='"image_guidance"'):
        load(folder, image_guidance="strong")


def test_the_middle_of_the_network_is_not_stored_twice(folder):
    size = (folder / "unet" / "model.safetensors").stat().st_size
    assert size < 0.8 * (WEIGHTS / "text-to-image/unet/diffusion_pytorch_model.safetensors").stat().st_size


def test_a_folder_that_lacks_a_network_is_refused(folder, tmp_path):
    shutil.copytree(folder.parent / "text-to-image", tmp_path / "text-to-image")
    shutil.copytree(folder, tmp_path / folder.name)
    (tmp_path / folder.name / "text_encoder" / "model.safetensors").unlink()
    with pytest.raises(WeightsError, match="text_encoder"):
        load(tmp_path / folder.name)


@pytest.mark.full
def test_the_shipped_editor_follows_instructions_and_leaves_the_rest_alone():
    spec = load_profile("lilliput").experts["text_image_editing"]
    found = editing_quality({"text_image_editing": load_expert(spec=spec)}, 32)
    assert len(found) == 5
    kept = found.pop("other pixels that stay as they were")
    assert kept >= 0.8
    # Removal is the hardest: 0.86 on 128 tableaux.
    assert min(found.values()) >= 0.7
    assert sum(found.values()) / len(found) >= 0.85
