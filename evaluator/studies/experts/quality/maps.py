"""Held-out quality of the experts that make maps and of those that watch clips, on the validation split."""

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
from evaluator.miniature.tableaux.records import Figure, Joint
from evaluator.studies.experts.tableaux.data import Batch, ClipBatch, clips_at, tableaux_at

Experts = Mapping[str, Expert]
Pixels = npt.NDArray[np.uint8]


def _clips(count: int) -> ClipBatch:
    return clips_at(split=Split.VALIDATION, indices=np.arange(count))


def _tableaux(count: int) -> Batch:
    return tableaux_at(split=Split.VALIDATION, indices=np.arange(count))


def _watched(*, expert: Expert, clips: ClipBatch, output: str) -> list[object]:
    return [result[output] for result in expert.run([{"video": Clip(frames)} for frames in clips.frames])]


def maps_of(*, expert: Expert, pictures: Pixels, output: str) -> list[Pixels]:
    """The maps that an expert makes of pictures, each 8-bit RGB of shape (height, width, 3)."""
    results = expert.run([{"image": PillowImage.fromarray(picture)} for picture in pictures])
    return [np.asarray(result[output]) for result in results]


def motion_quality(experts: Experts, count: int) -> dict[str, float]:
    """How often the surest label is the motion."""
    clips = _clips(count)
    found = _watched(expert=experts["video_classification"], clips=clips, output="category")
    right = [
        isinstance(labels, Labels) and labels.items[0].name == clip.motion
        for labels, clip in zip(found, clips.clips, strict=True)
    ]
    return {"motions that are right": float(np.mean(right))}


def clip_caption_quality(experts: Experts, count: int) -> dict[str, float]:
    """How often the caption is the grammar's."""
    clips = _clips(count)
    found = _watched(expert=experts["video_captioning"], clips=clips, output="caption")
    right = [text == clip_caption(clip) for text, clip in zip(found, clips.clips, strict=True)]
    return {"captions that are exactly right": float(np.mean(right))}


def depth_quality(experts: Experts, count: int) -> dict[str, float]:
    """Of pairs of parts of a tableau the share whose order is right, and errors of nearness in [0, 1]."""
    batch = _tableaux(count)
    maps = maps_of(expert=experts["image_to_depth"], pictures=batch.pixels, output="depth")
    found = np.stack(maps)[..., 0].astype(np.float64) / 255
    right = [
        order
        for nearness, owner, tableau in zip(found, batch.owner, batch.tableaux, strict=True)
        for order in ordered_rightly(nearness=nearness, owner=owner, parts=len(tableau.parts))
    ]
    parts = batch.owner >= 0
    error = np.abs(found - batch.nearness)
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
    batch = _tableaux(count)
    maps = maps_of(expert=experts["image_to_hed"], pictures=batch.pixels, output="hed")
    found = np.stack(maps)[..., 0] >= 128
    return edge_scores(found=found, wanted=outlines(batch.owner))


def edge_scores(*, found: npt.NDArray[np.bool_], wanted: npt.NDArray[np.bool_]) -> dict[str, float]:
    """Scores of edges over all pictures, shapes (pictures, height, width), at a tolerance of one pixel."""
    precision = (found & _grown(wanted)).sum() / max(1, found.sum())
    recall = (wanted & _grown(found)).sum() / max(1, wanted.sum())
    return {
        "F1 of edges within one pixel": float(2 * precision * recall / max(1e-9, precision + recall)),
        "precision of edges within one pixel": float(precision),
        "recall of edges within one pixel": float(recall),
    }


def _grown(edges: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """With the eight pixels around each one, shape (pictures, height, width)."""
    padded = np.pad(edges, ((0, 0), (1, 1), (1, 1)))
    height, width = edges.shape[1:]
    shifted = [padded[:, row : row + height, column : column + width] for row in range(3) for column in range(3)]
    return np.asarray(np.logical_or.reduce(shifted))


def pose_quality(experts: Experts, count: int) -> dict[str, float]:
    """Shares of joints that are near enough, all of them, hidden ones too, and how often a figure is rightly seen."""
    batch = _tableaux(count)
    maps = maps_of(expert=experts["image_to_pose"], pictures=batch.pixels, output="pose")
    read = [read_skeleton(picture) for picture in maps]
    figures = [tableau.figure for tableau in batch.tableaux]
    pairs = [(joints, figure) for joints, figure in zip(read, figures, strict=True) if figure is not None]
    seen = [(joints is None) == (figure is None) for joints, figure in zip(read, figures, strict=True)]
    return {
        "joints within 0.2 torsos (PCK)": joint_share(pairs, unit=lambda figure: 0.2 * figure.torso),
        "joints within 0.2 sides of the figure's box (PCK)": joint_share(pairs, unit=lambda figure: 0.2 * _box(figure)),
        "figures seen or rightly not seen": float(np.mean(seen)),
    }


def joint_share(
    pairs: Sequence[tuple[Mapping[Joint, Point] | None, Figure]], *, unit: Callable[[Figure], float]
) -> float:
    """Share of the joints of figures that were found no farther than `unit` away."""
    near = [
        joints is not None and bool(np.hypot(*np.subtract(joints[joint], place)) <= unit(figure))
        for joints, figure in pairs
        for joint, place in figure.joints.items()
    ]
    return float(np.mean(near)) if near else 1.0


def _box(figure: Figure) -> float:
    """The longer side of the box around all joints in pixels."""
    return float(np.ptp(np.asarray(list(figure.joints.values())), axis=0).max())


MEASURES: Mapping[str, Callable[[Experts, int], dict[str, float]]] = {
    "video-classification": motion_quality,
    "soft-edges": edge_quality,
    "depth": depth_quality,
    "pose": pose_quality,
    "video-captioning": clip_caption_quality,
}
"""By folder of weights: from the experts by tool and the number of validation samples to figures in [0, 1] by name."""
