"""Visual Question Answering and Text to Image Generation, on networks as they are before training."""

import pytest
import torch
from PIL import Image

from evaluator.experts.drawing import DrawingExpert
from evaluator.experts.protocol import ExpertError, ExpertSpec
from evaluator.experts.visual_questions import VisualQuestionExpert, embedded
from evaluator.experts.weights import WeightsError, weights_digest
from evaluator.training.experts import text_to_image, visual_questions
from evaluator.values import encode

TEXTS = ("A red star is on a green background.", "", "Zebras? 東京 & füß!", "star " * 60, "a", "blue ring", "b", "c")


def spec_of(folder, *, batch_size=3, **parameters):
    return ExpertSpec(
        tool="",
        id="test/random",
        implementation="",
        path=folder,
        weights_digest=weights_digest(folder),
        batch_size=batch_size,
        parameters=parameters,
    )


@pytest.fixture(scope="module")
def question_folder(tmp_path_factory):
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("weights") / visual_questions.NAME
    visual_questions.export(visual_questions.build(), folder)
    return folder


@pytest.fixture(scope="module")
def answerer(question_folder):
    return VisualQuestionExpert(spec=spec_of(question_folder), device="cpu")


@pytest.fixture(scope="module")
def drawing_folder(tmp_path_factory):
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("weights") / text_to_image.NAME
    text_to_image.export(text_to_image.build(), folder)
    return folder


@pytest.fixture(scope="module")
def drawer(drawing_folder):
    return DrawingExpert(spec=spec_of(drawing_folder, steps=2, guidance=1.0), device="cpu")


def drawn(expert, texts, *, seeds=None):
    items = [{"text": text} for text in texts]
    results = expert.run(items) if seeds is None else expert.run_seeded(batch=items, seeds=seeds)
    return [encode(result["image"]).digest for result in results]


def test_patches_enter_as_vilt_would_put_them_in_but_always_in_the_same_order(answerer):
    pixels = torch.randn(2, 3, 64, 96, generator=torch.Generator().manual_seed(0))
    model = answerer._model
    with torch.no_grad():
        ours = embedded(model=model, pixels=pixels)
        theirs, _, (places, (_, width)) = model.vilt.embeddings.visual_embed(pixels, torch.ones(2, 64, 96), -1)
    for item in range(2):
        order = 1 + places[item, :, 0] * width + places[item, :, 1]
        assert torch.allclose(ours[item, order], theirs[item, 1:], atol=1e-6)
        assert torch.allclose(ours[item, 0], theirs[item, 0], atol=1e-6)


def test_a_question_needs_a_picture_and_a_text(answerer):
    with pytest.raises(ExpertError, match='"text" must be a text'):
        answerer.run([{"image": Image.new("RGB", (64, 64))}])
    with pytest.raises(ExpertError, match='"image" must be an image'):
        answerer.run([{"image": "star", "text": "star"}])
    with pytest.raises(ExpertError, match="same size"):
        answerer.run([{"image": Image.new("RGB", size), "text": "a"} for size in ((64, 64), (64, 128))])


def test_guidance_draws_away_from_what_has_no_text(drawing_folder, drawer):
    guided = DrawingExpert(spec=spec_of(drawing_folder, steps=2, guidance=3.0), device="cpu")
    together = drawn(guided, TEXTS[:4])
    assert drawn(guided, TEXTS[:1]) == together[:1]
    assert together != drawn(drawer, TEXTS[:4])


def test_wrong_seeds_inputs_and_settings_are_refused(drawer, drawing_folder):
    with pytest.raises(ValueError, match="as many seeds"):
        drawer.run_seeded(batch=[{"text": "a"}], seeds=[])
    with pytest.raises(ExpertError, match='"text" must be a text'):
        drawer.run([{"image": Image.new("RGB", (64, 64))}])
    with pytest.raises(ExpertError, match='"guidance"'):
        DrawingExpert(spec=spec_of(drawing_folder, guidance="strong"), device="cpu")


def test_a_pipeline_that_lacks_a_part_is_refused(drawing_folder, tmp_path):
    (tmp_path / "unet").mkdir()
    for name in ("model_index.json", "unet/diffusion_pytorch_model.safetensors"):
        (tmp_path / name).write_bytes((drawing_folder / name).read_bytes())
    with pytest.raises(WeightsError, match="no pipeline"):
        DrawingExpert(spec=spec_of(tmp_path), device="cpu")


def test_weights_in_subfolders_count(drawing_folder, tmp_path):
    for path in sorted(drawing_folder.rglob("*")):
        if path.is_file():
            target = tmp_path / path.relative_to(drawing_folder)
            target.parent.mkdir(exist_ok=True, parents=True)
            target.write_bytes(path.read_bytes())
    before = weights_digest(drawing_folder)
    assert weights_digest(tmp_path) == before
    (tmp_path / "card.md").write_text("words")
    assert weights_digest(tmp_path) == before
    (tmp_path / "scheduler" / "scheduler_config.json").write_text("{}")
    assert weights_digest(tmp_path) != before
