"""Held-out quality of the experts between pictures and words, on clean validation scenes."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from evaluator.core.expert import Expert
from evaluator.core.values import Image
from evaluator.execution.experts.detection import Detection, RTDetrExpert, overlap
from evaluator.miniature.grammar.captions import caption, main_caption
from evaluator.miniature.grammar.labels import object_names
from evaluator.miniature.grammar.questions import draw_question
from evaluator.miniature.lilliput_samples import clean_image
from evaluator.miniature.rendering import outline_box
from evaluator.miniature.scenes import SIZE, Scene, draw_scene
from evaluator.miniature.seeds import Split, generator
from evaluator.scoring.metrics.scorers.base import Scorer


def found_rightly(*, found: Sequence[Detection], scene: Scene, least: float = 0.5) -> int:
    """How many detections name and frame an object of the scene that no surer one has claimed."""
    # No two things of a scene have the same shape, so names are unique.
    left = {thing.name: outline_box(thing) for thing in scene.things}
    right = 0
    for detection in sorted(found, key=lambda detection: -detection.score):
        box = left.get(detection.name)
        x1, y1, x2, y2 = (side * SIZE for side in detection.box)
        if box is not None and overlap((x1, y1, x2, y2), box) >= least:
            right += 1
            del left[detection.name]
    return right


def detection_f1(*, found: Sequence[Sequence[Detection]], scenes: Sequence[Scene]) -> float:
    """F1 over all objects of all scenes: name and box must be right."""
    right = sum(found_rightly(found=f, scene=scene) for f, scene in zip(found, scenes, strict=True))
    return 2 * right / max(1, sum(map(len, found)) + sum(len(scene.things) for scene in scenes))


def exact_share(*, expert: Expert, images: Sequence[Image], right: Sequence[str]) -> float:
    """Share of images of which the expert says exactly what is right."""
    answers = [output["text"] for output in expert.run([{"image": image} for image in images])]
    return float(np.mean([answer == text for answer, text in zip(answers, right, strict=True)]))


def _captioning(*, expert: Expert, images: Sequence[Image], scenes: Sequence[Scene]) -> dict[str, float]:
    right = [main_caption(scene).english for scene in scenes]
    return {"captions that are exactly right": exact_share(expert=expert, images=images, right=right)}


def _detection(*, expert: Expert, images: Sequence[Image], scenes: Sequence[Scene]) -> dict[str, float]:
    assert isinstance(expert, RTDetrExpert)
    found = [expert.detect(np.asarray(image)[None])[0] for image in images]
    right = [object_names(scene).english for scene in scenes]
    return {
        "F1 at IoU 0.5": detection_f1(found=found, scenes=scenes),
        "lists that are exactly right": exact_share(expert=expert, images=images, right=right),
    }


def _questions(*, expert: Expert, images: Sequence[Image], scenes: Sequence[Scene]) -> dict[str, float]:
    rngs = (generator(split=Split.VALIDATION, index=index, purpose="visual-query") for index in range(len(scenes)))
    asked = [draw_question(scene=scene, rng=rng) for scene, rng in zip(scenes, rngs, strict=True)]
    outputs = expert.run([{"image": i, "text": q.text} for i, q in zip(images, asked, strict=True)])
    right = [output["text"] == q.answer.english for output, q in zip(outputs, asked, strict=True)]
    return {"answers that are exactly right": float(np.mean(right))}


_MEASURES: Mapping[str, tuple[str, Callable[..., dict[str, float]]]] = {
    "Image Captioning": ("captioning", _captioning),
    "Object Detection": ("object-detection", _detection),
    "Visual Question Answering": ("visual-questions", _questions),
}
"""By tool: the folder of weights and how to measure it."""


def drawing_quality(*, expert: Expert, classifier: Expert, scenes: Sequence[Scene]) -> dict[str, float]:
    """What the classifier sees in pictures drawn from the captions of scenes."""
    drawn = expert.run([{"text": caption(scene).english} for scene in scenes])
    seen = [str(output["text"]).split() for output in classifier.run(drawn)]
    pairs = list(zip(seen, (scene.main for scene in scenes), strict=True))
    return {
        "main shape is the right one to the classifier": float(np.mean([s[1] == main.shape for s, main in pairs])),
        "main colour is the right one to the classifier": float(np.mean([s[0] == main.colour for s, main in pairs])),
    }


def retrieval(*, scorer: Scorer, images: Sequence[Image], texts: Sequence[str], among: int = 32) -> dict[str, float]:
    """How often a scorer finds the right one of `among` texts for an image, and of as many images for a text."""
    image_to_text, text_to_image = [], []
    for start in range(0, len(images) - among + 1, among):
        window = slice(start, start + among)
        pairs = [(image, text) for image in images[window] for text in texts[window]]
        flat = scorer.score(outputs=[image for image, _ in pairs], references=[text for _, text in pairs])
        table = np.asarray(flat).reshape(among, among)
        right = np.asarray([[text == other for other in texts[window]] for text in texts[window]])
        image_to_text += right[np.arange(among), table.argmax(axis=1)].tolist()
        text_to_image += right[table.argmax(axis=0), np.arange(among)].tolist()
    return {
        f"right text among {among} for an image": float(np.mean(image_to_text)),
        f"right image among {among} for a text": float(np.mean(text_to_image)),
    }


def vision_quality(
    *, experts: Mapping[str, Expert], count: int, scorers: Mapping[str, Scorer] | None = None
) -> dict[str, dict[str, float]]:
    """For each model that is there, by folder of weights, its measures on the first `count` validation scenes."""
    scenes = [draw_scene(split=Split.VALIDATION, index=index) for index in range(count)]
    images = [clean_image(split=Split.VALIDATION, index=index) for index in range(count)]
    measured = {
        folder: measure(expert=experts[tool], images=images, scenes=scenes)
        for tool, (folder, measure) in _MEASURES.items()
        if tool in experts
    }
    if "Text to Image Generation" in experts:
        measured["text-to-image"] = drawing_quality(
            expert=experts["Text to Image Generation"], classifier=experts["Image Classification"], scenes=scenes
        )
    if scorers is not None and "CLIP" in scorers:
        texts = [caption(scene).english for scene in scenes]
        measured["clip-score"] = retrieval(scorer=scorers["CLIP"], images=images, texts=texts)
    return measured
