"""Held-out quality of each model on validation scenes, and the contribution of each restoration step."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from PIL import Image as PillowImage

from evaluator.core.expert import Expert
from evaluator.core.values import Image
from evaluator.execution.experts.colorizer import rgb_to_lab
from evaluator.execution.experts.profile import Profile, load_expert
from evaluator.miniature.degradations import Degradation
from evaluator.miniature.lilliput_samples import clean_image, degraded_image
from evaluator.miniature.scenes import draw_scene
from evaluator.miniature.seeds import Split
from evaluator.miniature.vocabulary import CLASS_LABELS, Colour, Shape
from evaluator.scoring.metrics.scorers.base import Scorer
from evaluator.scoring.metrics.scorers.loading import load_scorer
from evaluator.studies.experts.data.bank import as_tensor
from evaluator.studies.experts.quality import animation, guided_drawing, maps, seeing, sounds, texts
from evaluator.studies.experts.quality.texts import TextQuality, measure_texts
from evaluator.studies.experts.quality.vision import vision_quality
from evaluator.studies.experts.restoration import RESTORER_FOLDERS, RESTORING_ORDER

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
    """The loaded models of a profile, and the number of validation scenes."""

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
        return [value for value in values if isinstance(value, Image)]

    def restored(self, *, present: frozenset[Degradation], steps: frozenset[Degradation]) -> list[Image]:
        """Images with the degradations `present` after the restorations `steps`, in the order of gold plans."""
        images = self.degraded(present)
        for degradation in RESTORING_ORDER:
            if degradation in steps:
                images = self.apply(tool=RESTORING_TOOLS[degradation], images=images)
        return images

    def accuracy(self, images: Sequence[Image]) -> float:
        """Share of images with the right class label."""
        answers = self.experts["Image Classification"].run([{"image": image} for image in images])
        labels = [draw_scene(split=Split.VALIDATION, index=i).label for i in range(self.count)]
        right = [answer["text"] == label for answer, label in zip(answers, labels, strict=True)]
        return sum(right) / len(right)

    def vit_score(self, images: Sequence[Image]) -> float:
        """Mean ViT score against the clean images."""
        return float(np.mean(self.scorers["ViT"].score(outputs=list(images), references=list(self.clean()))))


def restoration_quality(bench: Workbench) -> dict[str, tuple[float, float]]:
    """The figure of each restoration expert before and after, on a single degradation.

    PSNR in dB (low resolution first enlarged bicubically); for colorization the chroma error.
    """
    clean = bench.clean()
    table = {}
    for degradation in RESTORING_ORDER:
        before = bench.degraded(frozenset({degradation}))
        after = bench.apply(tool=RESTORING_TOOLS[degradation], images=before)
        if degradation is Degradation.LOW_RESOLUTION:
            before = [image.resize((64, 64), PillowImage.Resampling.BICUBIC) for image in before]
        measure = chroma_error if degradation is Degradation.GRAYSCALE else psnr
        first, second = (
            float(np.mean([measure(image=i, reference=r) for i, r in zip(images, clean, strict=True)]))
            for images in (before, after)
        )
        table[RESTORER_FOLDERS[degradation]] = first, second
    return table


def ablation(*, bench: Workbench, present: frozenset[Degradation]) -> dict[str, tuple[float, float]]:
    """ViT score and classification accuracy after the gold plan, without one of its steps, and without all."""
    plans = {"gold": present}
    if len(present) > 1:
        plans |= {f"without {RESTORING_TOOLS[d]}": present - {d} for d in RESTORING_ORDER if d in present}
    plans |= {"nothing": frozenset()}
    rows = {}
    for name, steps in plans.items():
        images = bench.restored(present=present, steps=steps)
        rows[name] = bench.vit_score(images), bench.accuracy(images)
    return rows


def label_margin(bench: Workbench) -> dict[str, float]:
    """Mean BERT score of all labels against those of another colour, of another shape, and of both."""
    colours, shapes = list(Colour), list(Shape)
    next_colour = dict(zip(colours, colours[1:] + colours[:1], strict=True))
    next_shape = dict(zip(shapes, shapes[1:] + shapes[:1], strict=True))
    labels = [(colour, shape) for colour in colours for shape in shapes]
    wrong = {
        "another colour": [f"{next_colour[colour]} {shape}" for colour, shape in labels],
        "another shape": [f"{colour} {next_shape[shape]}" for colour, shape in labels],
        "another colour and shape": [f"{next_colour[colour]} {next_shape[shape]}" for colour, shape in labels],
    }
    scorer = bench.scorers["BERT"]
    return {name: float(np.mean(scorer.score(outputs=texts, references=CLASS_LABELS))) for name, texts in wrong.items()}


@dataclass(frozen=True, slots=True)
class Quality:
    """All held-out figures of a set of weights."""

    scenes: int
    restoration: Mapping[str, tuple[float, float]]
    accuracy: float
    """Accuracy of classification on clean images."""
    ablations: Mapping[str, Mapping[str, tuple[float, float]]]
    """By the degradations present, then by plan: ViT score and accuracy."""
    labels: Mapping[str, float]
    vision: Mapping[str, Mapping[str, float]]
    """Figures of the other models of pictures and sounds: by folder of weights, then by measure."""
    texts: TextQuality

    def lines(self) -> Iterator[str]:
        """The report as text."""
        yield f"{self.scenes} validation scenes"
        for name, (before, after) in self.restoration.items():
            yield f"{name}: {_unit(name).format(before)} before, {_unit(name).format(after)} after"
        yield f"classification: {self.accuracy:.1%} of clean images"
        for model, measures in self.vision.items():
            yield from (f"{model}: {name}: {figure:.1%}" for name, figure in measures.items())
        yield from self.texts.lines()
        for name, score in self.labels.items():
            yield f"BERT score of a label with {name}: {score:.3f}"
        for present, rows in self.ablations.items():
            yield f"{present}: plan, ViT score, accuracy"
            for plan, (score, accuracy) in rows.items():
                yield f"    {plan:32s} {score:.4f}  {accuracy:.3f}"

    def of(self, model: str) -> dict[str, str]:
        """The figures for the card of a model."""
        if model in self.restoration:
            before, after = (_unit(model).format(value) for value in self.restoration[model])
            return {f"one degradation alone, {self.scenes} scenes": f"{after} after, {before} before"}
        if model in self.texts.tables:
            return self.texts.of(model)
        if model == "classification":
            figures = {f"accuracy on {self.scenes} clean images": f"{self.accuracy:.1%}"}
            return figures | {f"accuracy, {p}, untreated": f"{r['nothing'][1]:.1%}" for p, r in self.ablations.items()}
        if model in self.vision:
            of = "sounds" if model in sounds.MEASURES else "scenes"
            return {f"{name}, {self.scenes} {of}": f"{v:.1%}" for name, v in self.vision[model].items()}
        if model == "vit-score":
            return {
                f"mean score, {present}": f"{rows['gold'][0]:.3f} restored, {rows['nothing'][0]:.3f} untreated"
                for present, rows in self.ablations.items()
            }
        return {f"mean score of a label with {name}": f"{score:.3f}" for name, score in self.labels.items()}


_FURTHER = {**seeing.MEASURES, **maps.MEASURES, **guided_drawing.MEASURES, **texts.MEASURES}


def _unit(model: str) -> str:
    return "{:.2f} mean chroma error (CIE Lab)" if model == "colorization" else "{:.2f} dB PSNR"


def measure_quality(*, profile: Profile, count: int) -> Quality:
    """Measure everything on the first `count` validation scenes."""
    bench = Workbench.of(profile=profile, count=count)
    states = [frozenset({d}) for d in RESTORING_ORDER] + [ALL]
    vision = vision_quality(experts=bench.experts, count=count, scorers=bench.scorers)
    further = dict(_FURTHER)
    for module in (sounds, animation):
        further |= module.MEASURES if bench.experts.keys() >= module.TOOLS else {}
    for folder, measure in further.items():
        # Some experts of tableaux use weights that are measured already.
        vision[folder] = vision.get(folder, {}) | measure(bench.experts, count)
    return Quality(
        scenes=count,
        restoration=restoration_quality(bench),
        accuracy=bench.accuracy(bench.clean()),
        ablations={
            " + ".join(d for d in RESTORING_ORDER if d in present): ablation(bench=bench, present=present)
            for present in states
        },
        labels=label_margin(bench),
        vision=vision,
        texts=measure_texts(experts=bench.experts, count=count),
    )
