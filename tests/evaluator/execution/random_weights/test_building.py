"""Checkpoints with random weights: released sizes, loadable by every expert and scorer, equal on every build."""

import pytest
from PIL import Image

from evaluator.execution.experts.checkpoints import Locked, read_lock, write_lock
from evaluator.execution.experts.profile import load_expert, load_profile
from evaluator.execution.experts.weights import is_unfetched
from evaluator.execution.random_weights.building import Size, parameters_of, random_profile
from evaluator.scoring.metrics.scorers.loading import load_scorer
from tests.evaluator.execution.experts.test_every_expert import as_bytes, item_of, run

FEW = ("Image Denoising", "Image Captioning", "Machine Translation", "Text Summarization", "Object Detection",
       "Visual Question Answering", "text_to_text_generation", "depth_text_to_image")  # fmt: skip
FINDINGS = {"segment_anything", "image_to_pose", "image_to_scribble"}
"""Tools whose pictures show what random weights do not find."""
LESS_THAN_RELEASED = {"vit-score", "bert-score"}
"""Scores take no head, which the profile's numbers leave out."""


def test_every_checkpoint_has_as_many_parameters_as_the_profile_says():
    wrong = {}
    for name, item in load_profile("paper").checkpoints.items():
        count = parameters_of(item)
        if count != item.values and not (name in LESS_THAN_RELEASED and 0 < count - item.values < item.values / 500):
            wrong[name] = count, item.values
    assert wrong == {}


@pytest.fixture(scope="module")
def small(tmp_path_factory, full, one_thread):
    chosen = {} if full else {"tools": FEW, "scorers": ()}
    return random_profile("paper", folder=tmp_path_factory.mktemp("weights"), size=Size.SMALL, **chosen)


def test_every_expert_loads_and_its_pictures_depend_on_its_inputs(small):
    tools = [tool for tool, spec in small.experts.items() if not is_unfetched(spec.weights_digest)]
    assert {*FEW} <= {*tools}
    same = []
    for tool in tools:
        first, second = run(load_expert(spec=small.experts[tool]), item_of(tool, seed=0), item_of(tool, seed=1))
        assert first.keys() == second.keys() != set()
        # Texts and classes of random weights may be the same for all inputs.
        if any(isinstance(value, Image.Image) for value in first.values()) and as_bytes(first) == as_bytes(second):
            same.append(tool)
    assert set(same) - FINDINGS == set()


def test_scorers_load(tmp_path):
    profile = random_profile("paper", folder=tmp_path, size=Size.SMALL, tools=(), scorers=("CLIP", "BERT", "ViT"))
    for name in profile.scorers:
        assert load_scorer(name=name, profile=profile)


def test_a_second_build_draws_equal_weights_and_an_existing_one_is_kept(tmp_path):
    built = []
    profiles = [
        random_profile(
            "paper", folder=tmp_path / name, size=Size.SMALL, tools=["Machine Translation"], scorers=(),
            report=built.append,
        )
        for name in ("one", "two", "two")
    ]  # fmt: skip
    assert built == ["machine-translation"] * 2
    assert len({profile.digest for profile in profiles}) == 1
    assert read_lock(tmp_path / "one")["machine-translation"].revision == "random-small"
    assert profiles[0].digest != load_profile("paper", weights=tmp_path / "none").digest


def test_a_folder_with_fetched_weights_is_refused(tmp_path):
    write_lock(folder=tmp_path, locked={"detection": Locked(revision="a1b2", files={}, source="facebook/detr")})
    with pytest.raises(ValueError, match="has weights of revision a1b2; random ones need a folder of their own"):
        random_profile("paper", folder=tmp_path, size=Size.SMALL, tools=["Fill Mask"], scorers=())


def test_a_profile_with_shipped_weights_is_returned_as_it_is(tmp_path):
    assert random_profile("lilliput", folder=tmp_path) == load_profile("lilliput")
    assert not list(tmp_path.iterdir())
