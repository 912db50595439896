"""The image score against measures that know nothing of degradations, on the images that plans made.

The ViT scorer of `lilliput` was trained to tell how far an image is degraded, so that its own ranking of restored and
degraded images proves nothing. Three measures are independent of that training:

- PSNR, in dB, and SSIM (Wang et al., Image Quality Assessment, IEEE Transactions on Image Processing 13(4), 2004): no
  training at all;
- the cosine of the CLS embeddings of the expert for image classification, which was trained on the classes of clean
  images only.

They are asked two things: in which order they put gold plans and changed ones, and how far their orderings of all
images agree with the image score's (Spearman's rank correlation).
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image as PillowImage
from torchmetrics.functional.image import peak_signal_noise_ratio, structural_similarity_index_measure

from evaluator.core.records import ArtefactReference, ResultRecord
from evaluator.core.values import Image, Value
from evaluator.execution.experts.profile import Profile, ScorerSpec
from evaluator.planners.ablations import Kind
from evaluator.scoring.metrics.scorers.vit import ViTScore
from evaluator.studies.validity.variants import ORDER

CLASSIFIER = "Image Classification"
PSNR, SSIM, CLASSES = "PSNR (dB)", "SSIM", "classifier's features"
_LARGEST_PSNR = 60.0
"""dB; of images that differ by less, equal ones among them."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How a measure orders the images that the image score ordered."""

    measure: str
    correlation: float
    """Spearman's rank correlation with the image score over all images."""
    within: float
    """Mean of that correlation over the scenes, among the images of each: how images differ by what was done to them,
    and not by what they show."""
    means: Mapping[str, float]
    """By kind of plan, over the tasks that have all kinds."""

    @property
    def ranks_gold_first(self) -> bool:
        """Whether gold plans have the highest mean."""
        return max(self.means, key=lambda kind: self.means[kind]) == Kind.GOLD.value


@dataclass(frozen=True, slots=True)
class ImageReport:
    """Everything that was asked of the images."""

    images: int
    scenes: int
    measures: tuple[Agreement, ...]


@dataclass(slots=True)
class Images:
    """The answers of plans of restoration, collected as they are scored."""

    value: Callable[[ArtefactReference], Value]
    """Reads an artefact."""
    rows: list[tuple[str, Kind, int, float, str]] = field(default_factory=list)
    """Task, kind of plan, scene, image score, and the key of the pair."""
    pairs: dict[str, tuple[Image, Image]] = field(default_factory=dict)
    """Answer and reference by key: several plans may make the same image."""

    def add(self, record: ResultRecord, kind: Kind) -> None:
        """Keep the scored answers of a task whose metric is the image score."""
        if record.metric != "ViT":
            return
        for sample in record.samples:
            if sample.score is None or sample.answer is None or sample.reference is None:
                continue
            key = f"{sample.answer.digest} {sample.reference.digest}"
            if key not in self.pairs:
                answer, reference = self.value(sample.answer), self.value(sample.reference)
                if not isinstance(answer, PillowImage.Image) or not isinstance(reference, PillowImage.Image):
                    continue
                self.pairs[key] = answer, reference
            self.rows.append((record.task, kind, sample.index, sample.score, key))


def measure_images(*, images: Images, profile: Profile) -> ImageReport | None:
    """Compare the image score with the independent measures.

    Args:
        images: of the variants of gold plans, with their scores.
        profile: whose expert for image classification is asked.

    Returns:
        None where no task has every kind of plan.
    """
    kinds = defaultdict(set)
    for task, kind, *_ in images.rows:
        kinds[task].add(kind)
    whole = {task for task, found in kinds.items() if found >= set(ORDER)}
    rows = [row for row in images.rows if row[0] in whole]
    if not rows:
        return None
    found = _values(pairs=images.pairs, profile=profile)
    # Each image counts once, however many plans made it.
    unique = list({row[4]: row for row in rows}.values())
    scenes = {row[2] for row in unique}
    return ImageReport(
        images=len(unique),
        scenes=len(scenes),
        measures=tuple(
            Agreement(
                measure=name,
                correlation=_spearman([row[3] for row in unique], [values[row[4]] for row in unique]),
                within=_within(unique, values=values),
                means=_means(rows, values=values),
            )
            for name, values in found.items()
        ),
    )


def _values(*, pairs: Mapping[str, tuple[Image, Image]], profile: Profile) -> dict[str, dict[str, float]]:
    """By measure, the value of each pair of an answer and its reference."""
    fitted = {
        key: (_fitted(answer, reference=reference), _tensor(reference)) for key, (answer, reference) in pairs.items()
    }
    found = {
        PSNR: {key: _psnr(*pair) for key, pair in fitted.items()},
        SSIM: {key: float(structural_similarity_index_measure(*pair, data_range=1.0)) for key, pair in fitted.items()},
    }
    if CLASSIFIER in profile.experts:
        path = profile.experts[CLASSIFIER].path
        classifier = ViTScore(spec=ScorerSpec("ViT", CLASSIFIER, path, "", ""))
        answers, references = zip(*pairs.values(), strict=True)
        found[CLASSES] = dict(zip(pairs, classifier.score(outputs=answers, references=references), strict=True))
    return found


def _psnr(answer: torch.Tensor, reference: torch.Tensor) -> float:
    return min(float(peak_signal_noise_ratio(answer, reference, data_range=1.0)), _LARGEST_PSNR)


def _fitted(image: Image, *, reference: Image) -> torch.Tensor:
    """An answer at the size of its reference, as the image score resizes it."""
    if image.size != reference.size:
        image = image.resize(reference.size, PillowImage.Resampling.BILINEAR)
    return _tensor(image)


def _tensor(image: Image) -> torch.Tensor:
    """Float32 in [0, 1] of shape (1, 3, height, width)."""
    pixels = np.asarray(image.convert("RGB"), dtype=np.float32) / 255
    return torch.from_numpy(pixels).permute(2, 0, 1)[None]


def _spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """NaN where all values of one are equal: they have no order."""
    ranks = _ranks(first), _ranks(second)
    if any(not np.ptp(one) for one in ranks):
        return float("nan")
    return float(np.corrcoef(*ranks)[0, 1])


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Ranks from 1; equal values share the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]


def _within(rows: Sequence[tuple[str, Kind, int, float, str]], *, values: Mapping[str, float]) -> float:
    by_scene: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for _, _, scene, score, key in rows:
        by_scene[scene].append((score, values[key]))
    found = [_spearman(*zip(*pairs, strict=True)) for pairs in by_scene.values() if len(pairs) > 2]
    return float(np.mean(found)) if found else float("nan")


def _means(rows: Sequence[tuple[str, Kind, int, float, str]], *, values: Mapping[str, float]) -> dict[str, float]:
    """By kind: the mean over tasks of the mean over plans and scenes."""
    by_task: dict[Kind, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for task, kind, _, _, key in rows:
        by_task[kind][task].append(values[key])
    return {kind.value: float(np.mean([np.mean(one) for one in by_task[kind].values()])) for kind in ORDER}
