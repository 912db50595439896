"""The image score against independent measures, on images whose order is known."""

import numpy as np
import pytest
from PIL import Image

from evaluator.cli.validity import is_valid
from evaluator.core.records import Outcome, ResultRecord, SampleResult
from evaluator.core.values import decode, encode
from evaluator.execution.engine.store import MemoryStore
from evaluator.execution.experts.profile import Profile, load_profile
from evaluator.miniature.lilliput_samples import clean_image, degraded_image
from evaluator.miniature.seeds import Split
from evaluator.planners.ablations import Kind
from evaluator.studies.validity.variants import ValidityReport

NOTHING_TRAINED = Profile(name="none", digest="", experts={}, scorers={})
SETS = {
    Kind.GOLD: (),
    Kind.SHUFFLED: ("low_resolution",),
    Kind.DROPPED: ("low_resolution", "blur"),
    Kind.NOTHING: ("low_resolution", "blur", "noise", "grayscale"),
}
"""Stand for what plans leave of an image; the more, the worse."""
NO_PLANS = ValidityReport(samples=1, ranking={}, steps={}, metrics=())


class Kept:
    """Artefacts in a store in memory."""

    def __init__(self):
        from evaluator.studies.validity.images import Images

        self.store = MemoryStore()
        self.images = Images(value=lambda reference: decode(self.store.get(reference.digest)))

    def reference(self, image):
        artefact = encode(image)
        self.store.put(artefact)
        from evaluator.core.records import ArtefactReference

        return ArtefactReference(digest=artefact.digest, media_type=artefact.media_type)

    def add(self, *, kind, score, scenes=3, task="0", metric="ViT"):
        samples = []
        for index in range(scenes):
            answer = degraded_image(split=Split.PUBLIC, index=index, degradations=SETS[kind])
            samples.append(
                SampleResult(
                    index=index, score=score(index), inputs={}, steps=[], answer=self.reference(answer),
                    reference=self.reference(clean_image(split=Split.PUBLIC, index=index)),
                )
            )  # fmt: skip
        record = ResultRecord(
            suite="x", task=task, request="", metric=metric, outcome=Outcome.SCORED, score=0.5, samples=samples
        )
        self.images.add(record, kind)


def measured(kept, *, profile=NOTHING_TRAINED):
    """Imported here, for it loads PyTorch."""
    from evaluator.studies.validity.images import measure_images

    return measure_images(images=kept.images, profile=profile)


def found(worth, *, profile=NOTHING_TRAINED):
    kept = Kept()
    for kind in SETS:
        kept.add(kind=kind, score=lambda index, kind=kind: worth[kind] + index * 1e-3)
    return measured(kept, profile=profile)


RIGHT = {Kind.GOLD: 0.9, Kind.SHUFFLED: 0.8, Kind.DROPPED: 0.4, Kind.NOTHING: 0.1}


def test_a_score_that_orders_images_as_they_are_degraded_agrees_with_every_measure():
    from evaluator.studies.validity.images import CLASSES, PSNR, SSIM

    report = found(RIGHT, profile=load_profile("lilliput"))
    assert (report.images, report.scenes) == (12, 3)
    assert [one.measure for one in report.measures] == [PSNR, SSIM, CLASSES]
    for one in report.measures:
        assert one.within > 0.9
        assert one.correlation > 0.7
        assert one.ranks_gold_first
    assert is_valid(report=NO_PLANS, images=report)


def test_measures_that_rank_something_else_first_make_the_scores_invalid():
    kept = Kept()
    order = list(SETS.values())
    try:
        for kind, degradations in zip(list(SETS), reversed(order), strict=True):
            SETS[kind] = degradations
            kept.add(kind=kind, score=lambda _: 0.5)
    finally:
        SETS.update(zip(list(SETS), order, strict=True))
    report = measured(kept)
    assert not report.measures[0].ranks_gold_first
    assert not is_valid(report=NO_PLANS, images=report)


def test_only_image_scores_and_tasks_with_every_kind_of_plan_count():
    kept = Kept()
    for kind in SETS:
        kept.add(kind=kind, score=lambda _: 0.5, task="text", metric="BERT")
    kept.add(kind=Kind.GOLD, score=lambda _: 0.5, task="only gold")
    assert measured(kept) is None


def test_psnr_and_ssim_are_those_of_their_definitions():
    from scipy.ndimage import gaussian_filter

    from evaluator.studies.validity.images import PSNR, SSIM, _values

    rng = np.random.default_rng(5)
    first, other = (rng.integers(0, 256, (64, 64, 3), dtype=np.uint8) for _ in range(2))
    smooth = np.clip(gaussian_filter(first.astype(float), (2, 2, 0)) + other * 0.05, 0, 255).astype(np.uint8)
    pairs = {"noise": (Image.fromarray(other), Image.fromarray(first)),
             "smooth": (Image.fromarray(smooth), Image.fromarray(first)),
             "same": (Image.fromarray(first), Image.fromarray(first))}  # fmt: skip
    values = _values(pairs=pairs, profile=NOTHING_TRAINED)
    for key, image in (("noise", other), ("smooth", smooth)):
        error = np.mean((image.astype(float) - first) ** 2)
        assert values[PSNR][key] == pytest.approx(10 * np.log10(255**2 / error), rel=1e-4)
        assert values[SSIM][key] == pytest.approx(ssim(image / 255, first / 255), abs=0.02)
    assert values[PSNR]["same"] == 60.0
    assert values[SSIM]["same"] == pytest.approx(1, abs=1e-4)


def ssim(first, other):
    """Equation 13 of Wang et al., a Gaussian window of 1.5 pixels, mean over pixels and channels."""
    from scipy.ndimage import gaussian_filter

    def mean(values):
        return gaussian_filter(values, (1.5, 1.5, 0), truncate=3.5)

    a, b = mean(first), mean(other)
    variances = mean(first * first) - a * a, mean(other * other) - b * b
    both = mean(first * other) - a * b
    return np.mean(
        (2 * a * b + 0.01**2) * (2 * both + 0.03**2) / ((a * a + b * b + 0.01**2) * (sum(variances) + 0.03**2))
    )


def test_rank_correlation_averages_ties():
    from scipy import stats

    from evaluator.studies.validity.images import _spearman

    first, other = [1.0, 2.0, 2.0, 4.0], [1.0, 3.0, 2.0, 4.0]
    wanted = stats.pearsonr(stats.rankdata(first), stats.rankdata(other)).statistic
    assert _spearman(first, other) == pytest.approx(wanted)
