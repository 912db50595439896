import numpy as np
import pytest

from evaluator.miniature.degradations import NOISE_SIGMA, Degradation, blur, degrade, grayscale, low_resolution, noise
from evaluator.miniature.lilliput_samples import degraded_image
from evaluator.miniature.rendering import render
from evaluator.miniature.scenes import draw_scene
from evaluator.miniature.seeds import Split, generator
from evaluator.miniature.vocabulary import COLOURS, Shape


def scenes(count: int = 60):
    return [draw_scene(split=Split.VALIDATION, index=index) for index in range(count)]


def test_splits_share_no_scenes():
    drawn = {
        (split, index): draw_scene(split=split, index=index, hidden_seed="a secret" if split is Split.HIDDEN else None)
        for split in Split
        for index in range(50)
    }
    assert len(set(drawn.values())) == len(drawn)


def test_the_hidden_split_depends_on_its_secret_and_needs_one():
    one = draw_scene(split=Split.HIDDEN, index=0, hidden_seed="one")
    other = draw_scene(split=Split.HIDDEN, index=0, hidden_seed="other")
    assert one != other
    for secret in (None, ""):
        with pytest.raises(ValueError, match="needs its secret"):
            draw_scene(split=Split.HIDDEN, index=0, hidden_seed=secret)


def test_an_open_split_refuses_a_secret():
    with pytest.raises(ValueError, match="open split"):
        draw_scene(split=Split.PUBLIC, index=0, hidden_seed="secret")


def test_a_crafted_secret_cannot_reach_another_stream():
    """Secret, number and purpose in a row are the same text."""
    plain = generator(split=Split.HIDDEN, index=11, purpose="noise", hidden_seed="a").random()
    for secret, index, purpose in (("a1", 1, "noise"), ("a", 1, "1noise")):
        assert generator(split=Split.HIDDEN, index=index, purpose=purpose, hidden_seed=secret).random() != plain


def test_a_negative_index_is_refused():
    with pytest.raises(ValueError, match="starts at 0"):
        draw_scene(split=Split.TRAIN, index=-1)


def test_the_picture_shows_the_colour_of_the_main_object():
    for scene in scenes(20):
        main = scene.main
        if main.shape is Shape.RING:
            continue
        x, y = round(main.x), round(main.y)
        patch = render(scene)[y - 4 : y + 5, x - 4 : x + 5].reshape(-1, 3).astype(float).mean(axis=0)
        hue = patch / np.linalg.norm(patch)
        expected = np.asarray(COLOURS[main.colour].rgb) / np.linalg.norm(COLOURS[main.colour].rgb)
        assert hue @ expected > 0.99


@pytest.fixture
def picture():
    return render(draw_scene(split=Split.VALIDATION, index=0))


def test_grayscale_agrees_with_pillow(picture):
    from PIL import Image

    expected = np.asarray(Image.fromarray(picture).convert("L"), dtype=int)
    assert np.abs(grayscale(picture)[..., 0].astype(int) - expected).max() <= 1


def test_blur_keeps_the_mean_and_removes_detail(picture):
    blurred = blur(picture)
    assert abs(blurred.mean() - picture.mean()) < 2
    assert (
        np.abs(np.diff(blurred.astype(int), axis=1)).mean() < 0.6 * np.abs(np.diff(picture.astype(int), axis=1)).mean()
    )


def test_noise_has_the_stated_deviation():
    flat = np.full((64, 64, 3), 128, dtype=np.uint8)
    # Quantiles, because 8 bits cut the tails off.
    low, high = np.quantile(noise(flat, rng=np.random.default_rng(0)), (0.1587, 0.8413)) / 255
    assert (high - low) / 2 == pytest.approx(NOISE_SIGMA, rel=0.05)


def test_low_resolution_really_has_fewer_pixels(picture):
    small = low_resolution(picture)
    assert small.shape == (16, 16, 3)
    assert np.abs(small[3, 5] - picture[12:16, 20:24].reshape(-1, 3).mean(axis=0)).max() <= 0.5


def test_low_resolution_refuses_sizes_that_blocks_do_not_fill():
    with pytest.raises(ValueError, match="multiples of 4"):
        low_resolution(np.zeros((6, 4, 3), dtype=np.uint8))


def test_the_order_of_names_does_not_matter(picture):
    names = [d.value for d in Degradation]
    forwards, backwards = (
        degrade(picture, degradations=order, rng=lambda _: np.random.default_rng(1)) for order in (names, names[::-1])
    )
    assert np.array_equal(forwards, backwards)


def test_an_unknown_degradation_is_refused(picture):
    with pytest.raises(ValueError, match="fog"):
        degrade(picture, degradations=["fog"], rng=lambda _: np.random.default_rng(1))


def test_noise_belongs_to_the_image_not_to_the_task():
    alone, again, elsewhere = (
        np.asarray(degraded_image(split=Split.PUBLIC, index=index, degradations=names), dtype=int)
        for index, names in ((5, ["noise"]), (5, ["noise"]), (6, ["noise"]))
    )
    assert np.array_equal(alone, again)
    assert not np.array_equal(alone, elsewhere)
    clean = np.asarray(degraded_image(split=Split.PUBLIC, index=5, degradations=[]), dtype=int)
    gray = np.asarray(degraded_image(split=Split.PUBLIC, index=5, degradations=["grayscale"]), dtype=int)
    noisy_gray = np.asarray(degraded_image(split=Split.PUBLIC, index=5, degradations=["grayscale", "noise"]), dtype=int)
    # Where nothing was clipped, both tasks got the same noise.
    free = (alone > 0) & (alone < 255) & (noisy_gray > 0) & (noisy_gray < 255)
    assert np.abs((alone - clean) - (noisy_gray - gray))[free].max() <= 1
