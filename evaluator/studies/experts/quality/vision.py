"""Held-out quality of captioning, detection, visual questions and drawing, on clean validation scenes."""

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


def correct_detections(*, detections: Sequence[Detection], scene: Scene) -> int:
    """Number of detections that match the name and box of an object, most confident first; each object counts once."""
    # No two things of a scene have the same shape, so names are unique.
    left = {thing.name: outline_box(thing) for thing in scene.things}
    correct = 0
    for detection in sorted(detections, key=lambda detection: -detection.score):
        box = left.get(detection.name)
        x1, y1, x2, y2 = (side * SIZE for side in detection.box)
        if box is not None and overlap((x1, y1, x2, y2), box) >= 0.5:
            correct += 1
            del left[detection.name]
    return correct


def detection_f1(*, detections: Sequence[Sequence[Detection]], scenes: Sequence[Scene]) -> float:
    """F1 over all objects of all scenes: name and box must match."""
    correct = sum(correct_detections(detections=d, scene=scene) for d, scene in zip(detections, scenes, strict=True))
    return 2 * correct / max(1, sum(map(len, detections)) + sum(len(scene.things) for scene in scenes))


def exact_share(*, expert: Expert, images: Sequence[Image], references: Sequence[str]) -> float:
    """Share of images for which the output of the expert equals the reference."""
    outputs = [output["text"] for output in expert.run([{"image": image} for image in images])]
    return float(np.mean([output == reference for output, reference in zip(outputs, references, strict=True)]))


def _captioning(*, expert: Expert, images: Sequence[Image], scenes: Sequence[Scene]) -> dict[str, float]:
    captions = [main_caption(scene).english for scene in scenes]
    return {"captions that are exactly right": exact_share(expert=expert, images=images, references=captions)}


def _detection(*, expert: Expert, images: Sequence[Image], scenes: Sequence[Scene]) -> dict[str, float]:
    assert isinstance(expert, RTDetrExpert)
    detections = [expert.detect(np.asarray(image)[None])[0] for image in images]
    lists = [object_names(scene).english for scene in scenes]
    return {
        "F1 at IoU 0.5": detection_f1(detections=detections, scenes=scenes),
        "lists that are exactly right": exact_share(expert=expert, images=images, references=lists),
    }


def _questions(*, expert: Expert, images: Sequence[Image], scenes: Sequence[Scene]) -> dict[str, float]:
    rngs = (generator(split=Split.VALIDATION, index=index, purpose="visual-query") for index in range(len(scenes)))
    questions = [draw_question(scene=scene, rng=rng) for scene, rng in zip(scenes, rngs, strict=True)]
    outputs = expert.run([{"image": i, "text": q.text} for i, q in zip(images, questions, strict=True)])
    right = [output["text"] == q.answer.english for output, q in zip(outputs, questions, strict=True)]
    return {"answers that are exactly right": float(np.mean(right))}


_MEASURES: Mapping[str, tuple[str, Callable[..., dict[str, float]]]] = {
    "Image Captioning": ("captioning", _captioning),
    "Object Detection": ("object-detection", _detection),
    "Visual Question Answering": ("visual-questions", _questions),
}
"""By tool: the folder of weights and its measurement."""


def drawing_quality(*, expert: Expert, classifier: Expert, scenes: Sequence[Scene]) -> dict[str, float]:
    """Accuracy of the classifier on pictures drawn from the captions of scenes."""
    drawn = expert.run([{"text": caption(scene).english} for scene in scenes])
    seen = [str(output["text"]).split() for output in classifier.run(drawn)]
    pairs = list(zip(seen, (scene.main for scene in scenes), strict=True))
    return {
        "main shape is the right one to the classifier": float(np.mean([s[1] == main.shape for s, main in pairs])),
        "main colour is the right one to the classifier": float(np.mean([s[0] == main.colour for s, main in pairs])),
    }


def retrieval(*, scorer: Scorer, images: Sequence[Image], texts: Sequence[str], among: int = 32) -> dict[str, float]:
    """How often a scorer ranks the right one of `among` texts first for an image, and of as many images for a text."""
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
    """The figures of each model present on the first `count` validation scenes, by folder of weights."""
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
