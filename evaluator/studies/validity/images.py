"""The image score compared with measures that were not trained on degradations, on the images that plans produced.

The ViT scorer of `lilliput` was trained to measure degradation, so its own ranking of restored and degraded images
proves nothing. Three measures are independent of that training:

- PSNR, in dB, and SSIM (Wang et al., Image Quality Assessment, IEEE Transactions on Image Processing 13(4), 2004): no
  training at all;
- the cosine of the CLS embeddings of the expert for image classification, which was trained on the classes of clean
  images only.

Two questions are answered: how each ranks gold plans and changed ones, and how well its ranking of all images agrees
with that of the image score (Spearman's rank correlation).
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
"""Upper bound in dB, which equal images get."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well the ranking of a measure agrees with that of the image score."""

    measure: str
    correlation: float
    """Spearman's rank correlation with the image score over all images."""
    within: float
    """Mean correlation within the images of a scene, which differ by their treatment only and not by what they show."""
    means: Mapping[str, float]
    """Mean by kind of plan, over the tasks that have all kinds."""

    @property
    def ranks_gold_first(self) -> bool:
        """Whether gold plans have the highest mean."""
        return max(self.means, key=lambda kind: self.means[kind]) == Kind.GOLD.value


@dataclass(frozen=True, slots=True)
class ImageReport:
    """The agreement of all measures."""

    images: int
    scenes: int
    measures: tuple[Agreement, ...]


@dataclass(slots=True)
class Images:
    """The answers of restoration plans, collected as they are scored."""

    value: Callable[[ArtefactReference], Value]
    """Reads an artefact."""
    rows: list[tuple[str, Kind, int, float, str]] = field(default_factory=list)
    """Task, kind of plan, scene, image score, and the key of the pair."""
    pairs: dict[str, tuple[Image, Image]] = field(default_factory=dict)
    """Answer and reference by key: several plans may make the same image."""

    def add(self, record: ResultRecord, kind: Kind) -> None:
        """Add the scored answers of a task whose metric is the image score."""
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
        profile: its expert for image classification provides the embeddings.

    Returns:
        None if no task has every kind of plan.
    """
    kinds = defaultdict(set)
    for task, kind, *_ in images.rows:
        kinds[task].add(kind)
    complete = {task for task, present in kinds.items() if present >= set(ORDER)}
    rows = [row for row in images.rows if row[0] in complete]
    if not rows:
        return None
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
            for name, values in _values(pairs=images.pairs, profile=profile).items()
        ),
    )


def _values(*, pairs: Mapping[str, tuple[Image, Image]], profile: Profile) -> dict[str, dict[str, float]]:
    """By measure, the value of each pair of an answer and its reference."""
    values: dict[str, dict[str, float]] = {PSNR: {}, SSIM: {}}
    for key, (answer, reference) in pairs.items():
        if answer.size != reference.size:
            # As the image score does.
            answer = answer.resize(reference.size, PillowImage.Resampling.BILINEAR)
        tensors = _tensor(answer), _tensor(reference)
        values[PSNR][key] = min(float(peak_signal_noise_ratio(*tensors, data_range=1.0)), _LARGEST_PSNR)
        values[SSIM][key] = float(structural_similarity_index_measure(*tensors, data_range=1.0))
    if CLASSIFIER in profile.experts:
        path = profile.experts[CLASSIFIER].path
        classifier = ViTScore(spec=ScorerSpec("ViT", CLASSIFIER, path, "", ""))
        answers, references = zip(*pairs.values(), strict=True)
        values[CLASSES] = dict(zip(pairs, classifier.score(outputs=answers, references=references), strict=True))
    return values


def _tensor(image: Image) -> torch.Tensor:
    """Float32 in [0, 1] of shape (1, 3, height, width)."""
    pixels = np.asarray(image.convert("RGB"), dtype=np.float32) / 255
    return torch.from_numpy(pixels).permute(2, 0, 1)[None]


def _spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's rank correlation; NaN if all values on one side are equal and so have no order."""
    first_ranks, second_ranks = _ranks(first), _ranks(second)
    if not np.ptp(first_ranks) or not np.ptp(second_ranks):
        return float("nan")
    return float(np.corrcoef(first_ranks, second_ranks)[0, 1])


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Ranks from 1; equal values share their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]


def _within(rows: Sequence[tuple[str, Kind, int, float, str]], *, values: Mapping[str, float]) -> float:
    by_scene: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for _, _, scene, score, key in rows:
        by_scene[scene].append((score, values[key]))
    correlations = [_spearman(*zip(*pairs, strict=True)) for pairs in by_scene.values() if len(pairs) > 2]
    return float(np.mean(correlations)) if correlations else float("nan")


def _means(rows: Sequence[tuple[str, Kind, int, float, str]], *, values: Mapping[str, float]) -> dict[str, float]:
    """By kind, the mean over tasks of the mean over plans and scenes."""
    by_task: dict[Kind, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for task, kind, _, _, key in rows:
        by_task[kind][task].append(values[key])
    return {kind.value: float(np.mean([np.mean(scores) for scores in by_task[kind].values()])) for kind in ORDER}
