"""Held-out quality of the experts for maps and for clips, on the validation split."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt
from PIL import Image as PillowImage

from evaluator.core.expert import Expert
from evaluator.core.values import Clip, Labels
from evaluator.miniature.pictures.maps import outlines
from evaluator.miniature.pictures.skeleton import Point, read_skeleton
from evaluator.miniature.seeds import Split
from evaluator.miniature.tableaux.captions import clip_caption
from evaluator.miniature.tableaux.clips import ClipRecord
from evaluator.miniature.tableaux.records import Figure, Joint
from evaluator.studies.experts.tableaux.data import Batch, clips_at, tableaux_at

Experts = Mapping[str, Expert]
Pixels = npt.NDArray[np.uint8]


def _on_clips(*, expert: Expert, count: int, output: str) -> list[tuple[object, ClipRecord]]:
    """An output for each of the first validation clips, with the clip."""
    batch = clips_at(split=Split.VALIDATION, indices=np.arange(count))
    results = expert.run([{"video": Clip(frames)} for frames in batch.frames])
    return [(result[output], clip) for result, clip in zip(results, batch.clips, strict=True)]


def _on_tableaux(*, expert: Expert, count: int, output: str) -> tuple[list[Pixels], Batch]:
    """A map (8-bit RGB) for each of the first validation tableaux, and the tableaux."""
    batch = tableaux_at(split=Split.VALIDATION, indices=np.arange(count))
    results = expert.run([{"image": PillowImage.fromarray(picture)} for picture in batch.pixels])
    return [np.asarray(result[output]) for result in results], batch


def motion_quality(experts: Experts, count: int) -> dict[str, float]:
    """How often the most confident label is the motion."""
    pairs = _on_clips(expert=experts["video_classification"], count=count, output="category")
    right = [isinstance(labels, Labels) and labels.items[0].name == clip.motion for labels, clip in pairs]
    return {"motions that are right": float(np.mean(right))}


def clip_caption_quality(experts: Experts, count: int) -> dict[str, float]:
    """How often the caption equals the grammar's."""
    pairs = _on_clips(expert=experts["video_captioning"], count=count, output="caption")
    return {"captions that are exactly right": float(np.mean([text == clip_caption(clip) for text, clip in pairs]))}


def depth_quality(experts: Experts, count: int) -> dict[str, float]:
    """Share of pairs of parts of a tableau in the right order, and errors of nearness in [0, 1]."""
    maps, batch = _on_tableaux(expert=experts["image_to_depth"], count=count, output="depth")
    predicted = np.stack(maps)[..., 0].astype(np.float64) / 255
    right = [
        order
        for nearness, owner, tableau in zip(predicted, batch.owner, batch.tableaux, strict=True)
        for order in ordered_rightly(nearness=nearness, owner=owner, parts=len(tableau.parts))
    ]
    parts = batch.owner >= 0
    error = np.abs(predicted - batch.nearness)
    return {
        "pairs of parts whose order is right": float(np.mean(right)),
        "mean absolute error of nearness": float(error.mean()),
        "mean absolute error of nearness on parts": float(error[parts].mean()),
    }


def ordered_rightly(*, nearness: npt.NDArray[np.float64], owner: npt.NDArray[np.int8], parts: int) -> list[bool]:
    """For each pair of visible parts whether the nearer one, which has the higher index, has the higher mean."""
    means = [float(nearness[owner == index].mean()) for index in range(parts) if (owner == index).any()]
    return [farther < nearer for farther, nearer in combinations(means, 2)]


def edge_quality(experts: Experts, count: int) -> dict[str, float]:
    """Precision, recall and F1 of edges above one half, where a pixel next to an edge counts as on it."""
    maps, batch = _on_tableaux(expert=experts["image_to_hed"], count=count, output="hed")
    return edge_scores(predicted=np.stack(maps)[..., 0] >= 128, reference=outlines(batch.owner))


def edge_scores(*, predicted: npt.NDArray[np.bool_], reference: npt.NDArray[np.bool_]) -> dict[str, float]:
    """Scores of edges over all pictures, shapes (pictures, height, width), at a tolerance of one pixel."""
    precision = (predicted & _dilated(reference)).sum() / max(1, predicted.sum())
    recall = (reference & _dilated(predicted)).sum() / max(1, reference.sum())
    return {
        "F1 of edges within one pixel": float(2 * precision * recall / max(1e-9, precision + recall)),
        "precision of edges within one pixel": float(precision),
        "recall of edges within one pixel": float(recall),
    }


def _dilated(edges: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Edges with the eight neighbours of each pixel, shape (pictures, height, width)."""
    padded = np.pad(edges, ((0, 0), (1, 1), (1, 1)))
    height, width = edges.shape[1:]
    shifted = [padded[:, row : row + height, column : column + width] for row in range(3) for column in range(3)]
    return np.asarray(np.logical_or.reduce(shifted))


def pose_quality(experts: Experts, count: int) -> dict[str, float]:
    """Shares of joints near enough, hidden ones included, and how often the presence of a figure is right."""
    maps, batch = _on_tableaux(expert=experts["image_to_pose"], count=count, output="pose")
    results = [(read_skeleton(picture), tableau.figure) for picture, tableau in zip(maps, batch.tableaux, strict=True)]
    pairs = [(joints, figure) for joints, figure in results if figure is not None]
    return {
        "joints within 0.2 torsos (PCK)": joint_share(pairs, unit=lambda figure: 0.2 * figure.torso),
        # The longer side of the box around all joints.
        "joints within 0.2 sides of the figure's box (PCK)": joint_share(
            pairs, unit=lambda figure: 0.2 * float(np.ptp(np.asarray(list(figure.joints.values())), axis=0).max())
        ),
        "figures seen or rightly not seen": float(
            np.mean([(joints is None) == (figure is None) for joints, figure in results])
        ),
    }


def joint_share(
    pairs: Sequence[tuple[Mapping[Joint, Point] | None, Figure]], *, unit: Callable[[Figure], float]
) -> float:
    """Share of the joints of figures whose prediction is at most `unit` away."""
    near = [
        joints is not None and bool(np.hypot(*np.subtract(joints[joint], place)) <= unit(figure))
        for joints, figure in pairs
        for joint, place in figure.joints.items()
    ]
    return float(np.mean(near)) if near else 1.0


MEASURES: Mapping[str, Callable[[Experts, int], dict[str, float]]] = {
    "video-classification": motion_quality,
    "soft-edges": edge_quality,
    "depth": depth_quality,
    "pose": pose_quality,
    "video-captioning": clip_caption_quality,
}
"""By folder of weights: takes the experts by tool and a number of samples; returns figures in [0, 1] by name."""
