"""Held-out quality: what each model is worth on validation scenes, and what each restoration step is worth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from PIL import Image as PillowImage

from evaluator.experts.colorizer import rgb_to_lab
from evaluator.experts.profile import Profile, load_expert
from evaluator.experts.protocol import Expert
from evaluator.lilliput.degradations import Degradation
from evaluator.lilliput.openagi_samples import clean_image, degraded_image
from evaluator.lilliput.scenes import draw_scene
from evaluator.lilliput.seeds import Split
from evaluator.lilliput.training.recipes import RESTORER_FOLDERS
from evaluator.lilliput.training.restoration import as_tensor
from evaluator.lilliput.training.states import RESTORING_ORDER
from evaluator.metrics.similarity import Scorer, load_scorer
from evaluator.values import Image

RESTORING_TOOLS: Mapping[Degradation, str] = {
    Degradation.LOW_RESOLUTION: "Image Super Resolution",
    Degradation.NOISE: "Image Denoising",
    Degradation.BLUR: "Image Deblurring",
    Degradation.GRAYSCALE: "Colorization",
}
"""The tool that removes each degradation, in the order of gold plans."""

ALL = frozenset(Degradation)


def psnr(*, image: Image, reference: Image) -> float:
    """Peak signal-to-noise ratio in dB over all channels; both of one size."""
    error = np.asarray(image, dtype=np.float64) - np.asarray(reference, dtype=np.float64)
    return float(10 * np.log10(255**2 / max(float(np.mean(error**2)), 1e-6)))


def chroma_error(*, image: Image, reference: Image) -> float:
    """Mean distance in the ab plane of CIE Lab."""
    first, second = (rgb_to_lab(as_tensor(np.asarray(i)[None]))[0, 1:] for i in (image, reference))
    return float(torch.linalg.vector_norm(first - second, dim=0).mean())


@dataclass(frozen=True, slots=True)
class Workbench:
    """The loaded models of a profile and a number of validation scenes."""

    experts: Mapping[str, Expert]
    scorers: Mapping[str, Scorer]
    count: int

    @classmethod
    def of(cls, *, profile: Profile, count: int) -> "Workbench":
        return cls(
            experts={tool: load_expert(spec=spec) for tool, spec in profile.experts.items()},
            scorers={name: load_scorer(name=name, profile=profile) for name in profile.scorers},
            count=count,
        )

    def clean(self) -> list[Image]:
        return [clean_image(split=Split.VALIDATION, index=i) for i in range(self.count)]

    def degraded(self, degradations: frozenset[Degradation]) -> list[Image]:
        return [degraded_image(split=Split.VALIDATION, index=i, degradations=degradations) for i in range(self.count)]

    def apply(self, *, tool: str, images: Sequence[Image]) -> list[Image]:
        values = [result["image"] for result in self.experts[tool].run([{"image": image} for image in images])]
        return [value for value in values if not isinstance(value, str)]

    def restored(self, *, present: frozenset[Degradation], steps: frozenset[Degradation]) -> list[Image]:
        """Images with the degradations `present` after the restorations `steps`, in the order of gold plans."""
        images = self.degraded(present)
        for degradation in RESTORING_ORDER:
            if degradation in steps:
                images = self.apply(tool=RESTORING_TOOLS[degradation], images=images)
        return images

    def accuracy(self, images: Sequence[Image]) -> float:
        """Share of images whose class label is right."""
        answers = self.experts["Image Classification"].run([{"image": image} for image in images])
        labels = [draw_scene(split=Split.VALIDATION, index=i).label for i in range(self.count)]
        right = [answer["text"] == label for answer, label in zip(answers, labels, strict=True)]
        return sum(right) / len(right)

    def vit_score(self, images: Sequence[Image]) -> float:
        """Mean ViT score against the clean images."""
        return float(np.mean(self.scorers["ViT"].score(outputs=list(images), references=list(self.clean()))))


def restoration_quality(bench: Workbench) -> dict[str, dict[str, float]]:
    """For each restoration expert: its measure before and after, with one degradation alone."""
    clean = bench.clean()
    table = {}
    for degradation in RESTORING_ORDER:
        before = bench.degraded(frozenset({degradation}))
        after = bench.apply(tool=RESTORING_TOOLS[degradation], images=before)
        if degradation is Degradation.LOW_RESOLUTION:
            before = [image.resize((64, 64), PillowImage.Resampling.BICUBIC) for image in before]
        measure, unit = (chroma_error, "ab") if degradation is Degradation.GRAYSCALE else (psnr, "dB")
        table[RESTORER_FOLDERS[degradation]] = {
            f"{name}, {unit}": float(
                np.mean([measure(image=i, reference=r) for i, r in zip(images, clean, strict=True)])
            )
            for name, images in (("before", before), ("after", after))
        }
    return table


def ablation(*, bench: Workbench, present: frozenset[Degradation]) -> dict[str, tuple[float, float]]:
    """ViT score and classification accuracy after the gold plan, after leaving out one step, and after nothing."""
    plans = {"gold": present}
    plans |= {f"without {RESTORING_TOOLS[d]}": present - {d} for d in RESTORING_ORDER if d in present}
    plans |= {"nothing": frozenset()}
    rows = {}
    for name, steps in plans.items():
        images = bench.restored(present=present, steps=steps)
        rows[name] = bench.vit_score(images), bench.accuracy(images)
    return rows


def quality_report(*, profile: Profile, count: int) -> str:
    """All tables as text."""
    bench = Workbench.of(profile=profile, count=count)
    lines = [f"{count} validation scenes"]
    for name, row in restoration_quality(bench).items():
        lines.append(f"{name}: " + "; ".join(f"{key} {value:.2f}" for key, value in row.items()))
    lines.append(f"classification on clean images: {bench.accuracy(bench.clean()):.3f}")
    for present in [frozenset({d}) for d in RESTORING_ORDER] + [ALL]:
        lines.append(f"degraded by {', '.join(d for d in RESTORING_ORDER if d in present)}: ViT score, accuracy")
        rows = ablation(bench=bench, present=present)
        lines += [f"    {name:32s} {score:.4f}  {accuracy:.3f}" for name, (score, accuracy) in rows.items()]
    return "\n".join(lines)
